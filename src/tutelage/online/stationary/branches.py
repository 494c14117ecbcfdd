"""Branches: fixed points as the learning rate changes, with folds and branch points."""

from functools import partial

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.numbers import NUMBERS
from tutelage.model.scenario import check_fits
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow, errors_of
from tutelage.online.linearization import system
from tutelage.online.stationary.identical import (
    are_identical,
    embedding,
    flow_of_one,
    merged,
    splits_instantly,
)
from tutelage.online.stationary.points import is_state, polished, relative
from tutelage.online.stationary.solutions import (
    distance,
    linear_system,
    nearest_solution,
    stability_change,
)
from tutelage.runs.provenance import recorded
from tutelage.solve.continuation import Curve, Ending, Special, System, follow

# Norms beyond this count as infinite, which ends a branch.
TOO_LARGE = 1e6
NOT_A_STATE, MEETS_SOLUTION = "not positive semi-definite", "meets a solution"
# States within this distance of a solution, relative to the overlaps, count as the solution.
SOLUTION = 1e-6
# Square root of the distance within which a branch may end at a solution.
CLOSE = 0.05
# Errors are computed in batches of this many points times a power of two.
FEWEST_POINTS = 64


@recorded
def branch(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    until: float,
    step: float = 0.05,
    max_steps: int = 1000,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Follow a fixed point as the learning rate changes, through folds.

    The fixed points at η solve the equations divided by η, which are regular as η → 0,

        ⟨δ_i y_n⟩ - (γ + δ)/η R_in = 0
        ⟨δ_i x_k + δ_k x_i⟩ + (η/b) ⟨δ_i δ_k⟩ - (2γ/η) Q_ik = 0,

    with label noise in ⟨δ_i δ_k⟩.  They form curves in (R, Q, η) that are followed by their
    arclength (`tutelage.solve.continuation`).  Identical students whose activation has a kink
    are followed as identical students, because the rates have no derivative next to them.  At an
    exact solution, where the covariance is singular, the Jacobian is that of the solution, and a
    branch that meets a solution ends there (`tutelage.online.stationary.solutions`).

    Args:
        scenario: student and teacher.
        start: a fixed point at ``learning_rate``, or a state next to one.
        learning_rate: η > 0 where the branch begins.
        until: η >= 0 where it ends; smaller or greater than ``learning_rate``, which sets the
            direction.  0 is the limit η → 0 (only without weight decay and drift).
        step: the longest step in (y, η), relative to the largest of these numbers if that is
            greater than one.
        max_steps: after which the branch ends.
        readout_rate: η_v of the second layer where the branch begins; it changes in proportion to
            ``learning_rate``, and the Dataset has ``readout``.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    Returns:
        A Dataset over ``point``: learning_rate, Q, R, generalization_error, and the eigenvalues of
        the Jacobian over ``direction``, the largest first (eigenvalue, eigenvalue_imaginary; in
        units of η, so that they have a limit for η → 0).  Over ``special``: the folds and branch
        points in the order in which they are met, as special_kind, special_learning_rate with
        special_error, special_Q and special_R.  Where an even number of eigenvalues passes through
        zero at once, as the symmetry of three and more units makes them, no branch point is
        detected; the eigenvalues show it.  ``attrs["ended"]`` is the reason of its end: "reached",
        "meets a solution", "norms beyond 10⁶", "not positive semi-definite", "learning rate 0",
        "steps used up" or "no further point found".

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> scenario = tl.Scenario(one, one)
    >>> solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    >>> along = tl.online.branch(scenario, solution, learning_rate=1.0, until=1.5)
    >>> print(f"{along.eigenvalue.values[-1, 0]:.6f}")  # η/2 - 1, straat2019
    -0.250000
    """
    _check(scenario, start, learning_rate, until)
    finite_number("step", step, above=0.0, hint="step=0.05")
    positive_integer("max_steps", max_steps, "max_steps=1000")
    eta, ratio = float(learning_rate), relative(readout_rate, learning_rate)
    flow = whole = Flow(scenario, method, batch=batch, readout_rate=ratio)
    y, rate, share, E = flow.vector(start), rate_of(eta), 1, np.eye(flow.layout.size)
    if splits_instantly(flow, rate) and are_identical(np.asarray(start.Q), flow.readout(y)):
        single, rate = merged(scenario, rate)
        flow, share, E = flow_of_one(flow, single), scenario.K, embedding(flow.layout)
    z, _ = polished("start", flow, rate, np.linalg.pinv(E) @ y)
    x = nearest_solution(flow, z)
    along = partial(
        follow, until=float(until), step=step, steps=max_steps, ending=_ending(flow, until)
    )
    if x is not None and distance(x, z) < SOLUTION:
        equations = linear_system(flow, x)
        curve = _at_solution(flow, x, along(equations, x, eta))
    else:
        equations = system(flow, share)
        curve = _up_to_solution(flow, along(equations, z, eta))
    return _dataset(whole, curve, E, equations).assign_attrs(ended=curve.ended)


def _check(scenario: Scenario, start: Overlaps, learning_rate: float, until: float) -> None:
    check_fits("start", scenario, start, batches=((),))
    finite_number("learning_rate", learning_rate, above=0.0, hint="learning_rate=1.0")
    finite_number("until", until, at_least=0.0, hint="until=2.0")
    if until == learning_rate:
        raise InputError("until", repr(until), "it has to differ from learning_rate")
    rates = sum(getattr(scenario, number.name) for number in NUMBERS if number.is_rate)
    if until == 0 and rates > 0:
        raise InputError(
            "until",
            "0 with weight decay or drift",
            "as η → 0 at constant decay or drift nothing is learned",
            "until=0.01",
        )


def _ending(flow: Flow, until: float) -> Ending:
    def ending(u: np.ndarray, specials: list[Special]) -> str | None:
        if u[-1] <= 0 < until:
            return "learning rate 0"
        if np.max(np.abs(u)) > TOO_LARGE:
            return "norms beyond 10⁶"
        return None if is_state(flow, u[:-1]) else NOT_A_STATE

    return ending


def _at_solution(flow: Flow, x: np.ndarray, curve: Curve) -> Curve:
    """Return the branch points of a solution, whose overlaps are the same at every learning rate,
    with errors.
    """

    def exact(special: Special) -> Special:
        eta = stability_change(flow, x, special.point[-1])
        return Special(special.kind, np.append(x, eta.value), eta.error) if eta else special

    return curve._replace(specials=[exact(s) for s in curve.specials])


def _up_to_solution(flow: Flow, curve: Curve) -> Curve:
    """If a branch leaves the valid covariances next to a solution, end it at the solution."""
    if curve.ended != NOT_A_STATE:
        return curve
    inside = curve.points[:-1]
    x = nearest_solution(flow, inside[-1, :-1])
    if x is None:
        return curve
    # The square root of the distance is linear in η next to the solution.
    last = inside[-2:] if len(inside) > 1 else curve.points[-2:]
    (a, b), (p, q) = np.sqrt([distance(x, u[:-1]) for u in last]), last[:, -1]
    slope = abs(q - p) / max(abs(a - b), float(np.finfo(float).eps))
    meets = q + b * slope * np.sign(q - p)
    eta = stability_change(flow, x, meets)
    if eta is None or not b < min(a, CLOSE) or abs(eta.value - meets) > abs(meets - q):
        return curve._replace(specials=[_uncertain(x, s, slope) for s in curve.specials])
    end = np.append(x, eta.value)
    # Special points beyond the last state inside the covariances are no fixed points.
    nearest = np.sqrt(distance(x, inside[-1, :-1]))
    others = [s for s in curve.specials if distance(x, s.point[:-1]) >= nearest**2]
    return Curve(
        np.vstack([inside, end]),
        curve.tangents,
        [*others, Special("branch point", end, eta.error)],
        MEETS_SOLUTION,
    )


def _uncertain(x: np.ndarray, special: Special, slope: float) -> Special:
    """Widen the error of a special point next to a solution x by its distance to x in η.

    Eigenvalues at a distance ε from a solution are uncertain by √ε (`solutions`).

    slope: of η over the square root of the distance.
    """
    root, eta = float(np.sqrt(distance(x, special.point[:-1]))), abs(float(special.point[-1]))
    widened = special.error + min(root * slope, eta)
    return special._replace(error=widened) if root < CLOSE else special


def _spectrum(equations: System, u: np.ndarray) -> np.ndarray:
    """Eigenvalues in units of η, the largest real part first."""
    values = np.linalg.eigvals(equations(u[:-1], u[-1])[1][:, :-1])
    return values[np.argsort(-values.real, kind="stable")]


def _dataset(flow: Flow, curve: Curve, E: np.ndarray, equations: System) -> xr.Dataset:
    layout, d = flow.layout, E.shape[1]
    special = np.array([s.point for s in curve.specials]).reshape(-1, d + 1)
    vectors, at_special = (u[:, :-1] @ E.T for u in (curve.points, special))
    values = np.array([_spectrum(equations, u) for u in curve.points])
    return xr.Dataset(
        {
            "learning_rate": ("point", curve.points[:, -1], {"symbol": "η"}),
            **layout.variables(vectors, ("point",)),
            "generalization_error": ("point", _errors(flow, vectors)),
            "eigenvalue": (("point", "direction"), values.real, {"unit": "η"}),
            "eigenvalue_imaginary": (("point", "direction"), values.imag, {"unit": "η"}),
            "special_kind": ("special", np.array([s.kind for s in curve.specials], dtype=str)),
            "special_learning_rate": ("special", special[:, -1], {"symbol": "η"}),
            "special_error": ("special", np.array([s.error for s in curve.specials])),
            **layout.variables(at_special, ("special",), "special_"),
        },
        coords=layout.coordinates,
    )


def _errors(flow: Flow, vectors: np.ndarray) -> np.ndarray:
    """Compute ε_g of states, padded to few different shapes, because each is compiled."""
    n, size = len(vectors), FEWEST_POINTS
    while size < n:
        size *= 2
    full = np.concatenate([vectors, np.repeat(vectors[:1], size - n, 0)])
    T = np.broadcast_to(flow.scenario.T, (size, *flow.scenario.T.shape))
    return np.asarray(errors_of(flow, full, T))[:n]
