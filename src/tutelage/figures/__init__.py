"""Figures: numbers in, matplotlib Axes out.

`agreement` draws how far computed numbers are from published ones; `accuracy` draws
the errors of several methods against one parameter.  Nothing here computes; every
function takes an optional Axes and returns the Axes it drew on.
"""

from tutelage.figures.accuracy import accuracy
from tutelage.figures.agreement import agreement

__all__ = ["accuracy", "agreement"]
