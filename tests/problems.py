"""The common table of problems, which every method is tested on if it supports the problem.

    for problem in problems("i4", tags={"relu", "rank 2"}):
        estimate = i4(problem.activations, problem.covariance)
        assert abs(estimate - exact(problem)) <= tolerance * problem.scale

A problem is an average (`kind`), activations as tags ("relu", "linear", "erf" or a slope, as in
`reference.py`), and a float64 covariance. `exact(problem)` is its value to 30 digits and more,
computed on first use and remembered. The covariance is positive semi-definite as it stands, digit
by digit, and the exact value belongs to it, except for the tag "rounded": there it is a rounded
copy of an exactly singular one, perhaps slightly indefinite, and the exact value belongs to the
unrounded one. An angle between fields is then uncertain by about sqrt(2^-53) = 1e-8, and so is I4
in units of `scale`, divided by 2 pi; no method can do better.

Tags. Units: "relu", "leaky", "linear", "erf" if all are, otherwise "mixed"; "piecewise linear" if
none is erf.
Geometry: "rank 0" to "rank 4", "full rank", "identical fields", "opposite fields", "proportional"
(with another norm), "dependent" (more dimensions missing than such pairs explain), "zero field".
Families: "random", "near singular" (with "u,v", "u,w" or "w,z"), "student = teacher", "committee",
"repeated" (the same unit asked for twice), "rounded".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import inf, prod

import numpy as np
import reference
from mpmath import mp
from reference import Tag

Tags = str | Collection[str]
# Positions of the fields that the activations belong to, and of those not inside a derivative.
ACTIVATED = {"i2": (0, 1), "i3": (0, 2), "i4": (0, 1, 2, 3)}
VALUES = {"i2": (0, 1), "i3": (1, 2), "i4": (2, 3)}


@dataclass(frozen=True, eq=False)
class Problem:
    """One average, with what is known about it."""

    name: str
    kind: str
    activations: tuple[Tag, ...]
    covariance: np.ndarray
    tags: frozenset[str]
    exact_covariance: reference.Matrix

    @cached_property
    def condition(self) -> float:
        """Condition number of the correlations of the fields that are not zero."""
        C = self.exact_covariance
        used = [a for a in range(len(C)) if C[a][a]]
        if not used:
            return 1.0
        if reference.rank(C) < len(used):
            return inf
        with mp.workdps(50):
            norm = [mp.sqrt(reference.real(C[a][a])) for a in used]
            rows = [[reference.real(C[a][b]) for b in used] for a in used]
            n = range(len(used))
            rho = mp.matrix([[rows[i][j] / norm[i] / norm[j] for j in n] for i in n])
            eigenvalues = mp.eigsy(rho, eigvals_only=True)
            return float(max(eigenvalues) / min(eigenvalues))

    @property
    def scale(self) -> float:
        """The natural size of the average: one standard deviation for each unbounded factor."""
        bounded = dict(zip(ACTIVATED[self.kind], self.activations, strict=True))
        sizes = (self.covariance[a, a] for a in VALUES[self.kind] if bounded.get(a) != "erf")
        return float(np.sqrt(prod(sizes)))

    def __repr__(self) -> str:
        return self.name


def problems(kind: str | None = None, tags: Tags = (), without: Tags = ()) -> list[Problem]:
    """The problems of this kind that have all of `tags` and none of `without`."""
    wanted, unwanted = ({x} if isinstance(x, str) else set(x) for x in (tags, without))
    of_kind = (p for p in _table() if kind in (None, p.kind))
    return [p for p in of_kind if wanted <= p.tags and not unwanted & p.tags]


@cache
def exact(problem: Problem):
    """The value as an mpf; take differences first, since mpmath rounds results to mp.dps digits."""
    average = getattr(reference, problem.kind)
    return average(problem.activations, problem.exact_covariance)


# ---------------------------------------------------------------- construction


def _problem(
    name: str, kind: str, activations: tuple[Tag, ...], C, *families: str, rounded: bool = False
) -> Problem:
    """C: float64 entries taken exactly or, if `rounded`, exact entries of which a copy is made."""
    matrix = reference.covariance(C)
    copy = np.array([[float(x) for x in row] for row in matrix])
    if not rounded and reference.covariance(copy) != matrix:
        raise ValueError(f"{name}: the covariance does not fit into float64")
    copy.setflags(write=False)
    families = (*families, "rounded") if rounded else families
    tags = {*families, *_geometry(matrix), *_units(activations)}
    label = ", ".join(str(a) for a in activations)
    return Problem(f"{kind}[{label}] {name}", kind, activations, copy, frozenset(tags), matrix)


def _units(activations: tuple[Tag, ...]) -> set[str]:
    kinds = set(activations)
    result = {"piecewise linear"} if "erf" not in kinds else set()
    if len(kinds) > 1:
        return result | {"mixed"}
    return result | {a if isinstance(a, str) else "leaky" for a in kinds}


def _geometry(C: reference.Matrix) -> set[str]:
    n, r = len(C), reference.rank(C)
    result = {f"rank {r}"} | ({"full rank"} if r == n else set())
    used = [a for a in range(n) if C[a][a]]
    if len(used) < n:
        result.add("zero field")
    lines = list(used)
    for a, b in combinations(used, 2):
        if s := reference.proportional(C, a, b):
            same = {1: "identical fields", -1: "opposite fields"}[s]
            result.add(same if C[a][a] == C[b][b] else "proportional")
            lines = [x for x in lines if x != b]
    return result | ({"dependent"} if r < len(lines) else set())


RELU = ("relu",) * 4


# ---------------------------------------------------------------- well-conditioned covariances


def random_covariance(rng: np.random.Generator, size: int, condition: float) -> np.ndarray:
    """Random axes, eigenvalues from 1 down to 1/condition in equal ratios."""
    axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
    C = axes * np.geomspace(1.0, 1.0 / condition, size) @ axes.T
    return (C + C.T) / 2


CONDITIONS = (1.0, 10.0, 100.0, 1000.0, 10000.0)


def _random() -> Iterator[Problem]:
    rng = np.random.default_rng(2019)
    for condition in CONDITIONS:
        for k in range(4):
            C = random_covariance(rng, 4, condition)
            yield _problem(f"condition {condition:g} no. {k}", "i4", RELU, C, "random")
            # Powers of two, variances between about 1e-3 and 1e3: the scaling does not round.
            D = 2.0 ** rng.integers(-5, 6, size=4)
            name = f"condition {condition:g} no. {k}, scaled"
            yield _problem(name, "i4", RELU, C * np.outer(D, D), "random")


# ---------------------------------------------------------------- nearly singular covariances


def nearly_proportional(p: int, q: int, correlation: float) -> np.ndarray:
    """Unit fields; z_q is z_p times the correlation plus a rest that is correlated with the other
    two.
    """
    a, b = (c for c in range(4) if c not in (p, q))
    C = np.eye(4)
    for i, j, x in ((p, a, 0.3), (p, b, -0.4), (a, b, 0.2), (p, q, correlation)):
        C[i, j] = C[j, i] = x
    rest = np.sqrt((1 - correlation) * (1 + correlation))
    for c, x in ((a, 0.25), (b, -0.125)):
        C[q, c] = C[c, q] = correlation * C[p, c] + rest * x
    return C


def decades() -> Iterator[tuple[str, float]]:
    """Correlations of both signs, down to 1 - |rho| = 1e-16, of which float64 makes 2^-53."""
    for k in range(1, 17):
        yield f"1 - rho = 1e-{k}", 1 - 10.0**-k
        yield f"1 + rho = 1e-{k}", 10.0**-k - 1


def _near_singular() -> Iterator[Problem]:
    for p, q in ((0, 1), (0, 2), (2, 3)):
        pair = ",".join("uvwz"[c] for c in (p, q))
        for name, rho in decades():
            C = nearly_proportional(p, q, rho)
            yield _problem(f"{name} for {pair}", "i4", RELU, C, "near singular", pair)
    for k in (4, 8, 12, 16):
        name = f"student = teacher up to 1e-{k}"
        C = np.kron(np.ones((2, 2)), [[1.0, 0.25], [0.25, 1.0]])
        for i, j in ((0, 2), (1, 3)):
            C[i, j] = C[j, i] = 1 - 10.0**-k
        yield _problem(name, "i4", RELU, C, "near singular", "committee")
    rows = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [-1, 1, 1]])
    for k in (10, 20, 30, 40, 50):
        for field in range(4):
            C = (rows @ rows.T).astype(float)
            C[field, field] += 2.0**-k
            name = f"dependent up to 2^-{k} in {'uvwz'[field]}"
            yield _problem(name, "i4", RELU, C, "near singular")


# ---------------------------------------------------------------- singular covariances


LINES = {
    "all identical": ((1,), (1,), (1,), (1,)),
    "one opposite student": ((-1,), (1,), (1,), (1,)),
    "one opposite teacher": ((1,), (1,), (1,), (-1,)),
    "all proportional": ((1,), (2,), (3,), (0.5,)),
    "proportional and opposite": ((-2,), (-1,), (-3,), (-0.25,)),
}
PLANES = {
    "a fan": ((2, 1), (1, 2), (3, -1), (1, 1)),
    "a wide fan": ((1, 0), (-1, 3), (1, 1), (1, 2)),
    "a narrow fan": ((8, 1), (8, 2), (8, 3), (8, -1)),
    "an empty cone": ((1, 0), (-1, 1), (-1, -1), (2, 1)),
}
SPACES = {
    "u = v + w + z": ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "z = u + v - w": ((1, 0, 1), (0, 1, 1), (1, 1, 0), (0, 0, 2)),
    "u + v + w + z = 0": ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, -1, -1)),
    "w = u + v": ((1, 0, 1), (0, 1, 1), (1, 1, 2), (1, 2, -1)),
    "z = v - w": ((2, 1, 1), (1, 1, 0), (0, -1, 1), (1, 2, -1)),
    "u = v + w": ((1, 1, 0), (1, 0, 1), (0, 1, -1), (1, 2, 3)),
    "oblique": ((3, 1, 0), (1, 2, 1), (2, -1, 1), (1, 3, 2)),
}
ZEROS = {
    "all fields zero": ((0,), (0,), (0,), (0,)),
    "u = 0": ((0, 0, 0), (1, 0, 1), (1, 1, 0), (0, 1, 2)),
    "u = v = 0": ((0, 0), (0, 0), (1, 1), (1, 2)),
    "u = 0 and v = w": ((0, 0), (1, 1), (1, 1), (1, 2)),
    "u = v = 0 and w = z": ((0,), (0,), (1,), (1,)),
    "w = 0": ((1, 0, 0), (1, 1, 0), (0, 0, 0), (1, 1, 1)),
}
GENERIC = ((2, 1, 0), (1, 2, 1), (1, -1, 2))
PLANAR = ((2, 1), (1, 3))


def _singular() -> Iterator[tuple[str, tuple]]:
    """Rows with small dyadic entries, whose products are exact in float64."""
    for table in (LINES, PLANES, SPACES, ZEROS):
        yield from table.items()
    for p, q in combinations(range(4), 2):
        for factor in (1, -1, 2, -0.5):
            rows = list(GENERIC)
            rows.insert(q, tuple(factor * x for x in GENERIC[p]))
            yield f"{'uvwz'[q]} = {factor} {'uvwz'[p]}", tuple(rows)
    for q in (1, 2, 3):
        rest = [c for c in (1, 2, 3) if c != q]
        for s, t in ((1, 1), (1, -1), (-1, -1), (4, -0.5)):
            rows = {0: (1, PLANAR[0]), q: (s, PLANAR[0]), rest[0]: (1, PLANAR[1])}
            rows[rest[1]] = (t, PLANAR[1])
            name = f"{'uvwz'[q]} = {s} u, {'uvwz'[rest[1]]} = {t} {'uvwz'[rest[0]]}"
            yield name, tuple(tuple(rows[c][0] * x for x in rows[c][1]) for c in range(4))


def _singular_problems() -> Iterator[Problem]:
    for name, rows in _singular():
        C = reference.from_rows(rows)
        family = ["student = teacher"] if rows[0] == rows[2] and rows[1] == rows[3] else []
        yield _problem(name, "i4", RELU, C, *family)
        for units in ((0.25, 0.25, "relu", "relu"), ("relu", "linear", 0.5, 0.125)):
            if name in {*PLANES, *SPACES, *ZEROS}:
                yield _problem(name, "i4", units, C, *family)
        if name in {*LINES, *SPACES}:
            yield _problem(name, "i4", ("erf",) * 4, C, *family)
            yield _problem(name, "i4", ("erf", "erf", "relu", "relu"), C, *family)


def _rounded() -> Iterator[Problem]:
    """Unit rows that float64 cannot hold."""
    with mp.workdps(60):
        plane = [mp.cos_sin(mp.mpf(t)) for t in (1, 2, 0.5, 1.5)]
        identical = [plane[0], plane[1], plane[0], plane[1]]
        opposite = [plane[0], plane[1], tuple(-x for x in plane[0]), plane[2]]
        space = [
            (mp.cos(t), mp.sin(t) * mp.cos(t * t), mp.sin(t) * mp.sin(t * t))
            for t in map(mp.mpf, (1, 2, 3, 5))
        ]
        thirds = [tuple(x / mp.sqrt(3) for x in row) for row in SPACES["w = u + v"]]
    names = ("in a plane", "in pairs", "opposite", "in space", "three in a plane")
    for name, rows in zip(names, (plane, identical, opposite, space, thirds), strict=True):
        yield _problem(name, "i4", RELU, reference.from_rows(rows), rounded=True)


# ---------------------------------------------------------------- committees


def committee(units: int, Q: float, C: float, R: float, S: float) -> np.ndarray:
    """Site-symmetric overlaps, students first: Q, R on the diagonals, C, S beside; T = 1."""
    one = np.eye(units)
    off = 1 - one
    return np.block([[Q * one + C * off, R * one + S * off], [R * one + S * off, one]])


COMMITTEES = {
    "plateau of two units": committee(2, 0.717756, 0.382977, 0.524579, 0.524579),
    "start of two units": committee(2, 0.25, 0.0, 0.0009765625, 0.0),
    "two specialized units": committee(2, 0.9375, 0.0625, 0.90625, 0.03125),
    "two units near the solution": committee(2, 1.0, 0.0, 1.0 - 2.0**-20, 2.0**-30),
    "two units at the solution": committee(2, 1.0, 0.0, 1.0, 0.0),
    "three units, R = S": committee(3, 0.5, 0.25, 0.3125, 0.3125),
    "three units, R > S": committee(3, 0.875, 0.0625, 0.8125, 0.0625),
    "three anti-specialized units": committee(3, 0.5, 0.25, 0.125, 0.375),
}


def _committees() -> Iterator[Problem]:
    """Index patterns of <delta_i delta_k>: x_i, x_k, then any two of students and teachers."""
    for name, C in COMMITTEES.items():
        K = len(C) // 2
        patterns = [(0, 1, K, K + 1), (0, 1, 0, K), (0, 1, 1, K), (0, 0, K, K + 1), (0, 1, 0, 1)]
        patterns += [(0, 0, 0, 0), (0, 1, K, K), (0, 1, 2, K + 2)][: 3 if K > 2 else 2]
        for index in patterns:
            label = ", ".join(f"x{c + 1}" if c < K else f"y{c - K + 1}" for c in index)
            family = ["committee"] + (["repeated"] if len(set(index)) < 4 else [])
            yield _problem(f"{name}: {label}", "i4", RELU, C[np.ix_(index, index)], *family)


# ---------------------------------------------------------------- other units


UNITS: tuple[tuple[Tag, ...], ...] = (
    (0.25, 0.25, 0.25, 0.25),
    ("linear",) * 4,
    ("erf",) * 4,
    ("relu", "relu", "linear", "relu"),
    (0.01, "relu", 0.5, "linear"),
    (0.125, 0.125, "relu", "relu"),
    ("relu", "relu", "erf", "erf"),
    ("relu", "relu", "relu", "erf"),
    ("erf", "erf", "relu", "relu"),
    ("erf", "erf", "erf", "relu"),
    ("erf", "relu", "relu", "erf"),
    ("erf", "linear", 0.25, "relu"),
    (0.25, 0.5, "erf", "linear"),
)
SAME: tuple[tuple[Tag, Tag], ...] = (("relu", "relu"), ("erf", "erf"), ("linear", "linear"))
DIFFERENT = (("relu", "erf"), ("erf", "relu"), ("linear", "erf"), (0.25, "relu"), (0.5, 0.125))
PAIRS = SAME + DIFFERENT


def _mixed() -> Iterator[Problem]:
    rng = np.random.default_rng(2025)
    for units in UNITS:
        for condition in (3.0, 100.0):
            C = random_covariance(rng, 4, condition) * 2.0
            yield _problem(f"condition {condition:g}", "i4", units, C, "random")


def _pairs() -> Iterator[Problem]:
    """I2: generic, identical, opposite, proportional, zero, and every 1 - |rho|."""
    rng = np.random.default_rng(1995)
    special = {
        "identical": [[2.0, 2.0], [2.0, 2.0]],
        "opposite": [[2.0, -2.0], [-2.0, 2.0]],
        "proportional": [[1.0, -3.0], [-3.0, 9.0]],
        "independent": [[0.5, 0.0], [0.0, 3.0]],
        "u = 0": [[0.0, 0.0], [0.0, 1.5]],
    }
    for units in PAIRS:
        yield _problem("condition 10", "i2", units, random_covariance(rng, 2, 10.0), "random")
        for name, C in special.items():
            yield _problem(name, "i2", units, C)
    for name, rho in decades():
        C = [[1.0, rho], [rho, 1.0]]
        yield _problem(name, "i2", ("relu", "relu"), C, "near singular")


def _triples() -> Iterator[Problem]:
    """I3: the same with a third field."""
    rng = np.random.default_rng(1997)
    special = {
        "all identical": ((1,), (1,), (1,)),
        "u = w": ((2, 1), (1, -1), (2, 1)),
        "u = -w": ((2, 1), (1, -1), (-2, -1)),
        "w = 2 u": ((1, 0.5), (1, -1), (2, 1)),
        "u = v": ((2, 1), (2, 1), (1, -3)),
        "in a plane": ((2, 1), (1, 3), (1, -1)),
        "u = 0": ((0, 0), (2, 1), (1, 1)),
        "v = 0": ((2, 1), (0, 0), (1, 1)),
        "w = 0": ((2, 1), (1, 1), (0, 0)),
    }
    for units in PAIRS:
        yield _problem("condition 10", "i3", units, random_covariance(rng, 3, 10.0), "random")
        yield _problem("condition 1000", "i3", units, random_covariance(rng, 3, 1e3), "random")
        for name, rows in special.items():
            yield _problem(name, "i3", units, reference.from_rows(rows))
    for name, rho in decades():
        C = nearly_proportional(0, 2, rho)[:3, :3]
        yield _problem(f"{name} for u,w", "i3", ("relu", "relu"), C, "near singular", "u,w")


@cache
def _table() -> tuple[Problem, ...]:
    families = (_random, _near_singular, _singular_problems, _rounded, _committees, _mixed)
    return tuple(p for family in (*families, _pairs, _triples) for p in family())
