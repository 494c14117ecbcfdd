"""Activations of gates from their names, so that a saved result can be computed again."""

import ast
from typing import Any

from tutelage._checks import InputError
from tutelage.activations import Activation
from tutelage.gates.derived import Expectation, Signal
from tutelage.gates.interval import Interval
from tutelage.gates.levels import Gate
from tutelage.gates.slopes import Bent, TwoSlopes

MADE_BY: dict[str, type] = {
    kind.__name__: kind for kind in (Bent, Expectation, Gate, Interval, Signal, TwoSlopes)
}


def activation_named(name: str) -> Activation:
    """The activation whose ``name`` this is; nothing but the classes of this room is called.

    Raises:
        InputError: if it is not the name of `Expectation`, `Signal`, `Bent` or `TwoSlopes`.

    >>> activation_named("Signal(Gate([0, 1, 2]), 1.5)").name
    'Signal(Gate([0, 1, 2]), 1.5)'
    """
    try:
        made = _value(ast.parse(name, mode="eval").body)
    except (SyntaxError, TypeError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        made = None
    if not isinstance(made, Activation):
        allowed = "it has to be the name of an activation of a gate"
        raise InputError("name", repr(name), allowed, "'Signal(Gate([-1, 1]), 2)'")
    return made


def _value(node: ast.expr) -> Any:
    """Numbers, lists of numbers, and calls of the classes above."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    if not isinstance(node.func, ast.Name) or node.func.id not in MADE_BY:
        raise ValueError("not a class of this room")
    words = {str(word.arg): _value(word.value) for word in node.keywords}
    return MADE_BY[node.func.id](*(_value(x) for x in node.args), **words)
