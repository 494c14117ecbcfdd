"""Minima of the error as the scenario changes: where and how they turn into saddles.

The scenario at p in [0, 1] has T = (1 - p) T_0 + p T_1 and units whose coefficients are mixed in
the same proportion: m x + d|x| covers ReLU, leaky and linear units.  A stationary point
F(W, p) = 0 is followed by its arclength, through folds (`tutelage.solve.continuation`).
"""

from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._jax import jnp
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.online.stationary.landscape import check_landscape
from tutelage.online.stationary.landscape_gradient import (
    Landscape,
    errors,
    forces,
    teacher_weights,
)
from tutelage.online.stationary.landscape_hessian import Spectrum, hessian, polished, spectrum
from tutelage.runs.provenance import recorded
from tutelage.solve.continuation import Curve, CurvePoint, Special, along_parameter, follow

# Step of the central difference in p: its error of 1e-10 only tilts the predicted tangent.
DIFFERENCE = 1e-5
# Largest part of the norm of students that may be orthogonal to the teachers.
OUTSIDE = 1e-6
BECOMES_SADDLE = "becomes a saddle"
# Curvatures this close to the one that vanishes belong to equivalent directions.
SAME_CURVATURE = 1e-6


@recorded
def minimum_path(
    scenario: Scenario,
    start: Overlaps,
    *,
    to: Scenario,
    step: float = 0.05,
    max_steps: int = 400,
) -> xr.Dataset:
    """Follow a minimum of ε_g from one scenario to another, until it turns into a saddle.

    Args:
        scenario: the scenario at p = 0.
        start: a minimum of `landscape`, or a state next to one; students in the teachers' span.
        to: the scenario at p = 1, with as many units: other teacher overlaps, other slopes of
            leaky units (a ReLU has the slope 0).
        step: the longest step in weights and p.
        max_steps: largest number of steps.

    Returns:
        A Dataset over ``point``: parameter p, generalization_error, smallest_curvature, index
        (number of negative curvatures), R and Q; over ``special``: special_kind ("becomes a
        saddle", where the sign of the smallest curvature changes, or "fold", where the path turns
        round in p), special_parameter, special_error, and special_direction, the change of R along
        the direction in which the minimum opens (one of them, if symmetry
        makes several), and special_multiplicity, the number of those directions.
        ``attrs["ended"]`` is the reason why the path ended.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(two, two)
    >>> leaky = tl.Committee(2, tl.LeakyReLU(0.5))
    >>> solution = tl.Overlaps(Q=scenario.T, R=scenario.T, T=scenario.T)
    >>> path = tl.online.minimum_path(scenario, solution, to=tl.Scenario(leaky, leaky))
    >>> print(path.attrs["ended"], f"{path.smallest_curvature.values[-1]:.4f}")
    reached 0.0227
    """
    check_fits("start", scenario, start, batches=((),))
    check_landscape(scenario)
    check_landscape(to, "to")
    finite_number("step", step, above=0.0, hint="step=0.05")
    positive_integer("max_steps", max_steps, "max_steps=400")
    family = _Family(scenario, to)
    B = family.at(0.0).teachers
    W = weights_in_span(start, B)
    root = polished(family.at(0.0), W)
    if not root.converged or np.max(np.abs(root.x - W)) > 0.1 * np.max(np.abs(W)):
        allowed = "there is no stationary point of ε_g next to it"
        raise InputError("start", "this state", allowed, "a level of tl.online.landscape")
    shape = W.shape

    def lost(place: CurvePoint) -> float:
        eigenvalues = family.spectrum(place.u, shape)
        return min(eigenvalues.hessian[0], eigenvalues.transverse[0])

    def ending(u: np.ndarray, specials: list[Special]) -> str | None:
        if any(s.kind == BECOMES_SADDLE for s in specials):
            return BECOMES_SADDLE
        return "p = 0 again" if u[-1] < 0 else None

    tests = {BECOMES_SADDLE: lost, "fold": along_parameter}
    curve = follow(
        family.system(shape), root.x.ravel(), 0.0, until=1.0, step=step, steps=max_steps,
        tests=tests, ending=ending,
    )  # fmt: skip
    return _dataset(family, curve, shape).assign_attrs(ended=curve.ended)


