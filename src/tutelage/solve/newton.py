"""Newton's method with shortened steps, for one system or for many at once.

x ← x - λ J⁻¹ f with the largest λ = 1, 1/2, 1/4 … for which |f| falls (Deuflhard, Newton Methods
for Nonlinear Problems, chapter 3).  Where J is singular its pseudo-inverse gives the shortest
step to the least squares.  A start from which this fails raises no error: ``converged`` is False.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

# Halvings of a step after which it is given up.
HALVINGS = 12
SHRINKING = 0.5 ** np.arange(HALVINGS)
# Singular values of J below this, relative to the largest one, are rounding.
RANK = 1e-13
# Next to a family of roots, where |f| is below NEARLY_ZERO, J is nearly singular, and errors of f
# lead far along the family: if |f| does not fall by half, singular values below NEARLY_SINGULAR are
# ignored.
NEARLY_ZERO, NEARLY_SINGULAR = 1e-6, 1e-6
# A step below this, relative to 1 + |x|, changes only the last digit.
ROUNDING = 4 * float(np.finfo(np.float64).eps)


class Root(NamedTuple):
    """End points of Newton's method, with their residuals.

    x: shape (..., d).
    residual: the largest |f_i| there, infinite where f is no number.
    converged: True where the residual is within the tolerance.
    steps: how many were taken.
    """

    x: Float[np.ndarray, "... d"]
    residual: Float[np.ndarray, "..."]
    converged: Bool[np.ndarray, "..."]
    steps: Int[np.ndarray, "..."]


class _Place(NamedTuple):
    x: np.ndarray
    f: np.ndarray
    J: np.ndarray
    size: np.ndarray


def newton(
    function: Function,
    x: Float[np.ndarray, "... d"],
    *,
    steps: int,
    tolerance: float,
    rounding: float = 0.0,
    allowed: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Root:
    """Find a root of f next to each x.

    Once the residual is within the tolerance whole steps go on as long as each one halves it:
    quadratic convergence gives the digits down to rounding for one or two evaluations.

    Args:
        function: x of shape (..., d) -> f of shape (..., d) and J_ij = ∂f_i/∂x_j, (..., d, d).
        x: where to begin.
        steps: the largest number of steps.
        tolerance: on the largest |f_i|.
        rounding: where the largest |f_i| is within this, no step is taken.
        allowed: x -> where steps may go, shape (...); everywhere by default.

    >>> import numpy as np
    >>> square = lambda x: (x**2 - 2.0, 2.0 * x[..., None])
    >>> root = newton(square, np.array([[1.0], [0.0]]), steps=9, tolerance=1e-12)
    >>> root.converged, f"{root.x[0, 0]:.12f}"  # at 0 the derivative leads nowhere
    (array([ True, False]), '1.414213562373')
    """
    place = _at(function, np.asarray(x, dtype=float))
    active = np.isfinite(place.size) & (place.size > rounding)
    taken = np.zeros(place.size.shape, dtype=int)
    for _ in range(steps):
        if not np.any(active):
            break
        place, active = _stepped(function, place, active, tolerance, allowed)
        taken = taken + active
        active = active & (place.size > rounding)
    return Root(place.x, place.size, place.size <= tolerance, taken)


def _at(function: Function, x: np.ndarray) -> _Place:
    f, J = function(x)
    size = np.abs(f).max(axis=-1)
    return _Place(x, f, J, np.where(np.isfinite(size), size, np.inf))


def _stepped(
    function: Function,
    place: _Place,
    going: np.ndarray,
    tolerance: float,
    allowed: Callable[[np.ndarray], np.ndarray] | None,
) -> tuple[_Place, np.ndarray]:
    """Take one step for all active systems; also return a mask of those that improved."""
    before = place.size
    place, improved = _tried(function, place, _step(place, RANK), going, tolerance, allowed)
    rough = (place.size > tolerance) & (place.size < NEARLY_ZERO)
    stuck = going & rough & (place.size > 0.5 * before)
    if stuck.any():
        across = _step(place, NEARLY_SINGULAR)
        place, more = _tried(function, place, across, stuck, tolerance, allowed)
        improved = improved | more
    return place, improved


def _tried(
    function: Function,
    place: _Place,
    step: np.ndarray,
    going: np.ndarray,
    tolerance: float,
    allowed: Callable[[np.ndarray], np.ndarray] | None,
) -> tuple[_Place, np.ndarray]:
    """Take the largest fraction of each step that reduces |f|; also return a mask of the moved
    systems.
    """
    before = place.size
    rough = before > tolerance
    bound = np.where(rough, before, before / 2)
    moves = (np.abs(step) > ROUNDING * (1 + np.abs(place.x))).any(axis=-1)
    todo, improved = going & (rough | moves), np.zeros_like(going)
    if not todo.any():
        return place, improved
    for shrink in SHRINKING:
        x = place.x + shrink * step
        inside = todo if allowed is None else todo & allowed(x)
        new = _at(function, x if inside.all() else np.where(inside[..., None], x, place.x))
        better = inside & (new.size < bound)
        if better.all():
            return new, better
        place = _chosen(better, new, place)
        improved, todo = improved | better, todo & rough & ~better
        if not todo.any():
            break
    return place, improved


def _step(place: _Place, rank: float) -> np.ndarray:
    """Return -J⁻¹ f, or zero where J is not finite."""
    J, f = place.J, place.f
    finite = np.isfinite(J).all(axis=(-2, -1)) & np.isfinite(place.size)
    if not finite.all():
        J, f = np.where(finite[..., None, None], J, 0.0), np.where(finite[..., None], f, 0.0)
    step: np.ndarray = -(_inverse(J, rank) @ f[..., None])[..., 0]
    return step


def _inverse(J: np.ndarray, rank: float) -> np.ndarray:
    """Return the pseudo-inverse; where no J is singular, the inverse, which is ten times faster."""
    try:
        inverse = np.linalg.inv(J)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(J, rcond=rank)
    condition = np.abs(J).max(axis=(-2, -1)) * np.abs(inverse).max(axis=(-2, -1))
    return inverse if (condition < 1 / rank).all() else np.linalg.pinv(J, rcond=rank)


def _chosen(which: np.ndarray, new: _Place, old: _Place) -> _Place:
    def choose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(which.reshape(which.shape + (1,) * (np.ndim(a) - which.ndim)), a, b)

    return _Place(*(choose(a, b) for a, b in zip(new, old, strict=True)))
