"""A result computed again, from its attributes alone."""

import inspect
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import xarray as xr

from tutelage._checks import InputError
from tutelage._door import door
from tutelage.runs.provenance import UNRECORDED, UNWRITTEN, constructor, is_json


@door
def recompute(dataset: xr.Dataset) -> xr.Dataset:
    """Compute a result again, by the verb and the arguments that its attributes name.

    Args:
        dataset: from any public function that returns a Dataset, perhaps saved and loaded.  A
            part that was selected from it is computed again as the whole.

    Raises:
        InputError: if attributes are missing, or if an argument was a function (a schedule of
            the user's, an activation made by ``from_function``) or a large array, which a file
            does not hold.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=10)
    >>> tl.results.recompute(run).identical(run)
    True
    """
    if not isinstance(dataset, xr.Dataset):
        raise InputError("dataset", repr(dataset), "it has to be a Dataset", "tl.results.load")
    verb = _verb(dataset)
    every = inspect.signature(verb).parameters.values()
    call: dict[str, Any] = {}
    for parameter in (one for one in every if one.name not in UNRECORDED):
        value = argument(dataset, parameter.name)
        call |= value if parameter.kind is parameter.VAR_KEYWORD else {parameter.name: value}
    return verb(**call)


def argument(dataset: xr.Dataset, name: str) -> Any:
    """An argument of the call that has computed a Dataset.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=1)
    >>> argument(run, "scenario").student.activation.name
    'Erf'
    """
    verb = _verb(dataset)
    if name in verb.held:  # type: ignore[attr-defined]
        return verb.held[name](dataset)  # type: ignore[attr-defined]
    if name not in dataset.attrs:
        raise InputError(
            "dataset", f"no attribute {name!r}", f"a result of {_name(dataset)} has one"
        )
    value = dataset.attrs[name]
    plain = json.loads(value) if isinstance(value, str) and is_json(value) else value
    return made(plain, name, _name(dataset))


def _name(dataset: xr.Dataset) -> str:
    return str(dataset.attrs.get("computed_by", ""))


def _verb(dataset: xr.Dataset) -> Callable[..., xr.Dataset]:
    """The public function that has computed it."""
    name = _name(dataset)
    if not name:
        allowed = "it has to be a result of a public function"
        raise InputError("dataset", "no attribute 'computed_by'", allowed)
    verb = public(name, "dataset")
    if not hasattr(verb, "held"):
        raise InputError("dataset", f"a result of {name}", "no such function returns a Dataset")
    return verb


def public(name: str, argument: str) -> Any:
    """What is called tutelage.name; nothing outside the package."""
    home, _, last = name.rpartition(".")
    try:
        found = getattr(import_module(f"tutelage.{home}".rstrip(".")), last)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not str(getattr(found, "__module__", "")).startswith("tutelage."):
        raise InputError(argument, repr(name), "the package has nothing of this name")
    return found


def made(plain: Any, argument: str, verb: str) -> Any:
    """The value that `described` has put into numbers, text, lists and mappings."""
    if isinstance(plain, list):
        return [made(x, argument, verb) for x in plain]
    if not isinstance(plain, dict):
        return plain
    if UNWRITTEN in plain:
        raise InputError(
            argument,
            plain[UNWRITTEN],
            "a file holds its name, not what it does or contains",
            f"tl.{verb} with the same arguments",
        )
    if "dataset" in plain:
        return recompute(xr.Dataset(attrs=plain["dataset"]))
    if "class" in plain:
        return public(str(plain["class"]), argument)
    if "type" not in plain:
        return {name: made(x, argument, verb) for name, x in plain.items()}
    kind = public(str(plain["type"]), argument)
    given = {name: x for name, x in plain.items() if name != "type"}
    if not isinstance(kind, type) or not set(given) <= set(constructor(kind)):
        raise InputError(argument, repr(plain), "it has to be an object of the package")
    return kind(**{name: made(x, argument, verb) for name, x in given.items()})
