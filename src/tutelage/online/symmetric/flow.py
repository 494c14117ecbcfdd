"""Equations of permutation-symmetric committees: four numbers instead of K², for any K.

Every sum over units in the equations is a sum over patterns: which of the units coincide. Up to
permutations ⟨δ_1 δ_2⟩ takes its other two fields from the units 1, 2, 3 and 4, so that at most four
students and four teachers represent all; a pattern with p units besides the m that are given occurs
(K - m)(K - m - 1)… (p factors) times.  K enters nowhere else: one program serves K = 4 and K = 10⁶.
A pattern for which there are not enough units does not occur.
"""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, is_traced, positive_integer
from tutelage._jax import jax, jnp, match_rank
from tutelage._types import FloatOrArray, Scalar
from tutelage.averages.api import average
from tutelage.averages.methods import Method, chosen
from tutelage.model import Scenario
from tutelage.model.layout import unchecked
from tutelage.model.numbers import numbers_of
from tutelage.model.scenario import Numbers
from tutelage.model.timing import Rate, rate_of
from tutelage.online.symmetric.patterns import PatternAverages, pattern_averages
from tutelage.online.symmetric.scenario import (
    SymmetricScenario,
    SymmetricState,
    check_positive,
    matrix,
    symmetric_layout,
    symmetric_scenario,
)


