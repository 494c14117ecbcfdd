"""On-line learning: equations -> trajectory -> fixed points -> branches -> critical learning rates.

`evolve` integrates the order-parameter equations for any scenario and learning rate, and
`evolve_symmetric` those of a permutation-symmetric state, at a cost that does not grow with K.
`fixed_point` and `fixed_points` find states that do not move, with eigenvalues and directions;
`branch` follows one through folds. `critical_learning_rates` says where behaviour changes,
`plateau` how high and how long a plateau is, `best_learning_rate` and `best_schedule` how to
learn fastest.

Names are loaded when they are first used: a curve does not wait for solvers it does not need.
"""

from typing import TYPE_CHECKING

from tutelage._lazy import lazy

_HOME = {
    "BestLearningRate": "schedules",
    "BestSchedule": "schedules",
    "CriticalLearningRates": "critical",
    "FixedPoint": "stationary",
    "Flow": "equations",
    "Plateau": "plateaus",
    "Schedule": "schedules",
    "SymmetricFlow": "reduced",
    "SymmetricScenario": "reduced",
    "SymmetricState": "reduced",
    "best_learning_rate": "schedules",
    "best_schedule": "schedules",
    "branch": "branches",
    "critical_learning_rates": "critical",
    "evolve": "trajectory",
    "evolve_symmetric": "reduced_trajectory",
    "fixed_point": "stationary",
    "fixed_points": "search",
    "plateau": "plateaus",
    "plateau_over_learning_rates": "plateaus",
}

__getattr__, __dir__ = lazy(__name__, _HOME)


if TYPE_CHECKING:
    from tutelage.online.branches import branch
    from tutelage.online.critical import CriticalLearningRates, critical_learning_rates
    from tutelage.online.equations import Flow
    from tutelage.online.plateaus import Plateau, plateau, plateau_over_learning_rates
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
    from tutelage.online.stationary import FixedPoint, fixed_point
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
