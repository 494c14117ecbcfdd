"""Figures: numbers in, matplotlib Axes out.

`overlaps` and `error` draw a run of on-line learning, `learning_curves` both side by side, and
`branch` fixed points against the learning rate;
`agreement` draws how far computed numbers are from published ones; `accuracy` draws the
errors of several methods against one parameter.  Nothing here computes; every function takes
an optional Axes and returns the Axes it drew on.
"""

from tutelage.figures.accuracy import accuracy
from tutelage.figures.agreement import agreement
from tutelage.figures.online import branch, error, learning_curves, overlaps

__all__ = ["accuracy", "agreement", "branch", "error", "learning_curves", "overlaps"]
