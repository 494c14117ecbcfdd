"""Formulas typed by users: parsed by a grammar, never evaluated as code.

    sum      = product (("+" | "-") product)*
    product  = sign (("*" | "/") sign)*
    sign     = ("-" | "+") sign | power
    power    = atom (("^" | "**") sign)?
    atom     = number | "x" | "pi" | "e" | name "(" sum ("," sum)* ")" | "(" sum ")"

A formula has a largest length, depth, number of operations and number of kinked functions, so that
its cost is bounded before anything is computed; a name is one of `FUNCTIONS`.  What is read is a
tree, from which the value follows node by node, its parity by the rules of odd and even functions,
and its kinks from where the arguments of abs, relu, max and min change sign.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError, short_repr

if TYPE_CHECKING:
    from tutelage.activations import Activation

LONGEST, DEEPEST = 200, 25
# Compiling takes longer with every operation, averages with every kink: 24 nested abs took 52 s,
# a sum with six kinks takes 40 s of one core.
MAX_OPERATIONS, MAX_BENT, MAX_KINKS = 30, 6, 4
MOST_POWER = 20
EXAMPLE = "x/(1 + exp(-x))"
# Number of arguments of each function, and its name in jax.numpy, jax.nn or jax.scipy.
FUNCTIONS = {
    "exp": (1, "jnp.exp({})"),
    "log": (1, "jnp.log({})"),
    "sqrt": (1, "jnp.sqrt({})"),
    "sin": (1, "jnp.sin({})"),
    "cos": (1, "jnp.cos({})"),
    "tanh": (1, "jnp.tanh({})"),
    "atan": (1, "jnp.arctan({})"),
    "asinh": (1, "jnp.arcsinh({})"),
    "erf": (1, "jax.scipy.special.erf({})"),
    "sigmoid": (1, "jax.nn.sigmoid({})"),
    "softplus": (1, "jax.nn.softplus({})"),
    "relu": (1, "jnp.maximum({}, 0.0)"),
    "abs": (1, "jnp.abs({})"),
    "max": (2, "jnp.maximum({}, {})"),
    "min": (2, "jnp.minimum({}, {})"),
}
ODD = frozenset({"sin", "tanh", "atan", "asinh", "erf"})
EVEN = frozenset({"cos", "abs"})
BENT = frozenset({"abs", "relu", "max", "min"})
SIGNS = {"+": "+", "-": "-", "*": "*", "/": "/", "^": "**"}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}
CONSTANTS = {"pi": math.pi, "e": math.e}
TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z]+)|(\*\*|[-+*/^(),]))"
)
# Range and spacing of the search for kinks; larger fields are rare at unit norm.
FURTHEST, STEPS = 20.0, 8000


@dataclass(frozen=True)
class Node:
    """A node of a formula: a number, ``x``, an operation, or a function with its arguments."""

    name: str
    parts: tuple["Node", ...] = ()
    number: float = 0.0


def refused(text: str, allowed: str, hint: str = EXAMPLE) -> InputError:
    return InputError("formula", short_repr(text), allowed, hint)


def read(text: str) -> Node:
    """Return the tree of a formula.

    >>> written(read("max(x, 0) - 2*x^2"))
    '(jnp.maximum(x, 0.0) - (2.0 * (x ** 2)))'
    >>> read("__import__('os')")
    Traceback (most recent call last):
        ...
    tutelage._checks.InputError: formula: got "__import__('os')", but it cannot be read from '_' \
on. Try: x/(1 + exp(-x)).
    """
    if len(text) > LONGEST:
        raise refused(text, f"a formula has at most {LONGEST} characters")
    try:
        tree = Reader(text).all()
    except Unreadable as problem:
        raise _missing_product(text) or refused(text, str(problem)) from None
    _check_cost(text, tree)
    return tree


def _missing_product(text: str) -> InputError | None:
    """Return an error with a hint for formulas such as ``sin(3x)``; else None.

    >>> read("sin(3x)")
    Traceback (most recent call last):
        ...
    tutelage._checks.InputError: formula: got 'sin(3x)', but a product is written with *. \
