"""Committees whose units are all alike: four numbers instead of K², whatever K is.

If K = M and nothing distinguishes a unit but whom it copies,

    Q_ii = Q,  Q_ik = C,  R_ii = R,  R_in = S,  T_nn = t,  T_nm = u   (i ≠ k, n ≠ m),

and every sum over units in the equations is a sum over patterns: which of the units coincide.
Up to permutations ⟨δ_1 δ_2⟩ takes its other two fields from the units 1, 2, 3 and 4, so that at
most four students and four teachers stand for all; a pattern with p units besides the m that
are given occurs (K - m)(K - m - 1)… (p factors) times.  K enters nowhere else: one program
serves K = 4 and K = 10⁶.  A pattern for which there are not enough units does not occur.
"""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import ROUNDING, InputError, covariance, finite_array, is_traced
from tutelage._jax import jnp
from tutelage.activations import PiecewiseLinear
from tutelage.averages.door import average
from tutelage.averages.methods import Hermite, Method, Orthant, chosen
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.model.layout import unchecked
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.symmetric.patterns import SHAPES, symmetric_batches, symmetric_sums

REPRESENTATIVES = 4
ARGUMENTS = {"i3": (0, 2), "i4": (0, 1, 2, 3), "slopes": (0, 1)}  # those with an activation


class SymmetricState(NamedTuple):
    """Q_ii = Q, Q_ik = C, R_ii = R, R_in = S; all of the same shape (...).

    With a single unit there is no C and no S: whatever stands there is never looked at.

    >>> import tutelage as tl
    >>> tl.online.SymmetricState(Q=0.5, C=0.1, R=0.2, S=0.0).overlaps(2).Q.tolist()
    [[0.5, 0.1], [0.1, 0.5]]
    """

    Q: Any
    C: Any
    R: Any
    S: Any

    def overlaps(self, units: int, teacher_overlaps: tuple[Any, Any] = (1.0, 0.0)) -> Overlaps:
        """All K² overlaps; ``teacher_overlaps`` is (t, u)."""
        pairs = ((self.Q, self.C), (self.R, self.S), teacher_overlaps)
        return Overlaps(*(_matrix(units, *pair) for pair in pairs))


class SymmetricScenario(eqx.Module):
    """A scenario of K = M units without its K² teacher overlaps.

    student, teacher: `Committee` of the same number K of units; activations may differ.
    teacher_overlaps: (t, u) = (T_nn, T_nm).
    output_scale, label_noise, weight_decay: as in `Scenario`; 1/√K is natural for large K.

    >>> import tutelage as tl
    >>> many = tl.Committee(1_000_000, tl.ReLU())
    >>> tl.online.SymmetricScenario(many, many, output_scale=1e-3).units
    1000000
    """

    units: int = eqx.field(static=True)
    teacher_overlaps: tuple[Any, Any]
    representatives: Scenario

    def __init__(
        self,
        student: Committee,
        teacher: Committee,
        teacher_overlaps: tuple[Any, Any] = (1.0, 0.0),
        *,
        output_scale: Any = 1.0,
        label_noise: Any = 0.0,
        weight_decay: Any = 0.0,
    ):
        K, M = student.units, teacher.units
        if K != M:
            raise InputError(
                "scenario", f"{K} students and {M} teachers", "a symmetric one has K = M"
            )
        t, u = teacher_overlaps
        if not is_traced((t, u)):
            covariance("teacher_overlaps", [[[t + (K - 1) * u]], [[t - u]]] if K > 1 else [[t]])
        few = min(K, REPRESENTATIVES)
        self.units, self.teacher_overlaps = K, (t, u)
        self.representatives = Scenario(
            Committee(few, student.activation),
            Committee(few, teacher.activation),
            _matrix(few, t, u),
            output_scale=output_scale,
            label_noise=label_noise,
            weight_decay=weight_decay,
        )

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> "SymmetricScenario":
        """The same scenario; its T has to have one number on and one beside the diagonal."""
        T, M = np.asarray(scenario.T), scenario.M
        t, u = float(T[0, 0]), float(T[0, -1]) if M > 1 else 0.0
        largest = float(np.max(np.abs(T - np.asarray(_matrix(M, t, u)))))
        if largest > ROUNDING * abs(t):
            raise InputError(
                "scenario",
                f"teacher overlaps that differ by {largest:.3g} from unit to unit",
                "a symmetric one has T_nn = t and T_nm = u for all n and m",
                "tl.online.evolve, which takes every T",
            )
        return cls(
            scenario.student,
            scenario.teacher,
            (t, u),
            output_scale=scenario.output_scale,
            label_noise=scenario.label_noise,
            weight_decay=scenario.weight_decay,
        )


