"""Parts of a scenario that a study may sweep like arguments of the function.

The parts are the arguments of the constructors of `Scenario` and `Committee`.  ``units`` and
``activation`` set those of student and teacher; ``student_units``, ``teacher_activation`` and so
on set those of one of them.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tutelage._checks import InputError
from tutelage.model import Committee, Scenario
from tutelage.model.numbers import NAMES
from tutelage.runs.provenance import constructor

NETWORKS = ("student", "teacher")
OF_NETWORKS = tuple(constructor(Committee))
OF_SCENARIO = tuple(name for name in constructor(Scenario) if name not in NETWORKS)
PARTS = (
    *OF_SCENARIO,
    *OF_NETWORKS,
    *(f"{network}_{name}" for network in NETWORKS for name in OF_NETWORKS),
)


# Scenarios with replaced parts, by the identity of the first scenario and of its parts.
Scenarios = dict[Hashable, Any]


def with_parts(scenario: Any, parts: Mapping[str, Any], known: Scenarios | None = None) -> Any:
    """Return the scenario with some parts replaced.

    known: a cache for calls with the same objects, which have to exist as long as the cache.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> other = with_parts(tl.Scenario(two, two), {"activation": tl.Erf(), "weight_decay": 0.1})
    >>> other.teacher.activation.name, other.weight_decay
    ('Erf', 0.1)
    """
    if known is not None and isinstance(scenario, Scenario):
        numbers = {n: x for n, x in parts.items() if n in NAMES and isinstance(x, int | float)}
        others = {name: x for name, x in parts.items() if name not in numbers}
        key = (id(scenario), *((name, id(x)) for name, x in others.items()))
        if key not in known:
            known[key] = with_parts(scenario, others)
        # Points with equal numbers share one scenario, which is described and prepared once.
        with_numbers = (key, repr(numbers))
        if with_numbers not in known:
            known[with_numbers] = known[key].with_numbers(numbers)
        return known[with_numbers]
    if not parts:
        return scenario
    kind = type(scenario)
    values = {name: getattr(scenario, name) for name in constructor(kind)}
    values |= {name: value for name, value in parts.items() if name in OF_SCENARIO}
    for network in NETWORKS:
        values[network] = _with_parts(values[network], network, parts)
    if values["teacher"].units != scenario.teacher.units and "teacher_overlaps" not in parts:
        values["teacher_overlaps"] = _of_more(scenario)
    return kind(**values)


def _with_parts(committee: Committee, network: str, parts: Mapping[str, object]) -> Committee:
    given = {name: getattr(committee, name) for name in OF_NETWORKS}
    both = {name: parts[name] for name in OF_NETWORKS if name in parts}
    own = {n: parts[f"{network}_{n}"] for n in OF_NETWORKS if f"{network}_{n}" in parts}
    return Committee(**{**given, **both, **own}) if both or own else committee


def _of_more(scenario: Any) -> Any:
    """Return T for another number of teachers: the default, if the present T is the default."""
    T = getattr(scenario, "T", None)
    if T is None:
        return scenario.teacher_overlaps  # (t, u), for any number of teachers
    if not np.array_equal(T, np.eye(len(T))):
        allowed = "T for more teachers is known only if the present ones are orthogonal, of norm 1"
        raise InputError(
            "units",
            "another number of teachers",
            allowed,
            "teacher_overlaps=np.eye(3), or sweep it, too",
        )
    return None
