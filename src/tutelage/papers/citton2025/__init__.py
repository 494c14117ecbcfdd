"""Citton, Richert and Biehl, The role of the learning rate (ESANN 2025).

The averages of the equations of motion and the Hermite coefficients of the ReLU, the truncated
series for the four-point average against its exact value, the singular covariances the series
cannot treat, learning curves with simulations, the symmetric plateau against the learning rate,
and the three learning rates at which behaviour changes.  All of Sec. 3 has K = M = 2 and
T = diag(1, 2).
"""

from tutelage.papers.paper import Paper

KEY = "citton2025"
PAPER = Paper(
    KEY,
    "The role of the learning rate in layered neural networks with ReLU activation",
    ("series", "curves", "states", "role"),
)
