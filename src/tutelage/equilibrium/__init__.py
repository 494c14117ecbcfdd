"""Equilibrium at high temperature: free energy -> states -> curves -> transitions.

Students and teachers of K units with outputs scaled by 1/√K (``oostwal2019``).  `states` lists
every site-symmetric minimum at a load α with its stability against all overlaps;
`learning_curve` follows all branches through their folds; `transitions` says where a specialized
state appears, wins and is the only one, `transition_kind` what the Hermite coefficients of an
activation say about it, and `phase_diagram` how it depends on a parameter of the activation.
`minima` looks beyond site symmetry; `sample` and `hysteresis` draw weights from the Gibbs density.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

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


class _Room(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # Importing states.py would bind `states` to the module instead of the function.
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # the next look-up no longer comes here
    return value


def __dir__() -> list[str]:
    return list(__all__)


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
