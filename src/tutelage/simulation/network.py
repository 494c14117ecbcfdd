"""Networks of N inputs: every weight of every student learns from one example at a time."""

from typing import Any, NamedTuple

import equinox as eqx
import xarray as xr
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.model import Scenario
from tutelage.runs.checkpoint import digest
from tutelage.runs.provenance import parameters
from tutelage.simulation.ensemble import simulate
from tutelage.simulation.inputs import Inputs, Rows, as_inputs
from tutelage.simulation.plan import as_rate, plan, rate_at
from tutelage.simulation.rule import learning_signal, mean_change
from tutelage.simulation.starts import Given, Start, as_start, products

# Inputs of so many examples are drawn together: more would take more memory than the weights.
BLOCK = 4
# Bytes that the weights and inputs of a batch may take; more runs are done in several batches.
MEMORY = 2**31
# On a GPU every batch has the same number of runs, this one if there is memory: with another
# number XLA sums in another order.  Fewer would take as long.
RUNS_ON_GPU = 512
# What a random number is for: the key of an example is folded with one of these.
INPUT, NOISE, CORRECTION = range(3)
START = 2**32 - 1


def network(
    scenario: Scenario,
    start: Any,
    learning_rate: Any,
    dimension: int,
    until: float,
    runs: int = 1,
    seed: int = 0,
    *,
    times: Any = None,
    inputs: Any = "gaussian",
    corrected_start: bool = False,
    checkpoint: Any = None,
    progress: bool = False,
) -> xr.Dataset:
    """On-line gradient descent of students with N inputs, all weights of them.

    J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ,   δ_i = s_K g'(x_i) (τ + ς·noise - σ)

    for one new example ξ after the other (straat2019, eq. (3)); α = examples/N.

    Args:
        scenario: who learns from whom, with label noise ς and weight decay γ.
        start: `Overlaps`, which every run realises exactly in a random frame of its own; with a
            leading axis, one start for each run (as from `random_start`); or weights (J, B) of
            shapes (..., K, N) and (..., M, N).
        learning_rate: η > 0, or a schedule η(α) written with ``jax.numpy``.
        dimension: N >= K + M.
        until: the last time α > 0.
        runs: how many networks.
        seed: a whole number; what a run does depends on it and on the number of the run alone.
        times: when to record, rounded to whole examples; by default 401 equidistant times.
        inputs: "gaussian", "sign" (±1), "uniform" (variance 1), or an array of shape (rows, N) of
            which each example is a row drawn at random.  The theory assumes components that are
            independent with mean 0 and variance 1; rows are taken as they are.
        corrected_start: whether fluctuations of the overlaps are taken out of the first N
            examples, as `tutelage.simulation.rule.mean_change` says.
        checkpoint: a file name.  The runs are written to it twice a minute and when interrupted;
            the same call continues from it, with the same result.
        progress: whether to show a bar on a terminal.

    Returns:
        The Dataset of `tutelage.online.evolve` with the dimension ``run``: Q, R, the exact
        generalization_error, ``outcome`` ("reached", or "diverged": norms beyond 10⁶, and missing
        values after that) and ``ended_at``.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> run = tl.simulation.network(tl.Scenario(one, one), start, 1.0, dimension=100, until=40)
    >>> bool(run.generalization_error[0, -1] < 1e-6)
    True
    """
    what = plan(scenario, learning_rate, dimension, until, runs, seed, times)
    begin, overlaps = as_start(scenario, start, what.dimension, what.runs)
    source = as_inputs(inputs, what.dimension)
    system = Network(scenario, begin, learning_rate, what.dimension, source, corrected_start)
    attrs = parameters(
        "simulation.network",
        scenario,
        overlaps,
        learning_rate,
        dimension=what.dimension,
        until=float(until),
        runs=what.runs,
        seed=what.seed,
        inputs=source.name,
        corrected_start=int(corrected_start),
    )
    for name, owner, kind in (("inputs_sha256", source, Rows), ("weights_sha256", begin, Given)):
        if isinstance(owner, kind):
            attrs[name] = digest(owner.array)
    return simulate(
        system,
        scenario,
        what,
        attrs,
        checkpoint=checkpoint,
        progress=progress,
        batch=_batch_size(scenario, what.dimension),
        padded=_on_gpu(),
    )


