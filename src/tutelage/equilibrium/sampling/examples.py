"""The Gibbs density of weights that learn a drawn set of examples at a temperature.

    exp(−β Σ_μ ½ |σ(ξ^μ) − τ(ξ^μ) − ς ζ^μ|²)

with P Gaussian inputs ξ^μ and labels with Gaussian noise, drawn once for each set.  Several
replicas learn one set: their overlap is the q of the quenched free energy of
`tutelage.equilibrium.thermal`, of which nothing is used here.
"""

from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import Scalar
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.spheres import Weights
from tutelage.model import Scenario


class ExampleSamples(NamedTuple):
    """Records after each move; chains with the same examples are adjacent.

    replica_overlap: J^a_i · J^b_k of the first two replicas of each set.
    """

    Q: Float[Array, "... chain K K"]
    R: Float[Array, "... chain K M"]
    generalization_error: Float[Array, "... chain"]
    training_error: Float[Array, "... chain"]
    replica_overlap: Float[Array, "... set K K"]
    acceptance: Float[Array, "... chain"]


class GibbsOfExamples(eqx.Module):
    """exp(−β Σ_μ ½ (σ − τ)²) of K unit vectors in N dimensions, for several sets of examples.

    teachers: B, shape (M, N).
    inputs: ξ^μ of every set.
    labels: τ with its noise.
    replicas: how many chains learn each set.
    """

    error: PairError
    teachers: Float[Array, "M N"]
    inputs: Float[Array, "set P N"]
    labels: Float[Array, "set P outputs"]
    replicas: int = eqx.field(static=True)

    @classmethod
    def draw(
        cls,
        error: PairError,
        teachers: Float[Array, "M N"],
        key: Array,
        sets: int,
        examples: int,
        replicas: int,
    ) -> "GibbsOfExamples":
        """Draw the examples of all sets."""
        scenario, (to_inputs, to_noise) = error.scenario, jax.random.split(key)
        inputs = jax.random.normal(to_inputs, (sets, examples, teachers.shape[-1]))
        fields = jnp.einsum("spn,mn->spm", inputs, teachers)
        clean = scenario.teacher.activation(fields) @ scenario.readouts[1].T
        noise = scenario.label_noise * jax.random.normal(to_noise, clean.shape)
        return cls(error, teachers, inputs, clean + noise, replicas)

    def first(self, examples: int) -> "GibbsOfExamples":
        """Return the Gibbs density restricted to the first `examples` examples of every set."""
        parts = self.inputs[:, :examples], self.labels[:, :examples]
        return GibbsOfExamples(self.error, self.teachers, *parts, self.replicas)

    def overlaps(self, J: Weights) -> tuple[Float[Array, "chain K K"], Float[Array, "chain K M"]]:
        """Q = J Jᵀ and R = J Bᵀ."""
        return jnp.einsum("rin,rkn->rik", J, J), jnp.einsum("rin,mn->rim", J, self.teachers)

    def potential(self, J: Weights, beta: Scalar) -> Float[Array, " chain"]:
        """(β/N) Σ_μ ½ (σ − τ)², the exponent per dimension."""
        examples, dimension = self.inputs.shape[-2:]
        return beta * examples / dimension * self.training_error(J)

    def training_error(self, J: Weights) -> Float[Array, " chain"]:
        """The mean of ½ (σ − τ)² over the examples of a chain's set."""

        def of_set(arrays: tuple[Array, Array, Array]) -> Array:
            x, labels, weights = arrays
            residuals, _ = _residuals(self.error.scenario, x, labels, weights)
            return 0.5 * jnp.mean(jnp.sum(residuals**2, axis=1), axis=-1)

        return jax.lax.map(of_set, (self.inputs, self.labels, self._by_set(J))).reshape(-1)

    def force(self, J: Weights, beta: Scalar) -> Weights:
        """−∂/∂J_i of the potential: (β/N) Σ_μ Σ_c v_ci g'(x_i) (τ_c − σ_c) ξ^μ."""

        def of_set(arrays: tuple[Array, Array, Array]) -> Array:
            x, labels, weights = arrays
            scenario = self.error.scenario
            residuals, fields = _residuals(scenario, x, labels, weights)
            slopes = scenario.student.activation.derivative(fields)
            signals = slopes * _summed(residuals, scenario.readouts[0].T)
            return (signals.reshape(-1, len(x)) @ x).reshape(weights.shape)

        forces = jax.lax.map(of_set, (self.inputs, self.labels, self._by_set(J)))
        return beta / J.shape[-1] * forces.reshape(J.shape)

    def sample(self, J: Weights, acceptance: Float[Array, " chain"]) -> ExampleSamples:
        """Return the recorded quantities."""
        Q, R = self.overlaps(J)
        by_set = self._by_set(J)
        return ExampleSamples(
            Q=Q,
            R=R,
            generalization_error=self.error(self.error.pairs(Q, R)),
            training_error=self.training_error(J),
            replica_overlap=jnp.einsum("sin,skn->sik", by_set[:, 0], by_set[:, 1]),
            acceptance=acceptance,
        )

    def _by_set(self, J: Weights) -> Float[Array, "set replica K N"]:
        return J.reshape(-1, self.replicas, *J.shape[1:])


def _residuals(
    scenario: Scenario, x: Array, labels: Array, weights: Array
) -> tuple[Float[Array, "replica outputs P"], Float[Array, "replica K P"]]:
    """τ_c − σ_c and the fields x_i of all examples of a set; one product of matrices."""
    replicas, K, N = weights.shape
    fields = (weights.reshape(-1, N) @ x.T).reshape(replicas, K, len(x))
    units = scenario.student.activation(fields)
    return labels.T[None] - _summed(units, scenario.readouts[0]), fields


def _summed(x: Float[Array, "replica n P"], matrix: Float[Array, "m n"]) -> Array:
    """The product with a small matrix as a sum, which XLA fuses with the activation into one loop.

    Examples are on the last axis, along which the loop runs.
    """
    return jnp.sum(x[:, None] * matrix[None, :, :, None], axis=2)
