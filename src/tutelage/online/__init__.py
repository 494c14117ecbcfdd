"""On-line learning: equations -> trajectory -> fixed points -> branches -> critical learning rates.

`evolve` integrates the order-parameter equations for any scenario and learning rate, and
`evolve_symmetric` those of a permutation-symmetric state, at a cost that does not grow with K.
`fixed_point` and `fixed_points` find states that do not move, with eigenvalues and directions;
`branch` follows one through folds. `critical_learning_rates` says where behaviour changes,
`plateau` how high and how long a plateau is, `best_learning_rate` and `best_schedule` how to
learn fastest.
"""

from tutelage.online.branches import branch
from tutelage.online.critical import CriticalLearningRates, critical_learning_rates
from tutelage.online.equations import Flow
from tutelage.online.fixed_points import FixedPoint, fixed_point
from tutelage.online.plateau import Plateau, plateau, plateau_over_learning_rates
from tutelage.online.reduced import SymmetricFlow, SymmetricScenario, SymmetricState
from tutelage.online.reduced_trajectory import evolve_symmetric
from tutelage.online.schedules import (
    BestLearningRate,
    BestSchedule,
    Schedule,
    best_learning_rate,
    best_schedule,
)
from tutelage.online.search import fixed_points
from tutelage.online.trajectory import evolve

__all__ = [
    "BestLearningRate",
    "BestSchedule",
    "CriticalLearningRates",
    "FixedPoint",
    "Flow",
    "Plateau",
    "Schedule",
    "SymmetricFlow",
    "SymmetricScenario",
    "SymmetricState",
    "best_learning_rate",
    "best_schedule",
    "branch",
    "critical_learning_rates",
    "evolve",
    "evolve_symmetric",
    "fixed_point",
    "fixed_points",
    "plateau",
    "plateau_over_learning_rates",
]