class SymmetricFlow(eqx.Module):
    """The right-hand side of the equations in Q, C, R and S, at a cost independent of K.

    Averages of order one with multiplicities of order K cancel, so that for outputs scaled by
    1/√K rates have absolute errors of about 10⁻¹⁶ (10⁻¹⁶/K for C and S of order 1/K) where
    specialization goes on at rates of order 1/K: 10⁻¹⁶ K is the relative error to expect.

    scenario: `SymmetricScenario`, or a `Scenario` with K = M and T_nn = t, T_nm = u.
    method: how averages are computed; the best exact one by default.
    """

    flow: Flow
    K: Float[Array, ""]
    scales: Float[Array, " 2"]
    teacher_overlaps: Float[Array, " 2"]
    label_noise: Float[Array, ""]
    weight_decay: Float[Array, ""]
    noisy: bool = eqx.field(static=True)
    method: Method | None

    def __init__(self, scenario: Scenario | SymmetricScenario, method: Method | str | None = None):
        symmetric = symmetric_scenario(scenario)
        few = symmetric.representatives
        noise = few.label_noise
        self.noisy = is_traced(noise) or float(noise) != 0
        # As arrays, these numbers are data: another K needs no other program.
        self.K, self.label_noise, self.weight_decay = (
            jnp.asarray(x, dtype=jnp.float64) for x in (symmetric.units, noise, few.weight_decay)
        )
        self.scales = jnp.stack([jnp.asarray(s, dtype=jnp.float64) for s in few.output_scale])
        t_u = symmetric.teacher_overlaps
        self.teacher_overlaps = jnp.stack([jnp.asarray(x, dtype=jnp.float64) for x in t_u])
        student, teacher = few.student, few.teacher
        # Scale, noise, decay and T stand above: what is left is the same for all scenarios.
        self.flow = Flow(Scenario(student, teacher), method)
        self.method = None if method is None else self.flow.method

    def __call__(self, state: SymmetricState, learning_rate: Any) -> SymmetricState:
        """dQ/dα, dC/dα, dR/dα, dS/dα; the number 0 as a learning rate is the limit η → 0."""
        state = self.checked(state)
        rate, gamma = rate_of(learning_rate), self.weight_decay
        overlaps = self._representatives(state)
        dQ, dC, dR, dS = (rate.first * x for x in self._first_order(overlaps))
        dQ, dC = 2 * dQ, 2 * dC
        if rate.second is not None:
            QQ, CC = self._second_order(overlaps)
            dQ, dC = dQ + rate.second * QQ, dC + rate.second * CC
        return SymmetricState(
            dQ - 2 * gamma * state.Q,
            dC - 2 * gamma * state.C,
            dR - gamma * state.R,
            dS - gamma * state.S,
        )

    def generalization_error(self, state: SymmetricState) -> Float[Array, "..."]:
        """ε_g = ½ ⟨(σ - τ)²⟩, without the label noise."""
        return self.error_and_rounding(self.checked(state))[0]

    def error_and_rounding(self, state: SymmetricState) -> tuple[Array, Array]:
        """ε_g and how much of it is rounding: 2⁻⁵² times the terms that cancel in it.

        ε_g = ½ K [s_K² I2(x_1, x_1) - 2 s_K s_M I2(x_1, y_1) + s_M² I2(y_1, y_1)]
            + ½ K (K - 1) [s_K² I2(x_1, x_2) - 2 s_K s_M I2(x_1, y_2) + s_M² I2(y_1, y_2)]
        """
        C, (s_K, s_M), k = (
            self._representatives(state).covariance,
            self.scales,
            self.flow.scenario.K,
        )
        committees = (self.flow.scenario.student, self.flow.scenario.teacher)
        factors = jnp.stack([s_K**2, -2 * s_K * s_M, s_M**2])
        error = rounding = jnp.zeros(())
        for unit in range(min(k, 2)):
            terms = []
            for first, second in ((0, 0), (0, 1), (1, 1)):
                f = np.array([first * k, second * k + unit])
                pair = (committees[first].activation, committees[second].activation)
                method = chosen(self.method, pair)
                terms.append(average("i2", pair, C[..., f[:, None], f], method).value)
            count = 0.5 * self.K * (self.K - 1 if unit else 1.0)
            products = factors * jnp.stack(terms, axis=-1)
            error = error + count * jnp.sum(products, axis=-1)
            rounding = rounding + count * jnp.sum(jnp.abs(products), axis=-1)
        return error, jnp.finfo(jnp.float64).eps * rounding

    def checked(self, state: SymmetricState) -> SymmetricState:
        """The state as arrays of one shape; refused if no weights have such overlaps."""
        if not isinstance(state, SymmetricState):
            raise InputError("state", repr(state), "it has to be a SymmetricState")
        if self.flow.scenario.K == 1:  # one unit has no other
            state = state._replace(C=jnp.zeros(()), S=jnp.zeros(()))
        if not is_traced((state, self.K)):
            arrays = [finite_array(name, x) for name, x in zip(state._fields, state, strict=True)]
            state = SymmetricState(*np.broadcast_arrays(*arrays))
            _positive(int(self.K), state, *np.asarray(self.teacher_overlaps))
        return SymmetricState(*jnp.broadcast_arrays(*(jnp.asarray(x) for x in state)))

    def _representatives(self, state: SymmetricState) -> Overlaps:
        Q, C, R, S = state
        k = self.flow.scenario.K
        T = jnp.broadcast_to(_matrix(k, *self.teacher_overlaps), (*jnp.shape(Q), k, k))
        return unchecked(_matrix(k, Q, C), _matrix(k, R, S), T)

    def _first_order(self, overlaps: Overlaps) -> list[Array]:
        """⟨δ_1 x_1⟩, ⟨δ_1 x_2⟩, ⟨δ_1 y_1⟩, ⟨δ_1 y_2⟩."""
        s_K, s_M = self.scales
        parts = self._averages("i3", overlaps)  # (..., targets, p, teachers)
        by_p = parts @ jnp.stack([-s_K, s_M])
        return [s_K * self._counted(by_p[..., v, :], 1 + v % 2) for v in range(4)]

    def _second_order(self, overlaps: Overlaps) -> list[Array]:
        """⟨δ_1 δ_1⟩, ⟨δ_1 δ_2⟩ and what label noise adds to them."""
        s_K, s_M = self.scales
        parts = self._averages("i4", overlaps)
        by_p = parts @ jnp.stack([s_K**2, -s_K * s_M, s_M**2])
        total = [self._counted(by_p[..., k, :], 1 + k) for k in range(2)]
        if self.noisy:
            slopes = self._averages("slopes", overlaps)
            total = [total[k] + self.label_noise**2 * slopes[..., k] for k in range(2)]
        return [s_K**2 * x for x in total]

    def _counted(self, by_p: Float[Array, "... p"], given: int) -> Float[Array, "..."]:
        """Σ_p (K - m)(K - m - 1)… × what p units besides the m given ones contribute."""
        count, total = jnp.ones(()), by_p[..., 0]
        for p in range(1, by_p.shape[-1]):
            count = count * (self.K - given - p + 1)
            total = total + count * by_p[..., p]
        return total

    def _averages(self, kind: str, overlaps: Overlaps) -> Float[Array, "... targets p teachers"]:
        """Sums of averages over all patterns with p further units, by the number of teachers."""
        k, C = self.flow.scenario.K, overlaps.covariance
        g, h = self.flow.scenario.student.activation, self.flow.scenario.teacher.activation
        exact = isinstance(self.flow.method, Orthant)
        coincidences = isinstance(self.flow.method, Orthant | Hermite)  # others need not know them
        if exact and _known_slope(g) and _known_slope(h):
            total = symmetric_sums(kind, k, g, h)(C)
        else:
            total = jnp.zeros(())
            for batch in symmetric_batches(kind, k, coincidences):
                units = self.flow._units(batch, ARGUMENTS[kind])
                total = total + self.flow._sums(kind, units, batch, overlaps)
        return total.reshape(*C.shape[:-2], *SHAPES[kind])


