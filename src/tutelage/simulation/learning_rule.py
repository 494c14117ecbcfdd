"""The learning rule: the change of students by one example, and its average."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tutelage._checks import ROUNDING
from tutelage._jax import jax, jnp, numbers_to_arrays
from tutelage._types import Scalar
from tutelage.model import Scenario
from tutelage.model.teachers import decorrelates
from tutelage.model.timing import Rate, Scheduled, with_readout_rate

# Number of fields from which the mean change in a step is estimated: its fluctuations are 16 times
# smaller than those of one example.
MEAN_CHANGE_DRAWS = 256
# v of one run as an array, or of many runs as rows of arrays.
Readout = Float[Array, "outputs K ..."] | list[list[Array]]


class GradientDescent(eqx.Module):
    """Gradient descent on one new example after another (straat2019, eq. (3)).

    J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ,   δ_i = s_K g'(x_i) Σ_c v_ci e_c,   e_c = τ_c + ς ζ_c - σ_c

    with σ_c = s_K Σ_i v_ci g(x_i); in a committee v = 1, and δ_i = s_K g'(x_i) (τ + ς ζ - σ).  A
    second layer that learns changes with every example, too, both by their values before the step,

    v_ci ← (1 - γ_v/N) v_ci + (η_v/N) s_K e_c g(x_i).

    The teachers of a scenario with drift walk after each step,

        B_n ← c B_n + √(1 - c²) |B_n| u_n,   c = 1 - δ/N,

    with u_1, …, u_M a random orthonormal frame in the space orthogonal to all teachers.  As u_n has
    mean 0, ⟨R_in⟩ ← c R_in, which is dR_in/dα = -δ R_in; norms are fixed, and T_nm ← c² T_nm for
    n ≠ m, both exactly: orthogonal teachers stay orthogonal.

    learning_rate: η, and η_v as its ``readout``; without it v is fixed.
    readouts: v with which every run begins, if each has its own; the scenario's else.
    noisy, drifts: whether labels are, and whether teachers do.
    turning: whether T changes, as teachers that drift are not orthogonal.
    """

    scenario: Scenario
    learning_rate: Rate | Scheduled
    readouts: Float[Array, "runs outputs K"] | None
    noisy: bool = eqx.field(static=True)
    drifts: bool = eqx.field(static=True)
    time_dependent_T: bool = eqx.field(static=True)

    def __init__(
        self,
        scenario: Scenario,
        learning_rate: Rate | Scheduled,
        readouts: Float[Array, "runs outputs K"] | None = None,
    ):
        if readouts is not None and learning_rate.readout is None:
            # Fixed readouts that differ between runs are part of the state, and do not decay.
            learning_rate = with_readout_rate(learning_rate, np.zeros(()))
            scenario = eqx.tree_at(lambda s: s.readout_decay, scenario, 0.0)
        self.scenario, self.learning_rate = numbers_to_arrays(scenario), learning_rate
        self.readouts = readouts
        self.noisy = float(scenario.label_noise) > 0
        self.drifts = float(scenario.drift) > 0
        self.time_dependent_T = decorrelates(scenario.drift, scenario.T)

    @property
    def noises(self) -> int:
        """Number of random numbers for the labels of an example."""
        return self.scenario.outputs if self.noisy else 0

    def decay(self, N: Scalar, scheduled: Scalar | None = None) -> Any:
        """1 - γ/N, with γ of the scenario or of a schedule."""
        return 1 - (self.scenario.weight_decay if scheduled is None else scheduled) / N

    def walk(self, N: Scalar) -> tuple[Any, Any]:
        """c = 1 - δ/N, and √(1 - c²)."""
        step = self.scenario.drift / N
        return 1 - step, jnp.sqrt(step * (2 - step))

    def rates(self, s: Int[Array, ""], N: Scalar) -> tuple[Any, Any, Any]:
        """Return η(α), η_v(α) and γ(α) at example s; None if v or the scenario's γ is constant."""
        now = self.learning_rate.at(jnp.asarray(s, float) / N)
        return now.first, now.readout, now.decay

    def start(self, runs: Int[Array, " runs"]) -> Float[Array, "runs outputs K"] | None:
        """Return v at the start of these runs; None if it is not part of the state."""
        if self.readouts is not None:
            return self.readouts[runs]
        if self.learning_rate.readout is None:
            return None
        v = self.scenario.student.weights
        return jnp.broadcast_to(v, (len(runs), *v.shape))

    def readout(self, v: Readout | None) -> Any:
        """Return v of the state, or that of the scenario; None for a committee."""
        return self.scenario.student.readout if v is None else v

    def signal(
        self,
        x: Float[Array, "... K"],
        y: Float[Array, "... M"],
        noise: Scalar | Float[Array, "... outputs"] = 0.0,
        v: Float[Array, "outputs K"] | None = None,
    ) -> Float[Array, "... K"]:
        """Return δ_i, units last; v of a trained second layer has shape (outputs, K)."""
        slope = self.scenario.student.activation.derivative(x)
        error = self.output_error(x, y, v) + self.scenario.label_noise * noise
        if self.readout(v) is not None:
            error = jnp.sum(error[..., None] * with_rank(self.readout(v), x.ndim + 1), axis=-2)
        return self.scenario.output_scale[0] * slope * error

    def output_error(
        self,
        x: Float[Array, "... K"],
        y: Float[Array, "... M"],
        v: Float[Array, "outputs K"] | None = None,
    ) -> Float[Array, "... outputs"]:
        """Return τ_c - σ_c, the error of the outputs without label noise."""
        student, teacher = self.scenario.student, self.scenario.teacher
        s_K, s_M = self.scenario.output_scale
        σ = _outputs(self.readout(v), student.activation(x))
        return s_M * _outputs(teacher.readout, teacher.activation(y)) - s_K * σ

    def readout_signal(
        self,
        x: Float[Array, "... K"],
        y: Float[Array, "... M"],
        noise: Float[Array, "... outputs"] | Scalar,
        v: Float[Array, "outputs K"],
    ) -> Float[Array, "... outputs K"]:
        """Return s_K e_c g(x_i), the change of v by an example."""
        error = self.output_error(x, y, v) + self.scenario.label_noise * noise
        g = self.scenario.student.activation
        return self.scenario.output_scale[0] * error[..., None] * g(x)[..., None, :]

    def readout_learned(
        self, step: Scalar, v: Float[Array, "..."], signal: Float[Array, "..."], N: Scalar
    ) -> Any:
        """Return v after a step: (1 - γ_v/N) v_ci + (η_v/N) s_K e_c g(x_i)."""
        return v - self.scenario.readout_decay / N * v + step * signal

    def coefficients(
        self,
        step: Scalar,
        x: list[Array],
        y: list[Array],
        noise: list[Array],
        v: Readout | None = None,
    ) -> list[Array]:
        """Return (η/N) δ_i of all runs, one array per unit, which XLA fuses into one loop.

        v: of a second layer that learns, v_ci an array over runs for every output and unit.
        """
        g, s_K = self.scenario.student.activation, self.scenario.output_scale[0]
        errors, v = self.errors(x, y, noise, v), self.readout(v)
        back = [
            errors[0] if v is None else _dot(errors, [row[i] for row in v]) for i in range(len(x))
        ]
        return [step * s_K * e * g.derivative(x_i) for e, x_i in zip(back, x, strict=True)]

    def readout_coefficients(
        self, x: list[Array], y: list[Array], noise: list[Array], v: Readout
    ) -> list[list[Array]]:
        """Return s_K e_c g(x_i) of all runs, one array per output and unit."""
        g, s_K = self.scenario.student.activation, self.scenario.output_scale[0]
        return [[s_K * e * g(x_i) for x_i in x] for e in self.errors(x, y, noise, v)]

    def errors(
        self, x: list[Array], y: list[Array], noise: list[Array], v: Readout | None = None
    ) -> list[Array]:
        """Return e_c = τ_c + ς ζ_c - σ_c of all runs, one array per output."""
        student, teacher = self.scenario.student, self.scenario.teacher
        s_K, s_M = self.scenario.output_scale
        σ = _output_list(self.readout(v), [student.activation(x_i) for x_i in x])
        τ = _output_list(teacher.readout, [teacher.activation(y_n) for y_n in y])
        errors = [s_M * b - s_K * a for a, b in zip(σ, τ, strict=True)]
        if self.noisy:
            ς = self.scenario.label_noise
            errors = [e + ς * ζ for e, ζ in zip(errors, noise, strict=True)]
        return errors


