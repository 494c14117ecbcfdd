"""Beyond citton2025: the families of minima of ReLU committees with up to twenty teachers.

As η → 0 gradient flow ends in minima that come in families of k anti-aligned units
(`tutelage.online.landscape`).  For K = M and for K = M + 1 every stationary point of a family is
computed from the weights, and its error and its curvatures again from the overlaps.  Each minimum
of K = M is then followed as the slope of leaky units, the correlation of the teachers and, for few
units, the learning rate change.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from tutelage import online
from tutelage.activations import GELU, Activation, Erf, LeakyReLU, ReLU
from tutelage.averages.generalization import generalization_error
from tutelage.figures.style import ordered_colours
from tutelage.figures.text import SYMBOLS
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.online import Flow
from tutelage.online.linearization import first_order
from tutelage.online.stationary.landscape_descent import Atlas, StationaryPoint
from tutelage.online.stationary.landscape_names import family, multiplicity
from tutelage.papers import recorded
from tutelage.papers.row import Row, found
from tutelage.papers.section import Figure, Section

FIRST_TEACHERS, MOST_TEACHERS = 2, 20
# Largest number of teachers by the number of additional students.
SIZES = {0: MOST_TEACHERS, 1: 17}
# Distinct curvatures differ by more than this.
DISTINCT = 1e-9
MOST_DISTINCT = 48
# Committees whose minima are followed, and the scenarios at the ends of the paths.
FOLLOWED = (6, 8, 10, 12, 17)
FOLLOWED_IN_RATE = (6, 7)
LARGEST_SLOPE, LARGEST_CORRELATION = 0.95, 0.9
# Learning rates: the first of a branch, the largest, and the number of its points.
FIRST_RATE, LARGEST_RATE, RATE_POINTS = 0.02, 2.0, 40
SAME_EIGENVALUE, ROOT_ACCURACY = 1e-6, 1e-9
BECOMES_SADDLE = "becomes a saddle"
SOLVED = 1e-10
# Other units in the same atlas: numbers of units, starts, and minima that are stored.
UNITS: tuple[Activation, ...] = (ReLU(), LeakyReLU(0.2), Erf(), GELU())
UNIT_SIZES, UNIT_STARTS, MOST_MINIMA, SEED = (2, 4, 6, 8), 200, 12, 0
# Committees whose paths are rows of the report; the others are in its data.
SHOWN = (6, 8, 12)
NOTE = (
    "ReLU, T = 1, η → 0: gradient descent within each symmetric family, then Newton's method in "
    "the weights. The overlaps' route: rates of change and Jacobian of the equations for Q and R."
)
NOTE_PATHS = (
    "Every minimum of K = M is followed by its arclength; T_nm = c for all pairs of teachers, or "
    "leaky units of slope s on both sides. The branch stays in its symmetric family: all these "
    "minima open in directions that break the symmetry."
)
NOTE_UNITS = (
    f"T = 1, η → 0, {UNIT_STARTS} starts w_i ~ N(0, 1/d) in d = 2K, and all symmetric families. A "
    "search from starts proves no completeness."
)
NOTE_RATE = (
    "Exact in η, K(K + 1)/2 + K² equations: the first learning rate at which an eigenvalue of the "
    "branch from η = 0.02 passes through zero."
)


# Rounding of sums of 4 M² terms; the difference of the two routes is added.
ROUNDING = 1e-14


def committees(units: int, teachers: int, slope: float = 0.0, correlation: float = 0.0) -> Scenario:
    """Return a scenario of equivalent teachers with unit norms."""
    unit = LeakyReLU(slope) if slope else ReLU()
    T = (1 - correlation) * np.eye(teachers) + correlation
    return Scenario(Committee(units, unit), Committee(teachers, unit), T)


def levels() -> xr.Dataset:
    """Return all stationary points of all families: the content of ``recorded/families.nc``."""
    sizes = [(M + k, M) for k, most in SIZES.items() for M in range(FIRST_TEACHERS, most + 1)]
    parts = recorded.in_parts("families", sizes, lambda size: _joined(points_of(*size)))
    return _joined(parts)


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
        values, counts = distinct(np.concatenate([h, outward]))
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
    for n, group in enumerate(groups[:MOST_DISTINCT]):
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
    return _joined(recorded.in_parts("paths", FOLLOWED, lambda M: _joined(_paths_of(M))))


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


def _paths_of(teachers: int) -> Iterator[xr.Dataset]:
    scenario = committees(teachers, teachers)
    for point, name in named_points(scenario):
        if not point.is_minimum or point.solves:
            continue
        W = point.weights
        state = Overlaps(Q=W @ W.T, R=W, T=scenario.T, rounding=1e-9)
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
    anti = np.min(np.asarray(state.R), axis=1) < -0.1
    return {
        "ended": path.attrs["ended"],
        "at": scale * p,
        "until": scale * p,
        "opens": int(special.special_multiplicity),
        "symmetric": symmetric_share(np.asarray(state.R), direction),
        "by_anti_aligned": float(np.sum(direction[anti] ** 2) / np.sum(direction**2)),
    }


def symmetric_share(R: np.ndarray, direction: np.ndarray) -> float:
    """Return the part of a direction that leaves equivalent units equivalent.

    Entries of R that are equal at the minimum belong to equivalent pairs of units.
    """
    labels = np.unique(np.round(R, 6), return_inverse=True)[1].reshape(R.shape)
    counts = np.bincount(labels.ravel())
    means = np.bincount(labels.ravel(), direction.ravel()) / counts
    return float(np.sum(counts * means**2) / np.sum(direction**2))


def rates() -> xr.Dataset:
    """Follow minima of few units in the learning rate: ``recorded/family_rates.nc``."""
    return _joined(recorded.in_parts("rates", FOLLOWED_IN_RATE, _rates_of))


def _rates_of(teachers: int) -> xr.Dataset:
    scenario, rows = committees(teachers, teachers), list[dict[str, Any]]()
    for point, name in named_points(scenario):
        if not point.is_minimum or point.solves:
            continue
        W = point.weights
        state = Overlaps(Q=W @ W.T, R=W, T=scenario.T, rounding=1e-9)
        rows.append({"teachers": teachers, "family": name, **follow_in_rate(scenario, state)})
    return xr.Dataset({key: ("state", np.array([row[key] for row in rows])) for key in rows[0]})


def follow_in_rate(scenario: Scenario, state: Overlaps) -> dict[str, Any]:
    """Follow a minimum as η grows until an eigenvalue vanishes; say where, and how it opens."""
    along = online.branch(
        scenario, state, FIRST_RATE, until=LARGEST_RATE, step=0.1, max_steps=RATE_POINTS
    )
    eta, largest = along.learning_rate.values, along.eigenvalue.values.max(axis=1)
    unstable = np.flatnonzero(largest > 0)
    if not len(unstable):
        nothing = {"at": np.nan, "at_error": np.nan, "opens": 0, "symmetric": np.nan}
        return {"ended": along.attrs["ended"], **nothing, "generalization_error": np.nan}
    last = int(unstable[0]) - 1
    folds = np.flatnonzero(along.special_kind.values == "fold")
    turns = bool(np.any(np.diff(eta[max(last - 1, 0) : last + 3]) < 0))
    if not (turns and len(folds)):
        return _vanishing(scenario, along, last)
    fold = along.isel(special=int(folds[0]))
    return {
        "ended": "fold",
        "at": float(fold.special_learning_rate),
        "at_error": float(fold.special_error) + ROOT_ACCURACY,
        "opens": 1,
        "symmetric": 1.0,
        "generalization_error": float(along.generalization_error[last]),
    }


def _vanishing(scenario: Scenario, along: xr.Dataset, last: int) -> dict[str, Any]:
    """Find the learning rate between two points of a branch at which an eigenvalue vanishes."""
    eta, Q, R = along.learning_rate.values, along.Q.values, along.R.values

    def point(value: float) -> online.FixedPoint:
        share = (value - eta[last]) / (eta[last + 1] - eta[last])
        mixed = [(1 - share) * x[last] + share * x[last + 1] for x in (Q, R)]
        start = Overlaps(Q=mixed[0], R=mixed[1], T=scenario.T, rounding=1e-6)
        return online.fixed_point(scenario, start, value)

    def largest(value: float) -> float:
        return float(np.max(np.real(point(value).eigenvalues)))

    at = float(brentq(largest, eta[last], eta[last + 1], xtol=ROOT_ACCURACY))
    there = point(at)
    values = np.real(there.eigenvalues)
    equal = int(np.sum(values > np.max(values) - SAME_EIGENVALUE))
    vector = np.real(np.asarray(there.eigenvectors)[:, int(np.argmax(values))])
    direction = Flow(scenario).layout.arrays(vector)["R"]
    return {
        "ended": BECOMES_SADDLE,
        "at": at,
        "at_error": ROOT_ACCURACY,
        "opens": equal,
        "symmetric": symmetric_share(np.asarray(there.overlaps.R), np.asarray(direction)),
        "generalization_error": float(there.generalization_error),
    }


def units() -> xr.Dataset:
    """Return shares and minima of several units from random starts: ``recorded/units.nc``."""
    cases = {f"{unit.name}, K = M = {K}": (unit, K) for unit in UNITS for K in UNIT_SIZES}
    rows = recorded.in_parts("units", cases, lambda name: _minima_of(*cases[name]))
    return xr.concat(rows, "case", combine_attrs="drop").assign_coords(case=list(cases))


def _minima_of(unit: Activation, size: int) -> xr.Dataset:
    """Find the minima of equal numbers of units, the smallest error first; padded."""
    committee = Committee(size, unit)
    scenario = Scenario(committee, committee)
    every = online.landscape(scenario, starts=UNIT_STARTS, seed=SEED)
    minima = every.isel(level=np.flatnonzero(every["index"].values == 0)[:MOST_MINIMA])
    again = [
        float(generalization_error(scenario, Overlaps(Q=Q, R=R, T=scenario.T, rounding=1e-9)))
        for Q, R in zip(minima.Q.values, minima.R.values, strict=True)
    ]
    difference = np.abs(np.array(again) - minima.generalization_error.values)
    names = ("generalization_error", "share", "share_error")
    values = {name: minima[name].values for name in names} | {"error_difference": difference}
    rest = MOST_MINIMA - minima.sizes["level"]
    labels = [*minima.family.values.tolist(), *[""] * rest]
    return xr.Dataset(
        {
            **{n: ("level", np.append(x, np.full(rest, np.nan))) for n, x in values.items()},
            "family": ("level", np.array(labels, dtype=str)),
            "minima": int(np.sum(every["index"].values == 0)),
            "unsettled": int(every.attrs["unsettled"]),
        }
    )


# What computes each recorded file.
RECORDED = {"families": levels, "family_paths": paths, "family_rates": rates, "units": units}


def compute(full: bool) -> Iterator[Row | Figure]:
    """Show the recorded atlas; a full run computes it again."""
    before = {name: recorded.load_recorded("beyond", name) for name in RECORDED}
    if full:
        now = {name: measure() for name, measure in RECORDED.items()}
        yield _figure(now)
        yield from recorded.compare_with_recorded(_rows(now), _rows(before))
        return
    yield _figure(before)
    yield from recorded.mark_recorded(_rows(before), recorded.describe_origin(*before.values()))


def _figure(data: dict[str, xr.Dataset]) -> Figure:
    from tutelage.figures.style import new_panels

    left, middle, right = new_panels(3)
    draw_levels(data["families"], left)
    draw_curvatures(data["families"], middle)
    draw_paths(data["family_paths"], right)
    return Figure(left.figure, data)


def of_family(data: xr.Dataset, name: str, extra: int = 0) -> xr.Dataset:
    """Return the states of one family over the number of teachers."""
    chosen = data.family.values == name
    if "units" in data:
        chosen &= (data.units - data.teachers).values == extra
    return data.isel(state=np.flatnonzero(chosen)).sortby("teachers")


def coupled(k: int) -> str:
    """Return the name of the family with k anti-aligned units that overlap with other teachers."""
    return f"{k} anti-aligned"


def draw_levels(data: xr.Dataset, axes: Any) -> None:
    """Draw the errors of all minima of K = M over M, and join those of one family."""
    minima = data.isel(state=np.flatnonzero(data["index"].values == 0))
    for names, tint in (("coupled", "C0"), ("separate", "C1")):
        for name in dict.fromkeys(minima.family.values.tolist()):
            one = of_family(minima, name)
            if name == "solution" or ("separate" in name) != (names == "separate"):
                continue
            axes.plot(one.teachers, one.generalization_error, ".-", color=tint, linewidth=0.7)
    for label, tint in (("k anti-aligned, coupled", "C0"), ("separate", "C1")):
        axes.plot([], [], ".-", color=tint, label=label)
    axes.set(xlabel="K = M", ylabel=SYMBOLS["generalization_error"])
    axes.legend()


def draw_curvatures(data: xr.Dataset, axes: Any) -> None:
    """Draw the smallest curvature of the coupled families over K = M."""
    most = MOST_TEACHERS // 2
    for k, tint in zip(range(1, most + 1), ordered_colours(most), strict=True):
        one = of_family(data, coupled(k))
        axes.plot(one.teachers, one.smallest_curvature, ".-", color=tint, label=f"k = {k}")
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set(xlabel="K = M", ylabel="smallest curvature")
    axes.legend(ncols=2)


def draw_paths(data: xr.Dataset, axes: Any) -> None:
    """Draw the correlation of teachers at which each minimum of K = M turns into a saddle."""
    for name in dict.fromkeys(data.family.values.tolist()):
        one = of_family(data, name)
        tint = "C1" if "separate" in name else "C0"
        axes.plot(one.teachers, one["at"].sel(path="correlation"), ".-", color=tint, linewidth=0.7)
    axes.set(xlabel="K = M", ylabel=r"$T_{nm}$ where the minimum becomes a saddle")


def _rows(data: dict[str, xr.Dataset]) -> Iterator[Row]:
    yield from _level_rows(data["families"])
    yield from _unit_rows(data["units"])
    paths = data["family_paths"]
    for number in np.flatnonzero(np.isin(paths.teachers.values, SHOWN)):
        one = paths.isel(state=int(number))
        name = f"K = M = {int(one.teachers)}, {one.family.item()}"
        yield found(f"{name}: gain of an added unit", float(one.gain), 1e-9, NOTE_PATHS)
        for path, symbol in (("correlation", "T_nm"), ("slope", "leaky slope")):
            part = one.sel(path=path)
            if np.isfinite(part["at"]):
                words = f"{name}: becomes a saddle at {symbol}"
                note = f"{NOTE_PATHS} It opens in {int(part.opens)} equivalent directions."
                yield found(words, float(part["at"]), 1e-8, note)
    for path in paths.path.values:
        lost = int(np.sum(np.isfinite(paths["at"].sel(path=path).values)))
        words = f"Of {paths.sizes['state']} minima, K = M = 6 to {FOLLOWED[-1]}, saddles along"
        yield found(f"{words}: {path}", float(lost), 0.0, NOTE_PATHS)
    lost_in_rate = data["family_rates"]
    for place in range(lost_in_rate.sizes["state"]):
        one = lost_in_rate.isel(state=place)
        words = f"K = M = {int(one.teachers)}, {one.family.item()}: stable up to η"
        note = f"{NOTE_RATE} There: {one.ended.item()}, {int(one.opens)} directions."
        yield found(words, float(one["at"]), float(one.at_error), note)


def _unit_rows(data: xr.Dataset) -> Iterator[Row]:
    for number, name in enumerate(data.case.values):
        one = data.isel(case=number)
        share, width = float(one.share[0]), float(one.share_error[0])
        note = f"{NOTE_UNITS} {int(one.unsettled)} of {UNIT_STARTS} runs have not ended."
        yield found(f"{name}: share of starts that reach the solution", share, width, note)
        yield found(f"{name}: minima", float(one.minima), 0.0, note)


def _level_rows(data: xr.Dataset) -> Iterator[Row]:
    for extra, sizes in ((0, "K = M"), (1, "K = M + 1")):
        for name, (first, last) in onsets(data, extra).items():
            yield found(f"{sizes}, {name}: a minimum from M", float(first), 0.0, NOTE)
            if last < SIZES[extra]:
                yield found(f"{sizes}, {name}: a minimum up to M", float(last), 0.0, NOTE)
        most = SIZES[extra]
        largest = (data.teachers == most) & (data.units == most + extra)
        has_error = data.generalization_error > SOLVED
        for number in np.flatnonzero(largest & has_error & (data["index"] == 0)):
            one = data.isel(state=int(number))
            item = f"{sizes}, M = {most}, {one.family.item()}: ε_g"
            error = float(one.error_difference) + ROUNDING
            note = (
                f"{NOTE} Curvatures by both routes differ by {float(one.curvature_difference):.1g}."
            )
            yield found(item, float(one.generalization_error), error, note)


SECTIONS = (
    Section(
        "families",
        "The atlas of minima of ReLU committees",
        "Left: errors of all minima of the symmetric families with K = M, lines join minima with "
        "the same number of anti-aligned units. Middle: the smallest curvature of the coupled "
        "families; above zero they are minima. Right: the correlation of the teachers at which a "
        "minimum turns into a saddle; minima that are not drawn persist up to "
        f"T_nm = {LARGEST_CORRELATION}.",
        compute,
        "all data computed again, half an hour",
        lambda: recorded.digest("beyond"),
    ),
)
