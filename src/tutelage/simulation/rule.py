"""The learning rule: what an example does to the students, and what examples do on average."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from tutelage._checks import ROUNDING
from tutelage._jax import as_data, jax, jnp
from tutelage.model import Scenario
from tutelage.model.timing import Rate, Scheduled

# The mean change in a step is estimated from so many fields: its fluctuations are 16 times
# smaller than those of one example.
DRAWS = 256


class GradientDescent(eqx.Module):
    """One new example after the other, down the gradient of its error (straat2019, eq. (3)).

    J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ,   δ_i = s_K g'(x_i) (τ + ς·noise - σ)

    The teachers of a scenario with drift walk after each step,

        B_n ← c B_n + √(1 - c²) |B_n| u_n,   c = 1 - δ/N,

    with u_1, …, u_M a random orthonormal frame in the space orthogonal to all teachers.  As u_n has
    mean 0, ⟨R_in⟩ ← c R_in, which is dR_in/dα = -δ R_in; norms are kept, and orthogonal teachers
    stay orthogonal, exactly.

    noisy, drifts: whether labels are, and whether teachers do.
    """

    scenario: Scenario
    learning_rate: Rate | Scheduled
    noisy: bool = eqx.field(static=True)
    drifts: bool = eqx.field(static=True)

    def __init__(self, scenario: Scenario, learning_rate: Rate | Scheduled):
        self.scenario, self.learning_rate = as_data(scenario), learning_rate
        self.noisy = float(scenario.label_noise) > 0
        self.drifts = float(scenario.drift) > 0

    def decay(self, N: Any) -> Any:
        """1 - γ/N."""
        return 1 - self.scenario.weight_decay / N

    def walk(self, N: Any) -> tuple[Any, Any]:
        """c = 1 - δ/N, and √(1 - c²)."""
        step = self.scenario.drift / N
        return 1 - step, jnp.sqrt(step * (2 - step))

    def rate(self, s: Any, N: Any) -> Any:
        """η(α) at example s."""
        return self.learning_rate.at(s / N).first

    def signal(
        self, x: Float[Array, "... K"], y: Float[Array, "... M"], noise: Any = 0.0
    ) -> Float[Array, "... K"]:
        """δ_i, units last."""
        error = self.missing(x, y) + self.scenario.label_noise * noise
        slope = self.scenario.student.activation.derivative(x)
        return self.scenario.output_scale[0] * slope * error[..., None]

    def missing(self, x: Float[Array, "... K"], y: Float[Array, "... M"]) -> Float[Array, "..."]:
        """τ - σ, what the student's output lacks."""
        g, h = self.scenario.student.activation, self.scenario.teacher.activation
        s_K, s_M = self.scenario.output_scale
        return s_M * jnp.sum(h(y), axis=-1) - s_K * jnp.sum(g(x), axis=-1)

    def coefficients(
        self, step: Any, x: list[Array], y: list[Array], noise: list[Array]
    ) -> list[Array]:
        """(η/N) δ_i of all runs, every unit an array of its own: XLA makes one loop of it."""
        g, h = self.scenario.student.activation, self.scenario.teacher.activation
        s_K, s_M = self.scenario.output_scale
        error = s_M * sum(map(h, y)) - s_K * sum(map(g, x))
        if self.noisy:
            error = error + self.scenario.label_noise * noise[0]
        return [step * s_K * error * g.derivative(x_i) for x_i in x]


def mean_change(
    rule: GradientDescent, C: Float[Array, "n n"], key: Any
) -> tuple[Float[Array, "K n"], Float[Array, "n n"]]:
    """⟨δ_i f⟩ over many fields f ~ N(0, C), and the inverse of C on its range.

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
    root = vectors * jnp.where(large, jnp.sqrt(values), 0.0)
    inverse = (vectors * jnp.where(large, 1 / values, 0.0)) @ vectors.T
    f = jax.random.normal(key, (DRAWS, len(C))) @ root.T
    x, y = f[:, : rule.scenario.K], f[:, rule.scenario.K :]
    return rule.signal(x, y).T @ f / DRAWS, inverse
