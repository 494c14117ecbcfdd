"""Beyond citton2025: the families of minima of ReLU committees with up to twenty teachers.

As η → 0 gradient flow ends in minima that come in families of k anti-aligned units
(`tutelage.online.landscape`).  For K = M and for K = M + 1 every stationary point of a family is
computed from the weights, and its error and its curvatures again from the overlaps.  Each minimum
of K = M with 6, 8 and 10 units is then followed as the slope of leaky units, the correlation of the
teachers and the learning rate change; in the learning rate also those of K = M + 1.  Leaky ReLU,
erf and GELU have their minima from random starts.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tutelage import generalization_error, online
from tutelage.activations import GELU, Activation, Erf, LeakyReLU, ReLU
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import Flow
from tutelage.online.linearization import first_order, system
from tutelage.online.stationary.landscape_descent import Atlas, StationaryPoint
from tutelage.online.stationary.landscape_names import family, multiplicity
from tutelage.papers import recorded
from tutelage.solve.continuation import CurvePoint, along_parameter, follow as follow_curve

FIRST_TEACHERS, MOST_TEACHERS = 2, 20
# Largest number of teachers by the number of additional students.
SIZES = {0: MOST_TEACHERS, 1: MOST_TEACHERS}
# Distinct curvatures differ by more than this.
DISTINCT = 1e-9
MOST_DISTINCT = 48
# Committees whose minima are followed, and the scenarios at the ends of the paths.
FOLLOWED = (6, 8, 10)
LARGEST_SLOPE, LARGEST_CORRELATION = 0.95, 0.9
# Learning rates: the first of a branch, the largest, the number of its points, and their distance.
FIRST_RATE, LARGEST_RATE, RATE_POINTS, RATE_STEP = 0.02, 2.0, 20, 0.3
SAME_EIGENVALUE, SAME_OVERLAP, SAME_RATE, ROOT_ACCURACY = 1e-6, 1e-4, 1e-8, 1e-9
# The overlap with a teacher below which a student counts as anti-aligned.
ANTI_ALIGNED = -0.1
BECOMES_SADDLE, OSCILLATES = "becomes a saddle", "begins to oscillate"
SOLVED = 1e-10
# Kinds of units in the same atlas: numbers of units, starts, and minima that are stored.
UNITS: tuple[Activation, ...] = (ReLU(), LeakyReLU(0.2), Erf(), GELU())
UNIT_SIZES, UNIT_STARTS, MOST_MINIMA, SEED = (4, 6, 8, 10, 12, 14), 1000, 32, 0


def committees(units: int, teachers: int, slope: float = 0.0, correlation: float = 0.0) -> Scenario:
    """Return a scenario of equivalent teachers with unit norms."""
    unit = LeakyReLU(slope) if slope else ReLU()
    T = (1 - correlation) * np.eye(teachers) + correlation
    return Scenario(Committee(units, unit), Committee(teachers, unit), T)


def levels() -> xr.Dataset:
    """Return all stationary points of all families: the content of ``recorded/families.nc``."""
    sizes = [(M + k, M) for k, most in SIZES.items() for M in range(FIRST_TEACHERS, most + 1)]
    return _joined(recorded.in_parts("families", sizes, _levels_of))


def _levels_of(size: tuple[int, int]) -> xr.Dataset:
    return _joined(points_of(*size))


def _joined(parts: Iterable[xr.Dataset]) -> xr.Dataset:
    every = [one if "state" in one.dims else one.expand_dims("state") for one in parts]
    return xr.concat(every, "state", combine_attrs="drop")


def named_points(scenario: Scenario) -> list[tuple[StationaryPoint, str]]:
    """Return the stationary points of all families of a scenario, the smallest error first."""
    atlas = Atlas(scenario)
    atlas.add_families()
    points = sorted(atlas.points, key=lambda point: point.error)
    return [(one, family(atlas.landscape, one.weights, one.error)) for one in points]


def points_of(units: int, teachers: int) -> Iterator[xr.Dataset]:
    """Compute the stationary points of the families of one committee, by two routes."""
    scenario = committees(units, teachers)
    flow = Flow(scenario, limit=True)
    for point, name in named_points(scenario):
        W, B = point.weights, np.eye(teachers)
        Q, R = W @ W.T, W @ B.T
        h, outward = point.spectrum.hessian, point.spectrum.transverse
        i, k = np.triu_indices(units)
        by_weights = np.sort(np.concatenate([h, outward[i] + outward[k]]))
        # Along a family of solutions curvatures differ: those of one member say nothing.
        every = np.concatenate([h, outward]) if point.is_isolated else np.zeros(0)
        values, counts = distinct(every)
        again = generalization_error(scenario, Overlaps(Q=Q, R=R, T=scenario.T, rounding=1e-9))
        change, by_overlaps = overlap_route(flow, Q, R)
        yield xr.Dataset(
            {
                "units": units,
                "teachers": teachers,
                "family": name,
                "generalization_error": point.error,
                "index": point.spectrum.negative,
                "isolated": point.is_isolated,
                "multiplicity": float(multiplicity(scenario, W, B)),
                "smallest_curvature": point.smallest_curvature,
                "curvature": ("distinct", values),
                "curvature_count": ("distinct", counts),
                "error_difference": abs(float(again) - point.error),
                "curvature_difference": np.max(np.abs(by_overlaps - by_weights)),
                "rate_of_change": change,
            }
        )


def overlap_route(flow: Flow, Q: np.ndarray, R: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest |dQ/dt|, |dR/dt|, and the curvatures from the Jacobian in (Q, R)."""
    rates, J = first_order(flow, flow.layout.vector({"Q": Q, "R": R}))
    return float(np.max(np.abs(rates))), np.sort(-np.linalg.eigvals(J).real)


def distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values, the smallest first, and their numbers; padded."""
    ordered = np.sort(values)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > DISTINCT) + 1)
    means = np.full(MOST_DISTINCT, np.nan)
    counts = np.zeros(MOST_DISTINCT, int)
    for n, group in enumerate(groups if len(values) else []):
        means[n], counts[n] = np.mean(group), len(group)
    return means, counts


def onsets(data: xr.Dataset, extra: int) -> dict[str, tuple[int, int]]:
    """Return the least and the largest number of teachers with which each family is a minimum."""
    chosen = (data.units - data.teachers == extra) & (data["index"] == 0)
    chosen &= data.generalization_error > SOLVED
    names, sizes = data.family.values[chosen], data.teachers.values[chosen]
    return {
        str(name): (int(sizes[names == name].min()), int(sizes[names == name].max()))
        for name in dict.fromkeys(names)
    }


def paths() -> xr.Dataset:
    """Follow every minimum of K = M as scenarios change: the content of ``recorded/paths.nc``."""
    return _joined(recorded.in_parts("paths", FOLLOWED, _paths_of))


def ends_of(teachers: int) -> dict[str, tuple[Scenario, float]]:
    """Return the scenario at the end of each kind of path, and the value of its parameter."""
    lowest = -LARGEST_CORRELATION / (teachers - 1)
    return {
        "slope": (committees(teachers, teachers, slope=LARGEST_SLOPE), LARGEST_SLOPE),
        "correlation": (
            committees(teachers, teachers, correlation=LARGEST_CORRELATION),
            LARGEST_CORRELATION,
        ),
        "negative correlation": (committees(teachers, teachers, correlation=lowest), lowest),
    }


def minima_of_families(teachers: int, extra: int = 0) -> dict[str, Overlaps]:
    """Return the minima of K = M + extra with an error, by their names."""
    scenario = committees(teachers + extra, teachers)
    return {
        name: Overlaps(Q=one.weights @ one.weights.T, R=one.weights, T=scenario.T, rounding=1e-9)
        for one, name in named_points(scenario)
        if one.is_minimum and not one.solves
    }


def _paths_of(teachers: int) -> xr.Dataset:
    return _joined(_each_path(teachers))


def _each_path(teachers: int) -> Iterator[xr.Dataset]:
    scenario = committees(teachers, teachers)
    for name, state in minima_of_families(teachers).items():
        opened = online.added_unit(scenario, state, until=1.0)
        rows = [follow(scenario, state, to, scale) for to, scale in ends_of(teachers).values()]
        yield xr.Dataset(
            {
                "teachers": teachers,
                "family": name,
                "gain": float(opened.attrs["gain"]),
                **{key: ("path", np.array([row[key] for row in rows])) for key in rows[0]},
            },
            coords={"path": list(ends_of(teachers))},
        )


def follow(scenario: Scenario, state: Overlaps, to: Scenario, scale: float) -> dict[str, Any]:
    """Follow a minimum until it turns into a saddle; say where, and how it opens there."""
    path = online.minimum_path(scenario, state, to=to)
    lost = np.flatnonzero(path.special_kind.values == BECOMES_SADDLE)
    if not len(lost):
        last = {"at": np.nan, "until": scale * float(path.parameter[-1])}
        nothing = {"opens": 0, "symmetric": np.nan, "by_anti_aligned": np.nan}
        return {"ended": path.attrs["ended"], **last, **nothing}
    special = path.isel(special=int(lost[0]))
    direction = special.special_direction.values
    p = float(special.special_parameter)
    return {
        "ended": path.attrs["ended"],
        "at": scale * p,
        "until": scale * p,
        "opens": int(special.special_multiplicity),
        **shares_of_direction(np.asarray(state.R), direction),
    }


def shares_of_direction(R: np.ndarray, direction: np.ndarray) -> dict[str, float]:
    """Return the parts of a direction that leave equivalent units equivalent, and that move
    anti-aligned units.
    """
    anti = np.min(R, axis=1) < ANTI_ALIGNED
    by_anti = float(np.sum(direction[anti] ** 2) / np.sum(direction**2))
    return {"symmetric": symmetric_share(R, direction), "by_anti_aligned": by_anti}


def symmetric_share(R: np.ndarray, direction: np.ndarray) -> float:
    """Return the part of a direction that leaves equivalent units equivalent.

    Entries of R that are equal at the minimum belong to equivalent pairs of units.  Where an
    eigenvalue vanishes, Newton's method finds them less accurately along its direction.
    """
    order = np.argsort(R, axis=None)
    steps = np.diff(R.ravel()[order], prepend=R.min()) > SAME_OVERLAP
    labels = np.cumsum(steps)[np.argsort(order)]
    counts = np.bincount(labels)
    means = np.bincount(labels, direction.ravel()) / counts
    return float(np.sum(counts * means**2) / np.sum(direction**2))


def rates() -> xr.Dataset:
    """Follow all minima in the learning rate: the content of ``recorded/family_rates.nc``."""
    cases = [
        (teachers, extra, name)
        for extra in SIZES
        for teachers in FOLLOWED
        for name in minima_of_families(teachers, extra)
    ]
    return _joined(recorded.in_parts("rates", cases, _rate_of))


def _rate_of(case: tuple[int, int, str]) -> xr.Dataset:
    teachers, extra, name = case
    scenario = committees(teachers + extra, teachers)
    row = follow_in_rate(scenario, minima_of_families(teachers, extra)[name])
    return xr.Dataset({"units": scenario.K, "teachers": teachers, "family": name, **row})


def follow_in_rate(scenario: Scenario, state: Overlaps) -> dict[str, Any]:
    """Follow a minimum as η grows until an eigenvalue vanishes; say where, and how it opens."""
    flow = Flow(scenario)
    equations = system(flow)
    first = online.fixed_point(scenario, state, FIRST_RATE).overlaps
    curve = follow_curve(
        equations, np.asarray(flow.vector(first)), FIRST_RATE, until=LARGEST_RATE, step=RATE_STEP,
        steps=RATE_POINTS, tests={"fold": along_parameter, BECOMES_SADDLE: growth_rate},
        ending=lambda u, specials: "found" if specials else None,
    )  # fmt: skip
    if not curve.specials:
        unknown = ("at", "at_error", "symmetric", "by_anti_aligned", "generalization_error")
        return {"ended": curve.ended, "opens": 0, **dict.fromkeys(unknown, np.nan)}
    # Where the branch turns round an eigenvalue vanishes as well; a saddle comes before that.
    special = min(curve.specials, key=lambda one: one.point[-1] + SAME_RATE * (one.kind != "fold"))
    y, eta = special.point[:-1], float(special.point[-1])
    there = flow.overlaps(y, scenario.T)
    values, vectors = np.linalg.eig(equations(y, eta)[1][:, :-1])
    largest = int(np.argmax(values.real))
    oscillates = special.kind != "fold" and abs(values[largest].imag) > SAME_EIGENVALUE
    direction = np.asarray(flow.layout.arrays(vectors[:, largest].real)["R"])
    return {
        "ended": OSCILLATES if oscillates else special.kind,
        "at": eta,
        "at_error": float(special.error) + ROOT_ACCURACY,
        "opens": int(np.sum(values.real > np.max(values.real) - SAME_EIGENVALUE)),
        **shares_of_direction(np.asarray(there.R), direction),
        "generalization_error": float(generalization_error(scenario, there)),
    }


def growth_rate(place: CurvePoint) -> float:
    """Return the largest real part of the eigenvalues at a point of a branch."""
    return float(np.max(np.linalg.eigvals(place.J[:, :-1]).real))


def units() -> xr.Dataset:
    """Return minima of several units, and the shares of random starts that end in them: the
    content of ``recorded/units.nc``.
    """
    cases = [(K, unit) for K in UNIT_SIZES for unit in range(len(UNITS))]
    return _joined(recorded.in_parts("units", cases, _minima_of))


def _minima_of(case: tuple[int, int]) -> xr.Dataset:
    """Find the minima of equal numbers of units, the smallest error first; padded."""
    size, number = case
    unit = UNITS[number]
    scenario = Scenario(Committee(size, unit), Committee(size, unit))
    every = online.landscape(scenario, starts=UNIT_STARTS, seed=SEED)
    is_minimum = every["index"].values == 0
    minima = every.isel(level=np.flatnonzero(is_minimum)[:MOST_MINIMA])
    again = [
        float(generalization_error(scenario, Overlaps(Q=Q, R=R, T=scenario.T, rounding=1e-9)))
        for Q, R in zip(minima.Q.values, minima.R.values, strict=True)
    ]
    difference = np.abs(np.array(again) - minima.generalization_error.values)
    names = ("generalization_error", "share", "share_error")
    values = {name: minima[name].values for name in names} | {"error_difference": difference}
    unused = MOST_MINIMA - minima.sizes["level"]
    labels = [*minima.family.values.tolist(), *[""] * unused]
    return xr.Dataset(
        {
            "unit": unit.name,
            "units": size,
            **{n: ("level", np.append(x, np.full(unused, np.nan))) for n, x in values.items()},
            "family": ("level", np.array(labels, dtype=str)),
            "minima": int(np.sum(is_minimum)),
            "starts": UNIT_STARTS,
            "dimension": int(every.attrs["start_dimension"]),
            "unsettled": int(every.attrs["unsettled"]),
            "escaped": int(every.attrs["escaped"]),
        }
    )


# What computes each recorded file.
RECORDED = {"families": levels, "family_paths": paths, "family_rates": rates, "units": units}


def of_family(data: xr.Dataset, name: str, extra: int = 0) -> xr.Dataset:
    """Return the states of one family over the number of teachers."""
    chosen = data.family.values == name
    if "units" in data:
        chosen &= (data.units - data.teachers).values == extra
    return data.isel(state=np.flatnonzero(chosen)).sortby("teachers")


def coupled(k: int) -> str:
    """Return the name of the family with k anti-aligned units that overlap with other teachers."""
    return f"{k} anti-aligned"
