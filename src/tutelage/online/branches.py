"""Branches: fixed points as the learning rate changes, with folds and branch points."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._jax import jnp
from tutelage.averages.generalization import generalization_error
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import to_overlaps, to_vector
from tutelage.model.scenario import check_fits
from tutelage.online.flow import Flow
from tutelage.online.identical import are_identical, embedding, one_for_all, part_at_once
from tutelage.online.stationary import (
    FixedPoint,
    first_order,
    is_state,
    polished,
    second_order,
    weight_decay,
)
from tutelage.runs.provenance import parameters
from tutelage.solve.continuation import CORRECTED, Curve, System, follow

# Norms beyond this grow without end: the branch goes to infinity.
TOO_LARGE = 1e6


def branch(
    scenario: Scenario,
    point: FixedPoint | Overlaps,
    learning_rate: float,
    until: float,
    step: float = 0.05,
    max_steps: int = 1000,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Follow a fixed point as the learning rate changes, through folds.

    The fixed points at η solve the equations divided by η, which are regular as η → 0,

        ⟨δ_i y_n⟩ - (γ/η) R_in = 0
        ⟨δ_i x_k + δ_k x_i⟩ + η ⟨δ_i δ_k⟩ - (2γ/η) Q_ik = 0,

    with label noise in ⟨δ_i δ_k⟩.  They form curves in (R, Q, η) that are followed by their
    arclength (`tutelage.solve.continuation`).  Identical students whose activation has a kink
    are followed as identical students, because the rates have no derivative beside them.

    Args:
        scenario: who learns from whom.
        point: a fixed point at ``learning_rate``, or overlaps next to one.
        learning_rate: η > 0 where the branch begins.
        until: η >= 0 where it ends; smaller or greater than ``learning_rate``, which sets the
            direction.  0 is the limit η → 0 (only without weight decay).
        step: the longest step in (y, η), relative to the largest of these numbers if that is
            greater than one.
        max_steps: after which the branch ends.
        method: how averages are computed; the best exact one by default.

    Returns:
        A Dataset over ``point``: learning_rate, Q, R, generalization_error, and the eigenvalues
        of the Jacobian over ``direction``, the largest first (eigenvalue, eigenvalue_imaginary;
        in units of η, so that they have a limit for η → 0).  Over ``special``: the folds and
        branch points in the order in which they are met, as special_kind, special_learning_rate
        with special_error, special_Q and special_R.  ``attrs["ended"]`` says why it ended:
        "reached", "norms beyond 10⁶", "not positive semi-definite", "learning rate 0",
        "steps used up" or "no further point found".

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> scenario = tl.Scenario(one, one)
    >>> solution = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    >>> along = tl.online.branch(scenario, solution, learning_rate=1.0, until=1.5)
    >>> print(f"{along.eigenvalue.values[-1, 0]:.6f}")  # η/2 - 1, straat2019
    -0.250000
    """
    start, eta = _checked(scenario, point, learning_rate, until)
    finite_number("step", step, above=0.0, hint="step=0.05")
    positive_integer("max_steps", max_steps, "max_steps=1000")
    flow, share = Flow(scenario, method), 1
    y = np.asarray(to_vector(start))
    E = np.eye(len(y))
    if are_identical(np.asarray(start.Q)) and part_at_once(flow, eta):
        flow, share = Flow(one_for_all(scenario, eta)[0], method), scenario.K
        E = embedding(scenario.K, scenario.M)
    z = np.linalg.lstsq(E, y, rcond=None)[0]
    z, _ = polished("point", flow, eta / share, z)
    system, ending = _system(flow, share), _ending(flow.scenario, until)
    curve = follow(system, z, eta, float(until), step, max_steps, ending)
    result = _dataset(scenario, method, curve, E, system)
    options: dict[str, Any] = {"until": float(until), "step": float(step), "max_steps": max_steps}
    options |= {"tolerance": CORRECTED, "method": method and str(method)}
    known = parameters("online.branch", scenario, start, eta, **options)
    return result.assign_attrs(ended=curve.ended, **known)