class _Family:
    """Landscapes of the scenarios along a straight line between two scenarios."""

    def __init__(self, scenario: Scenario, to: Scenario):
        self.first, self.last = Landscape(scenario), Landscape(to)
        if (scenario.K, scenario.M) != (to.K, to.M):
            sizes = f"{to.K} students and {to.M} teachers"
            raise InputError(
                "to",
                sizes,
                f"scenario has K = {scenario.K}, M = {scenario.M}",
            )
        if self.first.kind != self.last.kind or self.first.kind == "other":
            units = f"{scenario.student.activation.name} and {to.student.activation.name}"
            allowed = "units have to be of one kind: ReLU and leaky, erf, or GELU"
            raise InputError("to", units, allowed, "tl.LeakyReLU(0.2) for ReLU")
        self.T = tuple(np.asarray(s.T) for s in (scenario, to))
        if self.first.teachers.shape != self.last.teachers.shape:
            raise InputError("to", "T of another rank", "teachers must not become dependent")

    def at(self, p: float) -> Landscape:
        """Return the landscape at p, interpolated between the arrays of both ends."""
        T = (1 - p) * self.T[0] + p * self.T[1]
        mixed = [
            (1 - p) * getattr(self.first, name) + p * getattr(self.last, name)
            for name in ("output_weights", "plain", "curved")
        ]
        new = [teacher_weights(T), *mixed]
        return eqx.tree_at(
            lambda x: [x.teachers, x.output_weights, x.plain, x.curved], self.first, new
        )

    def system(self, shape: tuple[int, ...]) -> Any:
        """Return F, and its derivatives with respect to weights and p."""

        def force(y: np.ndarray, p: float) -> np.ndarray:
            return np.asarray(forces(self.at(p), jnp.asarray(y.reshape(1, *shape)))).ravel()

        def equations(y: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
            J = -hessian(self.at(p), y.reshape(shape))
            slope = (force(y, p + DIFFERENCE) - force(y, p - DIFFERENCE)) / (2 * DIFFERENCE)
            return force(y, p), np.column_stack([J, slope])

        return equations

    def spectrum(self, u: np.ndarray, shape: tuple[int, ...]) -> Spectrum:
        """Return the curvatures at a point (W, p)."""
        return spectrum(self.at(u[-1]), u[:-1].reshape(shape))


def weights_in_span(start: Overlaps, B: Float[np.ndarray, "M r"]) -> Float[np.ndarray, "K r"]:
    """Return W with R = W Bᵀ; refuse students with parts orthogonal to the teachers."""
    R, Q = np.asarray(start.R), np.asarray(start.Q)
    W = R @ np.linalg.pinv(B).T
    rest = np.max(np.abs(Q - W @ W.T))
    if rest > OUTSIDE * np.max(np.abs(Q)):
        raise InputError(
            "start",
            f"students with a part of size {rest:.3g} orthogonal to the teachers",
            "minima lie in the span of the teachers",
            "a level of tl.online.landscape",
        )
    return W


def _dataset(family: _Family, curve: Curve, shape: tuple[int, ...]) -> xr.Dataset:
    values: dict[str, list[Any]] = {
        name: [] for name in ("generalization_error", "smallest_curvature", "index", "R", "Q")
    }
    for u in curve.points:
        landscape, W = family.at(u[-1]), u[:-1].reshape(shape)
        eigenvalues = spectrum(landscape, W)
        values["generalization_error"].append(float(errors(landscape, jnp.asarray(W[None]))[0]))
        values["smallest_curvature"].append(min(eigenvalues.hessian[0], eigenvalues.transverse[0]))
        values["index"].append(eigenvalues.negative)
        values["R"].append(W @ landscape.teachers.T)
        values["Q"].append(W @ W.T)
    pairs = {"R": ("student", "teacher"), "Q": ("student", "student_2")}
    specials = curve.specials
    at_specials = [family.spectrum(s.point, shape) for s in specials]
    directions = [
        eigenvalues.direction @ family.at(s.point[-1]).teachers.T
        for eigenvalues, s in zip(at_specials, specials, strict=True)
    ]
    equivalent = [np.sum(x.hessian < x.hessian[0] + SAME_CURVATURE) for x in at_specials]
    K, M = shape[0], len(family.T[0])
    return xr.Dataset(
        {
            "parameter": ("point", curve.points[:, -1]),
            **{n: (("point", *pairs.get(n, ())), np.array(x)) for n, x in values.items()},
            "special_kind": ("special", np.array([s.kind for s in specials], dtype=str)),
            "special_parameter": ("special", np.array([s.point[-1] for s in specials])),
            "special_error": ("special", np.array([s.error for s in specials])),
            "special_direction": (
                ("special", "student", "teacher"),
                np.array(directions).reshape(-1, K, M),
            ),
            "special_multiplicity": ("special", np.array(equivalent, dtype=int)),
        },
        coords={name: np.arange(1, n + 1) for name, n in (("student", K), ("teacher", M))},
    )
