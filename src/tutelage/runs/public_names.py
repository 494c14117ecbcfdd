"""Names that a file may use: public functions that compute, and value types.

A file writes a function as ``online.evolve`` and a type as ``activations.Erf``.
`public_function` and `value_type` look both up in the tables below and refuse every other name.
They import modules that the tables name, never a module that a file names.
"""

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

from tutelage._checks import InputError, short_repr

# Packages whose public functions compute a result from their arguments. "" is the root.
COMPUTING = (
    *("", "averages", "bridge", "deep", "deep.images", "equilibrium", "gates"),
    *("online", "simulation", "spectra", "sweeps"),
)
# Types whose fields are numbers, text or such types, and the module that exports them.
# Their constructors neither read nor write files.
VALUE_TYPES = {
    f"{package}.{name}": module
    for package, module, names in (
        (
            "activations",
            "activations",
            "Erf GELU LeakyReLU Linear ReLU Sigmoid Softplus Swish Tanh",
        ),
        ("averages", "averages", "ErfClosedForm Estimate Hermite Orthant Quadrature"),
        ("deep", "deep", "Network"),
        ("deep.images", "deep.images", "Recipe"),
        ("equilibrium", "equilibrium", "Blocks"),
        ("gates", "gates", "Expectation Gate Interval Signal TwoSlopes"),
        ("model", "model", "Committee Overlaps Scenario"),
        ("optimizers", "model.optimizers", "Momentum Muon Normalized Plain"),
        ("online", "online", "LinearSchedule Schedule SymmetricScenario SymmetricState"),
        ("spectra", "spectra", "Adam Classifier SGD"),
        ("sweeps", "sweeps.selection", "Last"),
    )
    for name in names.split()
}
NAMES_OF_CLASSES: dict[str, list[str]] = {}
for _name in VALUE_TYPES:
    NAMES_OF_CLASSES.setdefault(_name.rpartition(".")[2], []).append(_name)
# Arguments without influence on a result, which are not recorded.
UNRECORDED = ("checkpoint", "progress")


def public_function(name: str, argument: str) -> Any:
    """Return the public function that a file names."""
    package, _, last = name.rpartition(".")
    if package in COMPUTING:
        module = _module(package)
        function = getattr(module, last) if last in module.__all__ else None
        if inspect.isfunction(function):
            return function
    allowed = "it has to be a public function of the package that computes a result"
    raise InputError(argument, short_repr(name), allowed, "online.evolve")


def value_type(name: str, argument: str) -> type:
    """Return the value type that a file names."""
    if name not in VALUE_TYPES:
        allowed = "it has to be a value type of the package"
        raise InputError(argument, short_repr(name), allowed, "activations.Erf")
    kind: type = getattr(_module(VALUE_TYPES[name]), name.rpartition(".")[2])
    return kind


def name_of(kind: type) -> str | None:
    """Return the name by which a file may use a type, or None.

    >>> from tutelage import Committee, Erf
    >>> name_of(Committee), name_of(Erf), name_of(Path)
    ('model.Committee', 'activations.Erf', None)
    """
    for name in NAMES_OF_CLASSES.get(kind.__name__, ()):
        if kind.__module__.startswith(f"tutelage.{VALUE_TYPES[name]}"):
            return name
    return None


def only_from_callers(function: Any) -> set[str]:
    """Return the arguments of a function that no file may set.

    These are `UNRECORDED`, arguments annotated as a path, and those that the function itself
    computes on a recomputation (`from_variables` of `tutelage.runs.provenance.recorded`).
    """
    hints = get_type_hints(function)
    paths = {name for name, kind in hints.items() if Path in (kind, *get_args(kind))}
    return {*UNRECORDED, *paths, *getattr(function, "from_variables", ())} - {"return"}


def _module(name: str) -> Any:
    return import_module(f"tutelage.{name}".rstrip("."))
