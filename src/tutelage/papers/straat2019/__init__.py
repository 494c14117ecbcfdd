"""Straat and Biehl, On-line learning dynamics of ReLU neural networks (ESANN 2019).

The equations of motion and their three-point average; the single unit with its eigenvalues and
critical learning rate; the plateau of K = M = 2; the final overlaps of K = 3, M = 2 and of K = 2,
M = 3.  For more than one unit the paper leaves the η² term out: the limit η → 0, time in units of
1/η.  Symbols in Figs. 1 and 2 are simulations, with a number of runs that the paper does not state.
"""

from tutelage.papers.paper import Paper

KEY = "straat2019"
PAPER = Paper(
    KEY,
    "On-line learning dynamics of ReLU neural networks",
    ("equations", "simulated", "mismatched"),
)
