"""Averages of any unit: quadrature over two fields, Mehler's series for the others."""
