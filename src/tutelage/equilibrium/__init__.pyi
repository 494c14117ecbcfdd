from .general.blocks import Blocks as Blocks, blocks as blocks
from .general.minima import Minimum as Minimum, minima as minima
from .kernel.kernel import Kernel as Kernel, kernel_of as kernel_of
from .sampling.sample import hysteresis as hysteresis, sample as sample
from .symmetric.curve import learning_curve as learning_curve
from .symmetric.kind import TransitionKind as TransitionKind, transition_kind as transition_kind
from .symmetric.phases import phases as phases
from .symmetric.profile import free_energy as free_energy
from .symmetric.states import State as State, states as states
from .symmetric.transitions import Transitions as Transitions, transitions as transitions
from .thermal.states import ThermalState as ThermalState
from .thermal.transitions import ThermalTransitions as ThermalTransitions