def symmetric_scenario(scenario: Any) -> SymmetricScenario:
    """A symmetric scenario as it is, or a full one without its K² overlaps."""
    if isinstance(scenario, SymmetricScenario):
        return scenario
    if not isinstance(scenario, Scenario):
        raise InputError(
            "scenario",
            repr(scenario),
            "it has to be a Scenario or a SymmetricScenario",
            "tl.online.SymmetricScenario(student, teacher)",
        )
    return SymmetricScenario.from_scenario(scenario)


def _known_slope(g: Any) -> bool:
    """Piecewise linear with a number, so that its sums can be written out in moments."""
    return isinstance(g, PiecewiseLinear) and isinstance(g.slope, int | float)


def _matrix(units: int, diagonal: Any, beside: Any) -> Float[Array, "... n n"]:
    one, a, b = jnp.eye(units), jnp.asarray(diagonal), jnp.asarray(beside)
    return a[..., None, None] * one + b[..., None, None] * (1 - one)


def _positive(K: int, state: SymmetricState, t: float, u: float) -> None:
    """The covariance of all 2K fields has the eigenvalues of two matrices, one K - 1 times.

    A = Q + (K - 1) C - (R + (K - 1) S)²/(t + (K - 1) u) >= 0 and B = Q - C - (R - S)²/(t - u) >= 0.
    """

    def block(q: Any, r: Any, t: Any) -> np.ndarray:
        return np.stack([q, r, r, np.broadcast_to(t, np.shape(q))], -1).reshape(*np.shape(q), 2, 2)

    Q, C, R, S = state
    if K == 1:
        covariance("state [[Q, R], [R, t]]", block(Q, R, t))
        return
    covariance("state [[Q - C, R - S], [R - S, t - u]]", block(Q - C, R - S, t - u))
    n = K - 1
    covariance(
        "state [[Q + (K-1) C, R + (K-1) S], [R + (K-1) S, t + (K-1) u]]",
        block(Q + n * C, R + n * S, t + n * u),
    )
