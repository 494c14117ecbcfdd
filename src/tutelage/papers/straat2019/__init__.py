"""Straat and Biehl, On-line learning dynamics of ReLU neural networks (ESANN 2019).

The equations of motion and their three-point average; the single unit with its eigenvalues and
critical learning rate; the plateau of K = M = 2; the final overlaps of K = 3, M = 2 and of K = 2,
M = 3.  For more than one unit the paper leaves the η² term out: the limit η → 0, time in units of
1/η.  Symbols in Figs. 1 and 2 are simulations, of how many runs the paper does not say.
"""

from tutelage.papers.straat2019 import equations as straat2019_equations
from tutelage.papers.straat2019 import mismatched as straat2019_mismatched
from tutelage.papers.straat2019 import simulated as straat2019_simulated
from tutelage.papers.straat2019.runs import (
    PAPER,
    fig_1_left,
    fig_1_right,
    fig_2,
    fig_3,
    fig_4,
    simulated_1,
    simulated_2,
)

SECTIONS = (
    *straat2019_equations.SECTIONS,
    *straat2019_simulated.SECTIONS,
    *straat2019_mismatched.SECTIONS,
)

__all__ = [
    "PAPER",
    "SECTIONS",
    "fig_1_left",
    "fig_1_right",
    "fig_2",
    "fig_3",
    "fig_4",
    "simulated_1",
    "simulated_2",
]