def _batch_size(scenario: Scenario, N: int) -> int:
    """Weights before and after, and the inputs of a block with what they are made of."""
    bytes_per_run = 8 * N * (3 * scenario.K + 2 * scenario.M + 3 * BLOCK)
    largest = max(1, MEMORY // bytes_per_run)
    return min(largest, RUNS_ON_GPU) if _on_gpu() else largest


def _on_gpu() -> bool:
    return bool(jax.default_backend() != "cpu")


class Weights(NamedTuple):
    """J of all students and B of all teachers of a batch."""

    J: Float[Array, "runs K N"]
    B: Float[Array, "runs M N"]


class Network(eqx.Module):
    """A system for `tutelage.simulation.ensemble`: the state is a batch of weights.

    The inputs of a block of examples are drawn together.  Blocks begin at multiples of their
    length, so that the same compiled code learns an example wherever calls begin and end.
    """

    scenario: Scenario
    start: Start
    learning_rate: Any
    dimension: int = eqx.field(static=True)
    inputs: Inputs
    corrected: bool = eqx.field(static=True)
    noisy: bool = eqx.field(static=True)

    def __init__(
        self,
        scenario: Scenario,
        start: Start,
        learning_rate: Any,
        dimension: int,
        inputs: Inputs,
        corrected: bool = False,
    ):
        self.scenario, self.start, self.inputs = scenario, start, inputs
        self.learning_rate = as_rate(learning_rate)
        self.dimension, self.corrected = dimension, bool(corrected)
        self.noisy = float(scenario.label_noise) > 0

    def initial(self, keys: Any, runs: Any) -> Weights:
        """The weights with which every run begins."""

        def one(key: Any, run: Any) -> Any:
            key = jax.random.fold_in(key, jnp.uint32(START))
            return self.start.weights(key, run, self.dimension)

        W = _over_runs(one, (keys, runs))
        return Weights(W[:, : self.scenario.K], W[:, self.scenario.K :])

    def overlaps(self, state: Weights) -> tuple[Float[Array, "runs K K"], Float[Array, "runs K M"]]:
        """Q = J Jᵀ and R = J Bᵀ of every run."""
        return _over_runs(lambda J, B: (products(J, J), products(J, B)), state)

    def advance(self, state: Weights, keys: Any, first: Any, count: Any) -> Weights:
        """Learn the examples first, …, first + count - 1."""
        last = first + count

        def block(b: Any, J: Any) -> Any:
            s = b * BLOCK + jnp.arange(BLOCK)
            begin, end = jnp.maximum(first - b * BLOCK, 0), jnp.minimum(last - b * BLOCK, BLOCK)
            examples = jax.vmap(lambda key: jax.vmap(lambda s: self._example(key, s))(s))(keys)

            def learn(J: Any, B: Any, examples: Any) -> Any:
                def step(i: Any, J: Any) -> Any:
                    return self._learn(J, B, jax.tree.map(lambda x: x[i], examples), s[i])

                return jax.lax.fori_loop(begin, end, step, J)

            return _over_runs(learn, (J, state.B, examples))

        J = jax.lax.fori_loop(first // BLOCK, -(-last // BLOCK), block, state.J)
        return Weights(J, state.B)

    def _example(self, key: Any, s: Any) -> tuple[Any, Any, Any]:
        """Input, noise of the label, and a key for the correction, of example s."""
        key = jax.random.fold_in(key, (s >> 32).astype(jnp.uint32))
        key = jax.random.fold_in(key, s.astype(jnp.uint32))
        ξ = self.inputs.draw(jax.random.fold_in(key, INPUT), self.dimension)
        noise = jax.random.normal(jax.random.fold_in(key, NOISE)) if self.noisy else jnp.zeros(())
        return ξ, noise, jax.random.fold_in(key, CORRECTION)

    def _learn(self, J: Any, B: Any, example: tuple[Any, Any, Any], s: Any) -> Any:
        """J_i ← (1 - γ/N) J_i + (η/N) δ_i ξ."""
        (ξ, noise, key), N = example, self.dimension
        x, y = (products(W, ξ[None])[:, 0] for W in (J, B))
        δ = learning_signal(self.scenario, x, y, self.scenario.label_noise * noise)
        change = δ[:, None] * ξ
        if self.corrected:
            change = jax.lax.cond(
                s < N, lambda: change + self._correction(J, B, x, y, δ, key), lambda: change
            )
        decay = 1 - self.scenario.weight_decay / N
        return decay * J + rate_at(self.learning_rate, s / N) / N * change

    def _correction(self, J: Any, B: Any, x: Any, y: Any, δ: Any, key: Any) -> Any:
        """Σ_ab W_a (C⁻¹)_ab (⟨δ_i f_b⟩ - δ_i f_b)."""
        W, f = jnp.concatenate([J, B]), jnp.concatenate([x, y])
        mean, inverse = mean_change(self.scenario, products(W, W), key)
        return (mean - δ[:, None] * f) @ inverse @ W


def _over_runs(function: Any, arguments: Any) -> Any:
    """The function of each run: on a CPU one run after the other, on a GPU all at once."""
    if _on_gpu():
        return jax.vmap(function)(*arguments)
    return jax.lax.map(lambda one: function(*one), tuple(arguments))
