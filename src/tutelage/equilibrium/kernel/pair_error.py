"""The generalization error of students of norm one, as a sum over pairs of units."""

from collections.abc import Callable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jnp, match_rank, numbers_to_arrays
from tutelage.activations import Activation
from tutelage.averages import i2
from tutelage.averages.generalization import couplings
from tutelage.averages.methods import Method
from tutelage.equilibrium.kernel.pair import PairKernel, pair_kernel
from tutelage.model import Scenario
from tutelage.model.scenario import check_scenario
from tutelage.runs.stored_jit import stored_jit


class PairError(eqx.Module):
    """ε_g as a function of the overlaps that change when the norms of all units are fixed.

    ε_g = ε_0 - Σ_{i<k} G_ik I2(x_i, x_k) - Σ_in G_in I2(x_i, y_n)

    (oostwal2019 eq. (25) with Q_ii = 1, there with G_ik = -s_K² and G_in = s_K s_M), G of
    `tutelage.averages.generalization.couplings`; ε_0 holds the pairs of a unit with itself and of
    two teachers.  Pairs are stored in one vector: Q_ik for i < k, then R_in row by row.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> error = PairError(tl.Scenario(one, one))
    >>> print(f"{error(jnp.array([0.0])):.12f}")  # R = 0
    0.333333333333
    """

    scenario: Scenario
    G: Float[Array, "K n"]
    students: PairKernel
    teachers: PairKernel
    constant: Float[Array, ""]

    def __init__(self, scenario: Scenario, method: Method | str | None = None):
        check_scenario(scenario)
        # Numbers are arrays, so that another slope uses the same program.
        self.scenario = scenario = numbers_to_arrays(scenario)
        T, g, h = scenario.T, scenario.student.activation, scenario.teacher.activation
        self.students = numbers_to_arrays(pair_kernel((g, g), jnp.ones(1), method))
        self.teachers = numbers_to_arrays(pair_kernel((g, h), jnp.diag(T), method))
        self.G = couplings(scenario)
        itself, v = self.students.value(jnp.ones(1))[0], scenario.readouts[1]
        itself = -jnp.trace(self.G[:, : scenario.K]) * itself
        self.constant = 0.5 * (itself + jnp.sum(v.T @ v * _teachers(h, T, method)))

    @stored_jit
    def __call__(self, pairs: Float[Array, "... p"]) -> Float[Array, "..."]:
        """ε_g."""
        return self.constant + jnp.sum(self._terms(lambda kernel: kernel.value, pairs), axis=-1)

    def first(self, pairs: Float[Array, "... p"]) -> Float[Array, "... p"]:
        """∂ε_g/∂ρ for every pair ρ."""
        return self._terms(lambda kernel: kernel.first, pairs)

    def second(self, pairs: Float[Array, "... p"]) -> Float[Array, "... p"]:
        """∂²ε_g/∂ρ² for every pair ρ; there are no mixed second derivatives."""
        return self._terms(lambda kernel: kernel.second, pairs)

    @stored_jit
    def pairs(
        self, Q: Float[Array, "... K K"], R: Float[Array, "... K M"]
    ) -> Float[Array, "... p"]:
        """The overlaps of all pairs in one vector."""
        i, k = np.triu_indices(self.scenario.K, 1)
        return jnp.concatenate([Q[..., i, k], R.reshape(*R.shape[:-2], -1)], axis=-1)

    def split(
        self, pairs: Float[Array, "... p"]
    ) -> tuple[Float[Array, "... pairs"], Float[Array, "... K M"]]:
        """Split a vector of `pairs` into Q_ik for i < k, and R."""
        K, M = self.scenario.K, self.scenario.M
        q, r = jnp.split(pairs, [K * (K - 1) // 2], axis=-1)
        return q, r.reshape(*r.shape[:-1], K, M)

    def _terms(
        self, of: Callable[[PairKernel], Callable], pairs: Float[Array, "... p"]
    ) -> Float[Array, "... p"]:
        """Return −G φ of every pair of units, with φ the function ``of`` its kernel."""
        (q, r), K = self.split(pairs), self.scenario.K
        teachers = (-match_rank(self.G[:, K:], r) * of(self.teachers)(r)).reshape(*r.shape[:-2], -1)
        if K == 1:
            return teachers
        couplings = match_rank(self.G[np.triu_indices(K, 1)], q)
        students = -couplings * of(self.students)(q[..., None])[..., 0]
        return jnp.concatenate([students, teachers], axis=-1)


def _teachers(h: Activation, T: Float[Array, "M M"], method: Method | str | None) -> Array:
    """I2(y_n, y_m) of all n and m."""
    n, m = np.indices(T.shape).reshape(2, -1)
    C = np.stack([T[n, n], T[n, m], T[m, n], T[m, m]], axis=-1).reshape(-1, 2, 2)
    return i2(h, C, method).reshape(T.shape)
