"""What an example does to the students, and what examples do on average."""

from typing import Any

from jaxtyping import Array, Float

from tutelage._checks import ROUNDING
from tutelage._jax import jax, jnp
from tutelage.model import Scenario

# The mean change in a step is estimated from so many fields: its fluctuations are 16 times
# smaller than those of one example.
DRAWS = 256


def learning_signal(
    scenario: Scenario, x: Float[Array, "... K"], y: Float[Array, "... M"], noise: Any = 0.0
) -> Float[Array, "... K"]:
    """δ_i = s_K g'(x_i) (τ + noise - σ) (straat2019, eq. (3))."""
    g, h = scenario.student.activation, scenario.teacher.activation
    s_K, s_M = scenario.output_scale
    error = s_M * jnp.sum(h(y), axis=-1) + noise - s_K * jnp.sum(g(x), axis=-1)
    return s_K * g.derivative(x) * error[..., None]


def mean_change(
    scenario: Scenario, C: Float[Array, "n n"], key: Any
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
    return learning_signal(scenario, f[:, : scenario.K], f[:, scenario.K :]).T @ f / DRAWS, inverse