def _checked(scenario: Any, point: Any, learning_rate: Any, until: Any) -> tuple[Overlaps, float]:
    state = point.overlaps if isinstance(point, FixedPoint) else point
    check_fits("point", scenario, state, batches=((),))
    finite_number("learning_rate", learning_rate, above=0.0, hint="learning_rate=1.0")
    finite_number("until", until, at_least=0.0, hint="until=2.0")
    if until == learning_rate:
        raise InputError("until", repr(until), "it has to differ from learning_rate")
    if until == 0 and scenario.weight_decay > 0:
        raise InputError(
            "until",
            "0 with weight decay",
            "as η → 0 at constant decay all overlaps vanish",
            "until=0.01",
        )
    return state, float(learning_rate)


def _system(flow: Flow, share: int) -> System:
    """(y, η) -> rates/η and their derivatives.

    One student in place of ``share`` identical ones learns at η/share; time stays in units of 1/η.
    """

    def system(y: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
        (f, F), (g, G) = first_order(flow, y), second_order(flow, y)
        f, F, g, G = f / share, F / share, g / share**2, G / share**2
        rates, slope, jacobian = f + eta * g, g, F + eta * G
        if flow.scenario.weight_decay > 0:
            decay = weight_decay(flow, len(y)) / eta
            rates, slope = rates - decay * y, slope + decay * y / eta
            jacobian = jacobian - np.diag(decay)
        return rates, np.column_stack([jacobian, slope])

    return system


def _ending(scenario: Scenario, until: float) -> Callable[[np.ndarray], str | None]:
    def ending(u: np.ndarray) -> str | None:
        if u[-1] <= 0 < until:
            return "learning rate 0"
        if np.max(np.abs(u)) > TOO_LARGE:
            return "norms beyond 10⁶"
        return None if is_state(scenario, u[:-1]) else "not positive semi-definite"

    return ending


def _spectrum(system: System, u: np.ndarray) -> np.ndarray:
    """Eigenvalues in units of η, the largest real part first."""
    values = np.linalg.eigvals(system(u[:-1], u[-1])[1][:, :-1])
    return values[np.argsort(-values.real, kind="stable")]


def _dataset(
    scenario: Scenario,
    method: Method | str | None,
    curve: Curve,
    E: np.ndarray,
    system: System,
) -> xr.Dataset:
    d = E.shape[1]
    special = np.array([s.point for s in curve.specials]).reshape(-1, d + 1)
    states, specials = (_states(scenario, u[:, :-1] @ E.T) for u in (curve.points, special))
    values = np.array([_spectrum(system, u) for u in curve.points])
    Q_, R_ = ("student", "student_2"), ("student", "teacher")
    return xr.Dataset(
        {
            "learning_rate": ("point", curve.points[:, -1], {"symbol": "η"}),
            "Q": (("point", *Q_), np.asarray(states.Q)),
            "R": (("point", *R_), np.asarray(states.R)),
            "generalization_error": ("point", _errors(scenario, states, method)),
            "eigenvalue": (("point", "direction"), values.real, {"unit": "η"}),
            "eigenvalue_imaginary": (("point", "direction"), values.imag, {"unit": "η"}),
            "special_kind": ("special", np.array([s.kind for s in curve.specials], dtype=str)),
            "special_learning_rate": ("special", special[:, -1], {"symbol": "η"}),
            "special_error": ("special", np.array([s.error for s in curve.specials])),
            "special_Q": (("special", *Q_), np.asarray(specials.Q)),
            "special_R": (("special", *R_), np.asarray(specials.R)),
        },
        coords={
            "student": np.arange(1, scenario.K + 1),
            "student_2": np.arange(1, scenario.K + 1),
            "teacher": np.arange(1, scenario.M + 1),
        },
    )


def _states(scenario: Scenario, vectors: np.ndarray) -> Overlaps:
    T = jnp.broadcast_to(scenario.T, (len(vectors), *scenario.T.shape))
    return to_overlaps(jnp.asarray(vectors), T, scenario.K)


def _errors(scenario: Scenario, states: Overlaps, method: Method | str | None) -> np.ndarray:
    return np.asarray(generalization_error(scenario, states, method))
