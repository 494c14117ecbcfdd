"""Averages of every unit by nested quadrature, with a bound on the error."""
