"""A gate with a finite set of states."""

import equinox as eqx
import numpy as np

from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp, match_rank
from tutelage._names import with_checked_arguments
from tutelage.gates.base import MIRRORED, AbstractGate, number
from tutelage.gates.calculus import Levels, log_sum, probabilities


@with_checked_arguments
class Gate(AbstractGate):
    """Z(β, h) = Σ_s w_s exp(β s h) over a set of states   (``milletari2019`` eqs. (2) and (3)).

    Args:
        states: s, different numbers in any order: ``[0, 1]`` is closed or open.
        weights: w_s > 0, how often a state is there without a field; by default all are 1, and
            the entropy is that of the states.  Only their ratios matter for activations.

    Raises:
        InputError: no state, equal states, a weight that is not positive, numbers that are not
            finite, another number of weights than of states.

    >>> import tutelage as tl
    >>> gate = tl.gates.Gate([0, 1])
    >>> print(f"{gate.log_partition(2.0, 1e4):.1f} {gate.transmitted(2.0, 1.0):.6f}")
    20000.0 0.880797
    """

    states: tuple[float, ...] = eqx.field(static=True)
    weights: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, states: ArrayLike, weights: ArrayLike | None = None):
        s = _vector("states", states, "[0, 1]")
        w = np.ones_like(s) if weights is None else _vector("weights", weights, "[1, 1]")
        if len(w) != len(s):
            allowed = f"there has to be one for each of the {len(s)} states"
            raise InputError("weights", f"{len(w)} weights", allowed, "weights=None for equal ones")
        if np.any(w <= 0):
            raise InputError(
                "weights", f"{w.min():g}", "weights are positive", "leave out a state of weight 0"
            )
        order = np.argsort(s)
        if np.any(np.diff(s[order]) == 0):
            received = f"{number(s[order][:-1][np.diff(s[order]) == 0][0])} twice"
            raise InputError(
                "states", received, "states have to differ", ("one state with weight 2")
            )
        self.states, self.weights = tuple(s[order].tolist()), tuple(w[order].tolist())

    @property
    def name(self) -> str:
        states = f"[{', '.join(number(s) for s in self.states)}]"
        if set(self.weights) == {1.0}:
            return f"Gate({states})"
        return f"Gate({states}, weights=[{', '.join(number(w) for w in self.weights)}])"

    @property
    def ends(self) -> tuple[float, float]:
        return self.states[0], self.states[-1]

    @property
    def is_symmetric(self) -> bool:
        s, w = np.asarray(self.states), np.asarray(self.weights)
        off = np.abs(s + s[::-1] - 2 * self.centre)
        same = np.abs(w - w[::-1]) <= MIRRORED * w
        return bool(np.all(off <= MIRRORED * np.max(np.abs(s))) and np.all(same))

    @property
    def _levels(self) -> Levels:
        return self.states, self.weights

    def _log_partition(self, t):
        return log_sum(self._levels, t)

    def _entropy(self, t):
        """−Σ p log(p/w)."""
        p = probabilities(self._levels, t)
        return jnp.sum(jax.scipy.special.entr(p) + p * match_rank(np.log(self.weights), p), axis=-1)

    def _draw(self, t, generator):
        states = np.asarray(self.states)
        winner = np.where(t >= 0, states[-1], states[0])
        p = np.asarray(self.weights) * np.exp((states - winner[..., None]) * t[..., None])
        below = np.cumsum(p, axis=-1)
        u = generator.random(t.shape) * below[..., -1]
        return states[np.sum(u[..., None] >= below[..., :-1], axis=-1)]


def _vector(argument: str, value: ArrayLike, hint: str) -> np.ndarray:
    array = finite_array(argument, value)
    if array.ndim != 1 or not len(array):
        allowed = "it has to be a sequence of at least one number"
        raise InputError(argument, f"an array of shape {array.shape}", allowed, hint)
    return array