Try: sin(3*x).
    """
    try:
        tokens = _tokens(text)
        words = tokens[:1]
        for before, after in pairwise(tokens):
            ends = before == ")" or (before[0].isalnum() and before not in FUNCTIONS)
            begins = after == "(" or after[0].isalnum() or after[0] == "."
            words += ["*", after] if ends and begins else [after]
        Reader("".join(words)).all()
    except Unreadable:
        return None
    return refused(text, "a product is written with *", "".join(words))


def _check_cost(text: str, tree: Node) -> None:
    """Refuse a formula that would take long to compute."""
    names = [node.name for node in nodes(tree) if node.parts]
    bent = sum(name in BENT for name in names)
    if bent > MAX_BENT:
        kinked = ", ".join(sorted(BENT))
        raise refused(text, f"{kinked} occur {bent} times, and at most {MAX_BENT} are allowed")
    if len(names) > MAX_OPERATIONS:
        count = f"it has {len(names)} operations"
        raise refused(text, f"{count}, and at most {MAX_OPERATIONS} are allowed")


class Unreadable(Exception):
    """A text is no formula; the argument is the reason."""


class Reader:
    """Parser of one formula."""

    def __init__(self, text: str):
        self.tokens, self.place = _tokens(text), 0

    def all(self) -> Node:
        if not self.tokens:
            raise Unreadable("it is empty")
        tree = self.sum(0)
        if self.place < len(self.tokens):
            raise Unreadable(f"{self.next!r} was not expected here")
        return tree

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.next
        self.place += 1
        return token

    def need(self, token: str) -> None:
        if self.next != token:
            raise Unreadable(f"{token!r} was expected instead of {self.next or 'the end'!r}")
        self.place += 1

    def sum(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise Unreadable(f"brackets are nested more than {DEEPEST} deep")
        tree = self.product(depth)
        while self.next in ("+", "-"):
            tree = Node(self.take(), (tree, self.product(depth)))
        return tree

    def product(self, depth: int) -> Node:
        tree = self.sign(depth)
        while self.next in ("*", "/"):
            tree = Node(self.take(), (tree, self.sign(depth)))
        return tree

    def sign(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise Unreadable(f"brackets are nested more than {DEEPEST} deep")
        if self.next in ("+", "-"):
            sign, tree = self.take(), self.sign(depth + 1)
            return tree if sign == "+" else Node("-", (Node("number"), tree))
        return self.power(depth)

    def power(self, depth: int) -> Node:
        base = self.atom(depth)
        if self.next not in ("^", "**"):
            return base
        self.place += 1
        exponent = self.sign(depth + 1)
        value = constant(exponent)
        if value is None:
            return Node("^", (base, exponent))
        # A whole number stays an integer, so that negative bases have powers.
        whole = value.is_integer() and 0 <= value <= MOST_POWER
        return Node("power" if whole else "^", (base, Node("number", number=value)))

    def atom(self, depth: int) -> Node:
        token = self.take()
        if token == "(":
            tree = self.sum(depth + 1)
            self.need(")")
            return tree
        if token == "x":
            return Node("x")
        if token in CONSTANTS:
            return Node("number", number=CONSTANTS[token])
        if token in FUNCTIONS:
            return self.function(token, depth)
        try:
            return Node("number", number=_finite(float(token)))
        except ValueError:
            names = f"known names are x, pi, e, {', '.join(FUNCTIONS)}"
            received = f"{token!r} is unknown" if token else "it ends too early"
            raise Unreadable(f"{received}; {names}") from None

    def function(self, name: str, depth: int) -> Node:
        self.need("(")
        parts = [self.sum(depth + 1)]
        while self.next == ",":
            self.place += 1
            parts.append(self.sum(depth + 1))
        self.need(")")
        if len(parts) != FUNCTIONS[name][0]:
            raise Unreadable(f"{name} has {FUNCTIONS[name][0]} argument(s)")
        return Node(name, tuple(parts))


def _finite(number: float) -> float:
    if abs(number) > 1e6:
        raise ValueError
    return number


def _tokens(text: str) -> list[str]:
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise Unreadable(f"it cannot be read from {text[place:].strip()[:1]!r} on")
        tokens.append(match.group().strip())
        place = match.end()
    return tokens


def written(node: Node) -> str:
    """Return a tree as Python code, with jax.numpy as jnp."""
    if node.name == "number":
        return repr(float(node.number))
    if node.name == "x":
        return "x"
    parts = [written(part) for part in node.parts]
    if node.name == "power":
        return f"({parts[0]} ** {int(node.parts[1].number)})"
    if node.name in FUNCTIONS:
        return FUNCTIONS[node.name][1].format(*parts)
    return f"({f' {SIGNS[node.name]} '.join(parts)})"


def constant(node: Node) -> float | None:
    """Return the value of a tree without x; None if it contains x."""
    if any(part.name == "x" for part in nodes(node)):
        return None
    try:
        value = float(value_of(node, 0.0, PLAIN))
    except (ArithmeticError, ValueError, TypeError):
        return None
    return value if math.isfinite(value) else None


def nodes(node: Node) -> Iterator[Node]:
    """Yield all nodes of a tree."""
    yield node
    for part in node.parts:
        yield from nodes(part)


PLAIN: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf")},
    **{"atan": math.atan, "asinh": math.asinh, "abs": abs, "max": max, "min": min},
    "relu": lambda u: max(u, 0.0),
    "sigmoid": lambda u: 0.5 * (1 + math.tanh(0.5 * u)),
    "softplus": lambda u: max(u, 0.0) + math.log1p(math.exp(-abs(u))),
}


def value_of(node: Node, x: object, functions: dict[str, Callable[..., Any]]) -> Any:
    """Evaluate a tree at x with the given functions."""
    if node.name == "number":
        return node.number
    if node.name == "x":
        return x
    a = [value_of(part, x, functions) for part in node.parts]
    if node.name in functions:
        return functions[node.name](*a)
    if node.name == "power":
        return a[0] ** int(a[1])
    return OPERATIONS[node.name](*a)


def parity(node: Node) -> str:
    """Return the parity ``odd``, ``even`` or ``none`` by rules; a constant is even.

    >>> [parity(read(text)) for text in ("tanh(x)*x^2", "cos(x) + x^2", "x + 1")]
    ['odd', 'even', 'none']
    """
    if node.name == "number" or (node.name != "x" and constant(node) is not None):
        return "even"
    if node.name == "x":
        return "odd"
    kinds = [parity(part) for part in node.parts]
    if node.name in ("+", "-"):
        if node.parts[0] == Node("number"):  # a sign without a left operand
            return kinds[1]
        return kinds[0] if kinds[0] == kinds[1] else "none"
    if "none" in kinds:
        return "none"
    if node.name in ("*", "/"):
        return "even" if kinds[0] == kinds[1] else "odd"
    if node.name == "power":
        return kinds[0] if node.parts[1].number % 2 else "even"
    if all(kind == "even" for kind in kinds) or node.name in EVEN:
        return "even"
    return "odd" if node.name in ODD else "none"


@lru_cache(maxsize=50)
def kinks(node: Node) -> tuple[float, ...]:
    """Return the positions at which arguments of abs, relu, max and min change sign.

    >>> kinks(read("max(x, 1) + abs(x)"))
    (0.0, 1.0)
    """
    zeros = set[float]()
    for bent in (part for part in nodes(node) if part.name in BENT):
        inner = bent.parts[0] if len(bent.parts) == 1 else Node("-", bent.parts)
        zeros |= _zeros(inner)
    return tuple(sorted(zeros))


def _zeros(node: Node) -> set[float]:
    """Return the roots at changes of sign, to machine precision."""
    from scipy.optimize import brentq

    def f(x: float) -> float:
        try:
            return float(value_of(node, x, PLAIN))
        except (ArithmeticError, ValueError, TypeError):
            return math.nan

    grid = [FURTHEST * (2 * i / STEPS - 1) for i in range(STEPS + 1)]
    values = [f(x) for x in grid]
    zeros = {x for x, y in zip(grid, values, strict=True) if y == 0}
    for i in range(STEPS):
        if values[i] * values[i + 1] < 0:
            zeros.add(round(float(brentq(f, grid[i], grid[i + 1], xtol=1e-15)), 14))
    return zeros


@lru_cache(maxsize=50)
def activation(text: str) -> "Activation":
    """Return the activation of a formula; refuse invalid activations."""
    import tutelage as tl
    from tutelage._jax import jax, jnp

    tree = read(text)
    functions: dict[str, Callable[..., Any]] = {
        **{
            name: getattr(jnp, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs")
        },
        **{"atan": jnp.arctan, "asinh": jnp.arcsinh, "max": jnp.maximum, "min": jnp.minimum},
        **{"sigmoid": jax.nn.sigmoid, "softplus": jax.nn.softplus, "erf": jax.scipy.special.erf},
        "relu": lambda u: jnp.maximum(u, 0.0),
    }
    if constant(tree) is not None:
        raise refused(text, "an activation has to depend on x")
    if len(kinks(tree)) > MAX_KINKS:
        count = f"it has {len(kinks(tree))} kinks from {-FURTHEST:g} to {FURTHEST:g}"
        raise refused(text, f"{count}, and at most {MAX_KINKS} are allowed")
    try:
        return tl.Activation.from_function(
            lambda x: value_of(tree, x, functions),
            "g",
            kinks(tree),
            parity(tree),  # type: ignore
        )
    except InputError as problem:
        # The hint of the original error is Python code, and does not apply to formulas.
        raise InputError("formula", problem.received, problem.allowed, EXAMPLE) from None


def imports(text: str) -> list[str]:
    """Return the import statements of `code`."""
    used = written(read(text))
    lines = ["import jax"] if "jax." in used else []
    return lines + (["import jax.numpy as jnp"] if "jnp." in used else [])


def code(text: str) -> str:
    """Return the activation of a formula as Python code."""
    tree = read(text)
    more = f", kinks={kinks(tree)}" if kinks(tree) else ""
    kind = parity(tree)
    more += f", parity={kind!r}" if kind != "none" else ""
    return f"tl.Activation.from_function(lambda x: {written(tree)}, 'g'{more})"
