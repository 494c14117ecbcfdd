"""Compute a result again from its attributes."""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import REPR_LENGTH, InputError, short_repr
from tutelage.runs.provenance import NEEDED, UNWRITTEN, constructor, is_json
from tutelage.runs.public_names import only_from_callers, public_function, value_type

# Results that no function computes from arguments, with the reason.
NOT_RECOMPUTED = {"bridge.Recorder": "it records a training, which only the user can repeat"}


@validated
def recompute(dataset: xr.Dataset) -> xr.Dataset:
    """Compute a result again, with the function and arguments in its attributes.

    Args:
        dataset: a result of any public function that returns a Dataset; it may have been saved and
            loaded.  A selected part is computed again as a whole.

    Raises:
        InputError: if attributes are missing, or if an argument was a function (a user's schedule,
            an activation made by ``from_function``) or a large array, which files do not hold.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=10)
    >>> tl.results.recompute(run).identical(run)
    True
    """
    function = _function(dataset)
    own = inspect.signature(function).parameters
    withheld = only_from_callers(function) - set(function.from_variables)  # type: ignore[attr-defined]
    call: dict[str, Any] = {}
    for parameter in (one for one in own.values() if one.name not in withheld):
        value = argument(dataset, parameter.name)
        if parameter.kind is parameter.VAR_KEYWORD:
            _check_keywords(value, own, _name(dataset))
            call |= value
        else:
            call[parameter.name] = value
    return function(**call)


def _check_keywords(given: object, own: Mapping[str, object], function: str) -> None:
    """Refuse keywords of a file that would replace arguments of the function itself."""
    if not isinstance(given, dict):
        raise InputError(
            "dataset",
            short_repr(given),
            (f"further arguments of {function} have to be passed by name"),
        )
    replaced = [name for name in given if name in own]
    if replaced:
        allowed = f"a file cannot set {replaced[0]} of {function}: only the caller can"
        raise InputError(
            replaced[0], short_repr(given[replaced[0]]), allowed, f"tl.{function}(...)"
        )


def argument(dataset: xr.Dataset, name: str) -> Any:
    """Return an argument of the call that computed a Dataset.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=1)
    >>> argument(run, "scenario").student.activation.name
    'Erf'
    """
    function = _function(dataset)
    if name in function.from_variables:  # type: ignore[attr-defined]
        return function.from_variables[name](dataset)  # type: ignore[attr-defined]
    if name not in dataset.attrs:
        raise InputError(
            "dataset", f"no attribute {name!r}", f"a result of {_name(dataset)} has this attribute"
        )
    value = dataset.attrs[name]
    plain = json.loads(value) if isinstance(value, str) and is_json(value) else value
    return from_json(plain, name, _name(dataset))


def _name(dataset: xr.Dataset) -> str:
    return str(dataset.attrs.get("computed_by", ""))


def _function(dataset: xr.Dataset) -> Callable[..., xr.Dataset]:
    """Return the public function that computed a Dataset."""
    name = _name(dataset)
    if not name:
        allowed = "it has to be a result of a public function"
        raise InputError("dataset", "no attribute 'computed_by'", allowed)
    if name in NOT_RECOMPUTED:
        raise InputError("dataset", f"a result of {name}", NOT_RECOMPUTED[name])
    function: Callable[..., xr.Dataset] = public_function(name, "dataset")
    if not hasattr(function, "from_variables"):
        raise InputError(
            "dataset", f"a result of {name}", "this function does not return a Dataset"
        )
    return function


def from_json(plain: object, argument: str, function: str) -> Any:
    """Make a value from its description by `described`.

    Args:
        plain: the description; a file may hold anything.
        argument: name of the argument, for messages.
        function: name of the function, for messages.
    """
    try:
        return _from_json(plain, argument, function)
    except RecursionError:
        allowed = "it has to be an argument that was recorded"
        raise InputError(argument, "lists that are nested too deeply", allowed) from None


def _from_json(plain: object, argument: str, function: str) -> Any:
    if isinstance(plain, list):
        return [_from_json(x, argument, function) for x in plain]
    if not isinstance(plain, dict):
        return plain
    if UNWRITTEN in plain:
        raise InputError(
            argument,
            str(plain[UNWRITTEN])[:REPR_LENGTH],
            "a file contains its name only, not its code or contents",
            f"tl.{function} with the same arguments",
        )
    if "dataset" in plain:
        if not isinstance(plain["dataset"], dict):
            raise InputError(
                argument, short_repr(plain), "it has to be the attributes of a Dataset"
            )
        return recompute(xr.Dataset(attrs=plain["dataset"]))
    if "class" in plain:
        return value_type(str(plain["class"]), argument)
    if "type" not in plain:
        return {name: _from_json(x, argument, function) for name, x in plain.items()}
    kind = value_type(str(plain["type"]), argument)
    given = {name: x for name, x in plain.items() if name != "type"}
    defaults = constructor(kind)
    needed = {name for name, default in defaults.items() if default is NEEDED}
    if not needed <= set(given) <= set(defaults):
        allowed = f"{plain['type']} has {', '.join(defaults) or 'no arguments'}"
        raise InputError(argument, short_repr(plain), allowed)
    arguments = {name: _from_json(x, argument, function) for name, x in given.items()}
    try:
        return kind(**arguments)
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as problem:
        allowed = f"it is not a {plain['type']} ({problem})"
        raise InputError(argument, short_repr(plain), allowed) from problem