class SymmetricFlow(eqx.Module):
    """The right-hand side of the equations in Q, C, R and S, at a cost independent of K.

    Averages of order one with multiplicities of order K cancel, so that for outputs scaled by
    1/√K rates have absolute errors of about 10⁻¹⁶ (10⁻¹⁶/K for C and S of order 1/K) where
    specialization goes on at rates of order 1/K: 10⁻¹⁶ K is the relative error to expect.

    scenario: `SymmetricScenario`, or a `Scenario` with K = M and T_nn = t, T_nm = u.
    method: how averages are computed; the best exact one by default.
    batch: b, examples for each step.
    """

    averages: PatternAverages
    K: Float[Array, ""]
    numbers: Numbers
    scales: Float[Array, " 2"]
    teacher_overlaps: Float[Array, " 2"]
    batch: Float[Array, ""]
    method: Method | None

    @validated
    def __init__(
        self,
        scenario: Scenario | SymmetricScenario,
        method: Method | str | None = None,
        *,
        batch: int = 1,
    ):
        symmetric = symmetric_scenario(scenario)
        units = (symmetric.student.activation, symmetric.teacher.activation)
        self.averages = pattern_averages(units, chosen(method, units), symmetric.units)
        self.method = None if method is None else self.averages.single.method
        # These numbers are arrays, so that one compiled program serves all K.
        positive_integer("batch", batch, "batch=1")
        self.K, self.batch, self.numbers = jax.tree.map(
            lambda x: jnp.asarray(x, dtype=jnp.float64),
            (symmetric.units, batch, Numbers(**numbers_of(symmetric))),
        )
        self.scales, self.teacher_overlaps = (
            jnp.stack([jnp.asarray(x, dtype=jnp.float64) for x in pair])
            for pair in (symmetric.scales, symmetric.teacher_overlaps)
        )

    @property
    def decays(self) -> dict[str, Any]:
        """The rates at which Q, C, R, S and v decay, by name."""
        return {block.name: block.decay(self.numbers) for block in symmetric_layout(True).blocks}

    @property
    def readout(self) -> Float[Array, ""]:
        """v, equal for all students."""
        return self.scales[0] / self.numbers.output_scale[0]

    def with_readout(self, v: Scalar) -> "SymmetricFlow":
        """Return this flow with another readout v."""
        scales = jnp.stack([self.numbers.output_scale[0] * v, self.scales[1]])
        return eqx.tree_at(lambda flow: flow.scales, self, scales)

    def readout_gradient(self, state: SymmetricState) -> Float[Array, ""]:
        """Compute ⟨(τ - σ) g(x_1)⟩ times the output scale, the gradient of v."""
        C, k, units = self._covariance(state), self.averages.k, self.averages.single.units
        s_K, s_M = self.scales
        total = jnp.zeros(())
        for unit in range(min(k, 2)):
            count = self.K - 1 if unit else 1.0
            for side, factor in ((0, -s_K), (1, s_M)):
                f, pair = np.array([0, side * k + unit]), (units[0], units[side])
                product = average("i2", pair, C[..., f[:, None], f], chosen(self.method, pair))
                total = total + count * factor * product.value
        return self.numbers.output_scale[0] * total

    def __call__(self, state: SymmetricState, learning_rate: FloatOrArray | Rate) -> SymmetricState:
        """dQ/dα, dC/dα, dR/dα, dS/dα; the number 0 as a learning rate is the limit η → 0."""
        state, rate = self.checked(state), rate_of(learning_rate)
        C = self._covariance(state)
        dQ, dC, dR, dS = (rate.first * x for x in self._first_order(C))
        dQ, dC = 2 * dQ, 2 * dC
        if rate.second is not None:
            QQ, CC = self._second_order(C)
            second = rate.second / self.batch
            dQ, dC = dQ + second * QQ, dC + second * CC
        change = {"Q": dQ, "C": dC, "R": dR, "S": dS}
        decay = self.decays
        return SymmetricState(
            **{name: dx - decay[name] * getattr(state, name) for name, dx in change.items()}
        )

    def generalization_error(self, state: SymmetricState) -> Float[Array, "..."]:
        """ε_g = ½ ⟨(σ - τ)²⟩, without the label noise."""
        return self.error_and_rounding(self.checked(state))[0]

    def error_and_rounding(self, state: SymmetricState) -> tuple[Array, Array]:
        """Compute ε_g and its rounding error, 2⁻⁵² times the terms that cancel in it.

        ε_g = ½ K [s_K² I2(x_1, x_1) - 2 s_K s_M I2(x_1, y_1) + s_M² I2(y_1, y_1)]
            + ½ K (K - 1) [s_K² I2(x_1, x_2) - 2 s_K s_M I2(x_1, y_2) + s_M² I2(y_1, y_2)]
        """
        C, k, units = self._covariance(state), self.averages.k, self.averages.single.units
        s_K, s_M = self.scales
        factors = jnp.stack([s_K**2, -2 * s_K * s_M, s_M**2])
        error = rounding = jnp.zeros(())
        for unit in range(min(k, 2)):
            terms = []
            for first, second in ((0, 0), (0, 1), (1, 1)):
                f = np.array([first * k, second * k + unit])
                pair = (units[first], units[second])
                method = chosen(self.method, pair)
                terms.append(average("i2", pair, C[..., f[:, None], f], method).value)
            count = 0.5 * self.K * (self.K - 1 if unit else 1.0)
            stacked = jnp.stack(terms, axis=-1)
            products = match_rank(factors, stacked) * stacked
            error = error + count * jnp.sum(products, axis=-1)
            rounding = rounding + count * jnp.sum(jnp.abs(products), axis=-1)
        return error, jnp.finfo(jnp.float64).eps * rounding

    def checked(self, state: object) -> SymmetricState:
        """Return the state as arrays of one shape; refuse overlaps that no weights can have."""
        if not isinstance(state, SymmetricState):
            raise InputError("state", repr(state), "it has to be a SymmetricState")
        if self.averages.k == 1:  # a single unit has no C and S
            state = state._replace(C=jnp.zeros(()), S=jnp.zeros(()))
        if not is_traced((state, self.K)):
            arrays = [finite_array(name, x) for name, x in zip(state._fields, state, strict=True)]
            state = SymmetricState(*np.broadcast_arrays(*arrays))
            check_positive(int(self.K), state, *np.asarray(self.teacher_overlaps))
        return SymmetricState(*jnp.broadcast_arrays(*(jnp.asarray(x) for x in state)))

    def _covariance(self, state: SymmetricState) -> Float[Array, "... n n"]:
        """Return the covariance of the representative students and teachers."""
        (Q, C, R, S), k = state, self.averages.k
        T = jnp.broadcast_to(matrix(k, *self.teacher_overlaps), (*jnp.shape(Q), k, k))
        return unchecked(matrix(k, Q, C), matrix(k, R, S), T).covariance

    def _first_order(self, C: Array) -> list[Array]:
        """⟨δ_1 x_1⟩, ⟨δ_1 x_2⟩, ⟨δ_1 y_1⟩, ⟨δ_1 y_2⟩."""
        s_K, s_M = self.scales
        parts = self.averages("i3", C)  # (..., targets, p, teachers)
        by_p = parts @ jnp.stack([-s_K, s_M])
        return [s_K * self._counted(by_p[..., v, :], 1 + v % 2) for v in range(4)]

    def _second_order(self, C: Array) -> list[Array]:
        """⟨δ_1 δ_1⟩ and ⟨δ_1 δ_2⟩ with the contributions of label noise."""
        s_K, s_M = self.scales
        parts = self.averages("i4", C)
        by_p = parts @ jnp.stack([s_K**2, -s_K * s_M, s_M**2])
        total = [self._counted(by_p[..., k, :], 1 + k) for k in range(2)]
        slopes = self.averages("slopes", C)
        return [
            s_K**2 * (total[k] + self.numbers.label_noise**2 * slopes[..., k]) for k in range(2)
        ]

    def _counted(self, by_p: Float[Array, "... p"], given: int) -> Float[Array, "..."]:
        """Compute Σ_p (K - m)(K - m - 1)… times the terms with p units other than the m
        given ones.
        """
        count, total = jnp.ones(()), by_p[..., 0]
        for p in range(1, by_p.shape[-1]):
            count = count * (self.K - given - p + 1)
            total = total + count * by_p[..., p]
        return total
