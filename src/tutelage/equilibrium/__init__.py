"""Equilibrium at high temperature: free energy -> states -> curves -> transitions.

Students and teachers of K units with outputs scaled by 1/√K (``oostwal2019``).  `states` lists
every site-symmetric minimum at a load α with its stability against all overlaps;
`learning_curve` follows all branches through their folds; `transitions` says where a specialized
state appears, wins and is the only one, `transition_kind` what the Hermite coefficients of an
activation say about it, and `phase_diagram` how it depends on a parameter of the activation.
`minima` looks beyond site symmetry; `sample` and `hysteresis` draw weights from the Gibbs density.
"""

from typing import TYPE_CHECKING

from tutelage._lazy import lazy

_HOME = {
    "Kernel": "kernel",
    "kernel_of": "kernel",
    "State": "states",
    "states": "states",
    "learning_curve": "curve",
    "Transitions": "transitions",
    "transitions": "transitions",
    "TransitionKind": "kind",
    "transition_kind": "kind",
    "phase_diagram": "phase_diagram",
    "Minimum": "general",
    "minima": "general",
    "Blocks": "blocks",
    "blocks": "blocks",
    "sample": "sample",
    "hysteresis": "sample",
}

__getattr__, __dir__ = lazy(__name__, _HOME)

__all__ = [
    "Blocks",
    "Kernel",
    "Minimum",
    "State",
    "TransitionKind",
    "Transitions",
    "blocks",
    "hysteresis",
    "kernel_of",
    "learning_curve",
    "minima",
    "phase_diagram",
    "sample",
    "states",
    "transition_kind",
    "transitions",
]


if TYPE_CHECKING:
    from tutelage.equilibrium.blocks import Blocks, blocks
    from tutelage.equilibrium.curve import learning_curve
    from tutelage.equilibrium.general import Minimum, minima
    from tutelage.equilibrium.kernel import Kernel, kernel_of
    from tutelage.equilibrium.kind import TransitionKind, transition_kind
    from tutelage.equilibrium.phase_diagram import phase_diagram
    from tutelage.equilibrium.sample import hysteresis, sample
    from tutelage.equilibrium.states import State, states
    from tutelage.equilibrium.transitions import Transitions, transitions
