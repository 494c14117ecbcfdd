"""Networks of N inputs: every weight of every student learns from one example at a time."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import xarray as xr
from jaxtyping import Array, Float, Int, Key, PyTree

from tutelage._checks import InputError, positive_integer, short_repr
from tutelage._given import ArrayLike, CheckedInside, FileName, RateLike, TimeFunction
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Overlaps, Scenario
from tutelage.model.optimizers import Optimizer, Plain, check_optimizer
from tutelage.runs.provenance import recorded
from tutelage.simulation.ensemble import Ensemble, equal_batches
from tutelage.simulation.inputs import Inputs, Rows, as_inputs
from tutelage.simulation.learning_rule import GradientDescent, mean_change
from tutelage.simulation.observables import of_overlaps
from tutelage.simulation.optimizer_steps import Memory, direction, initial_memory
from tutelage.simulation.simulate import simulate
from tutelage.simulation.starts import (
    InitialWeights,
    initial_weights,
    orthonormal,
    own_readouts,
    products,
)

# Examples whose inputs are drawn in one call: more would take more memory than the weights.
EXAMPLES_PER_BLOCK = 4
# Bytes of the weights and inputs of one batch of runs; more runs are split into several batches.
MAX_BATCH_BYTES = 2**31
# Number of runs in every batch on a GPU, if memory allows: XLA sums in another order for another
# number of runs, and fewer runs would take as long.
RUNS_ON_GPU = 512
# Purposes of random numbers: the key of an example is folded with one of these.
INPUT, NOISE, CORRECTION, DRIFT = range(4)
START_NUMBER = 2**32 - 1
PLAIN = Plain()


@recorded
def network(
    scenario: Scenario,
    start: CheckedInside[Overlaps | tuple[ArrayLike, ArrayLike]],
    learning_rate: RateLike,
    *,
    dimension: int,
    until: float,
    readout_rate: RateLike = 0.0,
    weight_decay: TimeFunction | None = None,
    inputs: CheckedInside[str | ArrayLike] = "gaussian",
    corrected_start: bool = False,
    runs: int = 1,
    seed: int = 0,
    times: ArrayLike | None = None,
    batch: int = 1,
    optimizer: CheckedInside[Optimizer] = PLAIN,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Train students with N inputs by on-line gradient descent, with all their weights.

    J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ,   δ_i = s_K g'(x_i) Σ_c v_ci (τ_c + ς ζ_c - σ_c)

    for one new example ξ after the other (straat2019, eq. (3)); α = examples/N.  With a batch of b
    examples each step has the mean of their δ_i ξ, and α = steps/N; with drift the teachers walk
    after each step (`tutelage.simulation.learning_rule.GradientDescent`).  An optimizer other than
    ``Plain()`` makes its step from this mean, J_i ← (1 - γ/N) J_i + (η/N) Σ_k H_ik V_k
    (`tutelage.model.optimizers`): with batches of bN examples these are the steps of
    `tutelage.online.iterate`, whose learning rate is η/N here.

    Args:
        scenario, learning_rate, dimension, until, readout_rate, weight_decay: as for
            `tutelage.simulation.chain`.
        start: `Overlaps`, which every run realises exactly in an independent random frame; with a
            leading axis, one start for each run (as from `random_start`); or weights (J, B) of
            shapes (..., K, N) and (..., M, N).
        inputs: "gaussian", "sign" (±1), "uniform" (variance 1), or an array of shape (rows, N) of
            which each example is a row drawn at random.  The theory assumes components that are
            independent with mean 0 and variance 1; rows are used unchanged.  The error is that
            of Gaussian inputs with the same overlaps, which for signs and uniform components holds
            up to O(1/N); with rows it is the mean over all rows, measured at every recorded time:
            for many rows ask for few ``times``.
        corrected_start: whether fluctuations of the overlaps are removed from the first N examples
            (`tutelage.simulation.learning_rule.mean_change`); v learns as it does.
        optimizer: a member of ``tl.optimizers``; all but ``Plain()`` need a fixed second layer.
        runs, seed, times, batch, checkpoint, progress: as for `tutelage.simulation.chain`.

    Returns:
        The Dataset of `tutelage.simulation.chain`, in which states of a run after its divergence
        are missing (NaN); the attribute ``inputs`` of its
        generalization_error names these inputs.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> run = tl.simulation.network(tl.Scenario(one, one), start, 1.0, dimension=100, until=40)
    >>> bool(run.generalization_error[0, -1] < 1e-6)
    True
    """
    scenario, readouts = own_readouts(scenario, runs)
    ensemble = Ensemble.checked(scenario, dimension, until, runs, seed, times)
    b = positive_integer("batch", batch, "batch=1")
    check_optimizer(optimizer)
    what = "the weights and inputs of one run"
    check_memory("dimension", ensemble.dimension, lambda N: _bytes(scenario, N, 1), what)
    check_memory("batch", b, lambda b: _bytes(scenario, ensemble.dimension, b), what)
    weights = initial_weights(scenario, start, ensemble.dimension, ensemble.runs)
    rule = GradientDescent(
        scenario, ensemble.rate(learning_rate, readout_rate, weight_decay), readouts
    )
    if rule.learning_rate.readout is not None and not isinstance(optimizer, Plain):
        allowed = f"steps of {type(optimizer).__name__} need a fixed second layer"
        raise InputError("readout_rate", short_repr(readout_rate), allowed, "readout_rate=0")
    source = as_inputs(inputs, ensemble.dimension)
    system = NetworkSystem(
        rule, weights, ensemble.dimension, source, bool(corrected_start), b, optimizer
    )
    return simulate(system, ensemble, checkpoint=checkpoint, progress=progress)


