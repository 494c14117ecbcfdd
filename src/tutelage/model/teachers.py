"""Teachers over time: those that drift independently of each other become orthogonal.

Each of them walks at random at fixed norm and loses its direction at the rate δ, so that

    T_nn = const,   dT_nm/dα = -2δ T_nm  (n ≠ m),   T_nm(α) = T_nm(0) e^(-2δα).
"""

import numpy as np
from jaxtyping import Float

from tutelage._checks import ROUNDING, InputError, is_traced
from tutelage._jax import jnp, match_rank
from tutelage._module import PlainModule
from tutelage._types import AnyArray, FloatOrArray


class Teachers(PlainModule):
    """T as a function of time.

    T: at time 0, shape (..., M, M).
    drift: δ, () or one for each entry of the leading axis; None if T is constant.
    """

    T: Float[AnyArray, "... M M"]
    drift: FloatOrArray | None

    def __init__(self, T: Float[AnyArray, "... M M"], drift: FloatOrArray):
        self._set_fields(T=T, drift=drift if decorrelates(drift, T) else None)

    def at(self, time: FloatOrArray) -> Float[AnyArray, "... M M"]:
        """Return T(α) at one time, or at one time for each entry of the leading axis."""
        if self.drift is None:
            return self.T
        return scale_off_diagonal(self.T, jnp.exp(-2 * self.drift * time))

    def over(self, times: Float[np.ndarray, " times"]) -> Float[np.ndarray, "... times M M"]:
        """Return T(α) at all times, computed in NumPy, which needs no compilation."""
        T = np.asarray(self.T)[..., None, :, :]
        if self.drift is None:
            return np.broadcast_to(T, (*T.shape[:-3], len(times), *T.shape[-2:]))
        T_t: np.ndarray = scale_off_diagonal(
            T, np.exp(-2 * np.asarray(self.drift)[..., None] * times)
        )
        return T_t

    def max_rate(self, time: FloatOrArray) -> FloatOrArray:
        """Return the largest |dT_nm/dα|."""
        if self.drift is None:
            return 0.0
        overlaps = scale_off_diagonal(self.T, 0.0) - self.at(time)
        return 2 * self.drift * jnp.max(jnp.abs(overlaps), axis=(-2, -1))


def scale_off_diagonal(
    T: Float[AnyArray, "... M M"], share: FloatOrArray
) -> Float[AnyArray, "... M M"]:
    """Multiply T_nm for n ≠ m by ``share``.

    >>> scale_off_diagonal(np.array([[1.0, 0.5], [0.5, 2.0]]), 0.1).tolist()
    [[1.0, 0.05], [0.05, 2.0]]
    """
    if not isinstance(share, float):
        share = share[..., None, None] if np.ndim(share) else share
    T = match_rank(T, share)
    own = match_rank(np.eye(T.shape[-1]), T)
    return T * (own + share * (1 - own))


def decorrelates(drift: FloatOrArray, T: Float[AnyArray, "... M M"]) -> bool:
    """Return whether T changes with time: teachers drift and are not orthogonal."""
    if is_traced((drift, T)) or not np.any(np.asarray(drift) > 0):
        return False
    return bool(_largest_off_diagonal(T) > ROUNDING * np.max(np.abs(T)))


def check_orthogonal(drift: FloatOrArray, T: Float[AnyArray, "... M M"]) -> None:
    """Check that T is constant: teachers that drift have to have T_nm = 0 for n ≠ m."""
    if decorrelates(drift, T):
        raise InputError(
            "drift",
            f"teachers with overlaps of up to {_largest_off_diagonal(T):.3g} between them",
            (
                "drift makes these overlaps decay as exp(-2 drift time); until then no state is "
                "stationary"
            ),
            "teacher_overlaps=np.diag([1.0, 2.0]), drift=0, or tl.online.evolve",
        )


def _largest_off_diagonal(T: Float[AnyArray, "... M M"]) -> float:
    """max |T_nm| over n ≠ m."""
    return float(np.max(np.abs(np.asarray(T) * (1 - np.eye(T.shape[-1])))))
