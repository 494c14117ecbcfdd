"""Citton, Richert and Biehl, The role of the learning rate (ESANN 2025).

The averages of the equations of motion and the Hermite coefficients of the ReLU, the truncated
series for the four-point average beside its exact value, the singular covariances the series
cannot treat, learning curves with simulations, the symmetric plateau against the learning rate,
and the three learning rates at which behaviour changes.  All of Sec. 3 has K = M = 2 and
T = diag(1, 2).
"""

from tutelage.papers.citton2025 import curves as citton2025_curves
from tutelage.papers.citton2025 import series as citton2025_series
from tutelage.papers.citton2025 import states as citton2025_states
from tutelage.papers.citton2025.runs import PAPER, fig_1, fig_2a, fig_2b, scenario, start
from tutelage.papers.citton2025.states import CRITICAL

SECTIONS = (
    *citton2025_series.SECTIONS,
    *citton2025_curves.SECTIONS,
    *citton2025_states.SECTIONS,
)

__all__ = ["CRITICAL", "PAPER", "SECTIONS", "fig_1", "fig_2a", "fig_2b", "scenario", "start"]