def _outputs(
    v: Float[Array, "outputs K"] | None, units: Float[Array, "... K"]
) -> Float[Array, "... outputs"]:
    """Return Σ_i v_ci g(x_i), outputs last; one output for a committee, whose v is None."""
    if v is None:
        return jnp.sum(units, axis=-1, keepdims=True)
    return jnp.sum(with_rank(v, units.ndim + 1) * units[..., None, :], axis=-1)


def with_rank(x: Float[Array, "..."], rank: int) -> Float[Array, "..."]:
    """Return an array with leading axes of length 1, so that it has this rank."""
    return jnp.expand_dims(x, range(rank - x.ndim))


def _output_list(v: Readout | None, units: list[Array]) -> list[Array]:
    """Return Σ_i v_ci g(x_i), one array per output."""
    return [sum(units[1:], start=units[0])] if v is None else [_dot(row, units) for row in v]


def _dot(a: list[Array] | Array, b: list[Array]) -> Array:
    # With batches, readouts have one axis less than signals.
    pairs = [jnp.broadcast_arrays(x, y) for x, y in zip(a, b, strict=True)]
    first, *others = [x * y for x, y in pairs]
    return sum(others, start=first)


def mean_change(
    rule: GradientDescent,
    C: Float[Array, "n n"],
    key: Key[Array, ""],
    v: Float[Array, "outputs K"] | None = None,
) -> tuple[Float[Array, "K n"], Float[Array, "n n"]]:
    """Return ⟨δ_i f⟩ for fields f ~ N(0, C), and the inverse of C on its range.

    A network of N inputs that starts with overlaps R_in = 10⁻³ loses them at once: an example
    changes R_in by (η/N) δ_i y_n, which for N = 1000 is as large, and has random signs.  citton2025
    (section 3) therefore uses "a correction that takes into account finite size effects during
    the first steps of the dynamics", and refers to Biehl, Riegler and Wöhler (1996) for it without
    further words.  Ours is this: in the first N examples the part of the change that lies in the
    space of the weights is replaced by its mean, estimated here,

        J_i ← (1 - γ/N) J_i + (η/N) [δ_i ξ + Σ_ab W_a (C⁻¹)_ab (⟨δ_i f_b⟩ - δ_i f_b)],

    so that W_a·ΔJ_i = (η/N) ⟨δ_i f_a⟩, while the part outside, which makes norms grow, is that of
    the example.  Means over runs are the same without it; the spread in the beginning is not.
    """
    values, vectors = jnp.linalg.eigh(C)
    large = values > ROUNDING * values[-1]
    values = jnp.where(large, values, 1.0)
    root = vectors * jnp.where(large, jnp.sqrt(values), 0.0)[None]
    inverse = (vectors * jnp.where(large, 1 / values, 0.0)[None]) @ vectors.T
    f = jax.random.normal(key, (MEAN_CHANGE_DRAWS, len(C))) @ root.T
    x, y = f[:, : rule.scenario.K], f[:, rule.scenario.K :]
    return rule.signal(x, y, v=v).T @ f / MEAN_CHANGE_DRAWS, inverse
