from .best.certificate import Certificate as Certificate
from .best.control import BestControl as BestControl, best_control as best_control
from .best.knots import LinearSchedule as LinearSchedule, Schedule as Schedule
from .best.schedules import (
    BestLearningRate as BestLearningRate,
    BestSchedule as BestSchedule,
    best_learning_rate as best_learning_rate,
    best_schedule as best_schedule,
)
from .best.tracking import BestTracking as BestTracking, best_tracking as best_tracking
from .flow import Flow as Flow
from .full_batches import iterate as iterate
from .stationary.branches import branch as branch
from .stationary.critical_rates import (
    CriticalLearningRates as CriticalLearningRates,
    critical_learning_rates as critical_learning_rates,
)
from .stationary.landscape import landscape as landscape
from .stationary.landscape_added import added_unit as added_unit
from .stationary.landscape_paths import minimum_path as minimum_path
from .stationary.plateaus import (
    Plateau as Plateau,
    plateau as plateau,
)
from .stationary.points import FixedPoint as FixedPoint, fixed_point as fixed_point
from .stationary.search import fixed_points as fixed_points
from .symmetric.flow import (
    SymmetricFlow as SymmetricFlow,
)
from .symmetric.scenario import (
    SymmetricScenario as SymmetricScenario,
    SymmetricState as SymmetricState,
)
from .symmetric.trajectory import evolve_symmetric as evolve_symmetric
from .trajectory import evolve as evolve