def _bytes(scenario: Scenario, N: int, batch: int) -> int:
    """Return the bytes of one run: weights before and after a step, and the inputs of a block."""
    teachers = (4 if scenario.drift > 0 else 2) * scenario.M
    return 8 * N * (3 * scenario.K + teachers + 3 * EXAMPLES_PER_BLOCK * batch)


def _on_gpu() -> bool:
    return bool(jax.default_backend() != "cpu")


class Weights(NamedTuple):
    """J of all students and B of all teachers of a batch, and v of students if it learns.

    memory: of the optimizer.
    """

    J: Float[Array, "runs K N"]
    B: Float[Array, "runs M N"]
    v: Float[Array, "runs outputs K"] | None = None
    memory: Memory = Memory()


class NetworkSystem(eqx.Module):
    """A system for `tutelage.simulation.simulate`: the state is a batch of weights.

    The inputs of a block of examples are drawn together.  Blocks begin at multiples of their
    length, so that the same compiled code learns an example wherever calls begin and end.
    """

    rule: GradientDescent
    start: InitialWeights
    dimension: int = eqx.field(static=True)
    inputs: Inputs
    corrected_start: bool = eqx.field(static=True, default=False)
    batch: int = eqx.field(static=True, default=1)
    optimizer: Optimizer = PLAIN

    def batch_size(self, runs: int) -> int:
        """Return the number of runs that fit in memory."""
        largest = max(1, MAX_BATCH_BYTES // _bytes(self.rule.scenario, self.dimension, self.batch))
        return min(largest, RUNS_ON_GPU) if _on_gpu() else equal_batches(runs, largest)

    def initial(self, keys: Key[Array, " runs"], runs: Int[Array, " runs"]) -> Weights:
        """Return the weights at the start of every run."""

        def one(key: Key[Array, ""], run: Int[Array, ""]) -> Any:
            key = jax.random.fold_in(key, jnp.uint32(START_NUMBER))
            return self.start.weights(key, run, self.dimension)

        W, K = _over_runs(one, (keys, runs)), self.rule.scenario.K
        memory = jax.vmap(lambda J: initial_memory(self.optimizer, J))(W[:, :K])
        return Weights(W[:, :K], W[:, K:], self.rule.start(runs), memory)

    def observe(self, state: Weights) -> dict[str, Float[Array, "runs ..."]]:
        """Return Q = J Jᵀ, R = J Bᵀ and the observables of every run, with the error on rows."""
        Q, R = _over_runs(lambda J, B: (products(J, J), products(J, B)), (state.J, state.B))
        observed = of_overlaps(Q, R, state.v)
        if isinstance(self.inputs, Rows):
            observed["generalization_error"] = _over_runs(self._error_on_rows, state)
        return observed

    def _error_on_rows(
        self,
        J: Float[Array, "K N"],
        B: Float[Array, "M N"],
        v: Float[Array, "outputs K"] | None,
        memory: Memory,
    ) -> Any:
        """Return ½ Σ_c ⟨(τ_c - σ_c)²⟩ over all rows."""
        assert isinstance(self.inputs, Rows)
        x, y = (self.inputs.array @ W.T for W in (J, B))
        return 0.5 * jnp.sum(jnp.mean(self.rule.output_error(x, y, v) ** 2, axis=0))

    def advance(
        self,
        state: Weights,
        keys: Key[Array, " runs"],
        first: Int[Array, ""],
        count: Int[Array, ""],
    ) -> Weights:
        """Learn the examples first, …, first + count - 1."""
        last = first + count

        def block(b: Int[Array, ""], state: Weights) -> Any:
            s = b * EXAMPLES_PER_BLOCK + jnp.arange(EXAMPLES_PER_BLOCK)
            begin, end = (
                jnp.maximum(first - b * EXAMPLES_PER_BLOCK, 0),
                jnp.minimum(last - b * EXAMPLES_PER_BLOCK, EXAMPLES_PER_BLOCK),
            )
            examples = jax.vmap(lambda key: jax.vmap(lambda s: self._examples(key, s))(s))(keys)

            def learn(
                J: Float[Array, "units N"],
                B: Float[Array, "units N"],
                v: Float[Array, "outputs K"] | None,
                memory: Memory,
                examples: tuple[Array, Array, Array],
                key: Key[Array, ""],
            ) -> Any:
                def step(i: Int[Array, ""], weights: Weights) -> Weights:
                    after = self._learn(weights, jax.tree.map(lambda x: x[i], examples), s[i])
                    return after._replace(B=self._after_drift(weights.B, key, s[i]))

                return jax.lax.fori_loop(begin, end, step, Weights(J, B, v, memory))

            return _over_runs(learn, (*state, examples, keys))

        return jax.lax.fori_loop(
            first // EXAMPLES_PER_BLOCK, -(-last // EXAMPLES_PER_BLOCK), block, state
        )

    def _examples(self, key: Key[Array, ""], s: Int[Array, ""]) -> tuple[Any, Any, Any]:
        """Draw the example of step s, or the examples of a batch with a leading axis."""
        if self.batch == 1:
            return self._example(key, s)
        return jax.vmap(lambda i: self._example(key, s * self.batch + i))(jnp.arange(self.batch))

    def _after_drift(self, B: Float[Array, "M N"], key: Key[Array, ""], s: Int[Array, ""]) -> Any:
        """Return the teachers after the drift of step s."""
        if not self.rule.drifts:
            return B
        c, sine = self.rule.walk(self.dimension)
        normal = jax.random.normal(_folded(key, s * self.batch, DRIFT), B.shape)
        frame = orthonormal(jnp.concatenate([B, normal]))[len(B) :]
        return c * B + sine * jnp.sqrt(jnp.sum(B * B, axis=1, keepdims=True)) * frame

    def _example(self, key: Key[Array, ""], s: Int[Array, ""]) -> tuple[Any, Any, Any]:
        """Draw the input and the label noise of example s, and make a key for the correction."""
        ξ = self.inputs.draw(_folded(key, s, INPUT), self.dimension)
        noise = jax.random.normal(_folded(key, s, NOISE), (self.rule.noises,))
        return ξ, noise, _folded(key, s, CORRECTION)

    def _learn(
        self, weights: Weights, examples: tuple[Array, Array, Array], s: Int[Array, ""]
    ) -> Weights:
        """Return the weights, with J, v and the memory of the optimizer after step s."""
        N, (J, _, v, memory) = self.dimension, weights
        if self.batch == 1:
            change, signal = self._change(weights, examples, s)
        else:
            every = jax.vmap(lambda one: self._change(weights, one, s))(examples)
            change, signal = jax.tree.map(lambda x: jnp.mean(x, axis=0), every)
        η, η_v, γ = self.rule.rates(s, N)
        change, memory = direction(self.optimizer, change, memory)
        J = self.rule.decay(N, γ) * J + η / N * change
        v = None if v is None else self.rule.readout_learned(η_v / N, v, signal, N)
        return weights._replace(J=J, v=v, memory=memory)

    def _change(
        self, weights: Weights, example: tuple[Array, Array, Array], s: Int[Array, ""]
    ) -> tuple[Any, Any]:
        """Return δ_i ξ of one example, and s_K e_c g(x_i) if v learns."""
        (ξ, noise, key), N, (J, B, v, _) = example, self.dimension, weights
        x, y = (products(W, ξ[None])[:, 0] for W in (J, B))
        ζ = noise if self.rule.noisy else 0.0
        δ = self.rule.signal(x, y, ζ, v)
        change = jnp.outer(δ, ξ)
        if self.corrected_start:
            change = jax.lax.cond(
                s < N, lambda: change + self._correction(weights, x, y, δ, key), lambda: change
            )
        return change, None if v is None else self.rule.readout_signal(x, y, ζ, v)

    def _correction(
        self,
        weights: Weights,
        x: Float[Array, " K"],
        y: Float[Array, " M"],
        δ: Float[Array, " K"],
        key: Key[Array, ""],
    ) -> Any:
        """Return Σ_ab W_a (C⁻¹)_ab (⟨δ_i f_b⟩ - δ_i f_b)."""
        W, f = jnp.concatenate([weights.J, weights.B]), jnp.concatenate([x, y])
        mean, inverse = mean_change(self.rule, products(W, W), key, weights.v)
        return (mean - jnp.outer(δ, f)) @ inverse @ W


def _folded(key: Key[Array, ""], s: Int[Array, ""], purpose: int) -> Any:
    """Return a key for one purpose of example s."""
    key = jax.random.fold_in(key, (s >> 32).astype(jnp.uint32))
    return jax.random.fold_in(jax.random.fold_in(key, s.astype(jnp.uint32)), purpose)


def _over_runs(function: Callable[..., Any], arguments: tuple[PyTree, ...]) -> Any:
    """Apply a function to each run: serially on a CPU, in parallel on a GPU."""
    if _on_gpu():
        return jax.vmap(function)(*arguments)
    return jax.lax.map(lambda one: function(*one), tuple(arguments))
