"""Exact averages of piecewise-linear and erf units, by orthant moments."""
