"""Statistical physics of learning from a teacher.

What lives where, in the order in which data flows: `activations` says what a unit
does; `networks` who teaches and who learns (`Committee`, `Scenario`); `overlaps` the
order parameters Q, R, T; `averages` the Gaussian averages I2, I3, I4 of the fields;
`generalization` the error that follows from them; `online` how they change while the
student learns, and `simulation` how they do in finite networks; `equilibrium` what a student
learns from a fixed set of examples; `results` saves and reopens; `figures` draws; `papers`
puts published numbers beside computed ones; `cli` is the command ``tutelage``.

Names are loaded when they are first used, so that ``import tutelage`` and
``tutelage --help`` answer at once and pay for JAX only when something is computed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Activation": "activations",
    "ReLU": "activations",
    "LeakyReLU": "activations",
    "Linear": "activations",
    "Erf": "activations",
    "Sigmoid": "activations",
    "Tanh": "activations",
    "Swish": "activations",
    "GELU": "activations",
    "Softplus": "activations",
    "Committee": "networks",
    "Scenario": "networks",
    "Overlaps": "overlaps",
    "generalization_error": "generalization",
    "InputError": "checks",
}
_ROOMS = (
    "activations",
    "averages",
    "deep",
    "equilibrium",
    "figures",
    "gates",
    "online",
    "papers",
    "results",
    "simulation",
    "spectra",
)

__all__ = [
    "GELU",
    "Activation",
    "Committee",
    "Erf",
    "InputError",
    "LeakyReLU",
    "Linear",
    "Overlaps",
    "ReLU",
    "Scenario",
    "Sigmoid",
    "Softplus",
    "Swish",
    "Tanh",
    "__version__",
    "activations",
    "averages",
    "deep",
    "equilibrium",
    "figures",
    "gates",
    "generalization_error",
    "online",
    "papers",
    "results",
    "simulation",
    "spectra",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value  # the next look-up no longer comes here
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from tutelage import (
        activations,
        averages,
        deep,
        equilibrium,
        figures,
        gates,
        online,
        papers,
        results,
        simulation,
        spectra,
    )
    from tutelage.activations import (
        GELU,
        Activation,
        Erf,
        LeakyReLU,
        Linear,
        ReLU,
        Sigmoid,
        Softplus,
        Swish,
        Tanh,
    )
    from tutelage.checks import InputError
    from tutelage.generalization import generalization_error
    from tutelage.networks import Committee, Scenario
    from tutelage.overlaps import Overlaps
