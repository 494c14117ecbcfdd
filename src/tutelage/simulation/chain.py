"""The overlap chain: the law of finite networks without their N weights.

For Gaussian inputs the overlaps Q and R of a network with N inputs are a Markov chain: all that
an example ξ does to them depends on its components in the space of the K + M weight vectors,
which are normal, and on the length of the rest, whose square is χ² with N - K - M degrees of
freedom.  The chain draws these instead of ξ, and has the law of the network exactly, for every
N >= K + M, at a cost per example of O((K + M)²) whatever N is.  A second layer that learns needs
the fields of the same example, and joins Q and R in the state.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import xarray as xr
from jaxtyping import Array, Float, Int, Key, PyTree

from tutelage._checks import InputError, positive_integer
from tutelage._given import ArrayLike, FileName, RateLike, TimeFunction
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_fits
from tutelage.runs.provenance import recorded
from tutelage.simulation.draws import Address, chi_squared, normals
from tutelage.simulation.ensemble import Ensemble, equal_batches
from tutelage.simulation.factor import (
    BatchInputs,
    Columns,
    Entries,
    Example,
    Factors,
    factor,
    factorize,
)
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.observables import of_overlaps
from tutelage.simulation.simulate import simulate
from tutelage.simulation.starts import own_readouts

# Examples whose random numbers are drawn in one call: enough for long arrays, few enough for the
# processor's cache.
EXAMPLES_PER_BLOCK = 16
# Runs that are computed at once: as many as fit into the cache of a CPU, or fill a GPU.
RUNS_PER_BATCH = {"cpu": 1024}
MAX_RUNS_PER_BATCH = 2**20
# On a GPU, examples that are learned between reading and writing the state of all runs.
EXAMPLES_PER_KERNEL = 2
# The number of runs in a batch is padded to a multiple of this: a remainder of another size would
# be computed by other instructions, with other rounding errors.
RUN_PADDING = 16
# Purposes of the random numbers other than examples.
OUTSIDE, DRIFT = range(2)


@recorded
def chain(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: RateLike,
    *,
    dimension: int,
    until: float,
    readout_rate: RateLike = 0.0,
    weight_decay: TimeFunction | None = None,
    runs: int = 1,
    seed: int = 0,
    times: ArrayLike | None = None,
    batch: int = 1,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Train students with N Gaussian inputs by on-line gradient descent, through their overlaps
    alone.

    The same law as `tutelage.simulation.network`, with f the fields x, y of an example,

        R_in ← (1 - γ/N) R_in + (η/N) δ_i y_n,
        Q_ik ← (1 - γ/N)² Q_ik + (1 - γ/N)(η/N)(δ_i x_k + δ_k x_i) + (η/N)² δ_i δ_k |ξ|²,

    where |ξ|² is the square of the part of ξ in the space of the weights, which f determines, plus
    χ² with N - K - M degrees of freedom.  N = 10⁷ costs as much as N = 10.  With readouts and
    several outputs δ_i is defined by `tutelage.simulation.learning_rule.GradientDescent`, and a
    second layer that learns changes with it, v_ci ← (1 - γ_v/N) v_ci + (η_v/N) s_K e_c g(x_i).

    With a batch of b examples each step has the mean of their changes; with drift teachers walk
    after each step (`tutelage.simulation.learning_rule.GradientDescent`).

    Args:
        scenario: student and teacher, with label noise ς, weight decays γ and γ_v, and drift δ;
            the readout of the student is where v begins, one for each run if it has a leading axis.
        start: `Overlaps`; with a leading axis, one start for each run (as from `random_start`).
        learning_rate: η > 0, or a schedule η(α) written with ``jax.numpy``.
        dimension: N >= K + M.
        until: the last time α > 0.
        readout_rate: η_v >= 0 of the second layer, or a schedule; with 0 it is fixed.
        weight_decay: a schedule γ(α) instead of the number of the scenario, which None selects.
        runs: how many networks.
        seed: a whole number; a run depends on the seed and on its own number only.
        times: when to record, rounded to whole examples; by default 401 equidistant times.
        batch: b, examples for each step; time is α = steps/N, and every step has new ones.
        checkpoint: a file name.  The runs are written to it twice a minute and when interrupted;
            the same call continues from it, with the same result.
        progress: whether to show a bar on a terminal.

    Returns:
        The Dataset of `tutelage.online.evolve` with the dimension ``run``: Q, R, the
        generalization_error that follows from them, ``outcome`` ("reached", or "diverged": norms
        beyond 10⁶, and missing values after that) and ``ended_at``; with a ``readout_rate`` also v,
        as ``readout`` with the dimensions output and student.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])  # straat2019, Fig. 1
    >>> scenario = tl.Scenario(one, one)
    >>> runs = tl.simulation.chain(scenario, start, 1.0, dimension=1000, until=40, runs=5)
    >>> bool((runs.generalization_error[:, -1] < 1e-6).all())
    True
    """
    scenario, readouts = own_readouts(scenario, runs)
    ensemble = Ensemble.checked(scenario, dimension, until, runs, seed, times)
    check_fits("start", scenario, start, batches=((), (ensemble.runs,)), time_dependent_T=True)
    rule = GradientDescent(
        scenario, ensemble.rate(learning_rate, readout_rate, weight_decay), readouts
    )
    _check_batch(scenario, batch, ensemble)
    system = Chain(rule, start, ensemble.dimension, int(batch))
    return simulate(system, ensemble, checkpoint=checkpoint, progress=progress)


def _check_batch(scenario: Scenario, batch: int, ensemble: Ensemble) -> None:
    """Check that the examples of a step fit into the space outside the weights and into memory."""
    b, n = positive_integer("batch", batch, "batch=1"), scenario.K + scenario.M
    runs = min(ensemble.runs, MAX_RUNS_PER_BATCH)
    check_memory(
        "batch", b, lambda b: 24 * EXAMPLES_PER_BLOCK * b * runs * (n + 1), "the fields of a step"
    )
    least = n + min(b, scenario.K) + 1
    if b > 1 and ensemble.dimension < least:
        allowed = f"{b} examples at once need at least {least} dimensions"
        raise InputError("dimension", repr(ensemble.dimension), allowed, "dimension=1000")


class Students(NamedTuple):
    """Factors of the overlaps of a batch of runs, and v if it learns."""

    factor: Entries | Columns
    v: list[list[Float[Array, " runs"]]] | Float[Array, "outputs K runs"] | None


class Chain(eqx.Module):
    """A system for `tutelage.simulation.simulate`: the state is a batch of students.

    start: factors of the start, with a leading axis of runs if these start differently.
    dimension: N, an array, so that another N needs no compilation.
    outside: min(N - K - M, 2).
    batch: b.
    """

    rule: GradientDescent
    start: Factors
    dimension: Float[Array, ""]
    outside: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    def __init__(self, rule: GradientDescent, start: Overlaps, dimension: int, batch: int = 1):
        self.batch = batch
        self.rule, self.start = rule, factorize(start)
        self.dimension = jnp.asarray(dimension, float)
        self.outside = min(dimension - start.K - start.M, 2)

    def batch_size(self, runs: int) -> int:
        """Return the size of equal batches of runs that are computed together."""
        return equal_batches(runs, RUNS_PER_BATCH.get(jax.default_backend(), MAX_RUNS_PER_BATCH))

    def initial(self, keys: Key[Array, " runs"], runs: Int[Array, " runs"]) -> Students:
        """Return the factor of the start in every run, and the readout of the scenario."""
        P, U, L = (jnp.asarray(x) for x in self.start)
        if U.ndim == 3:
            return self._with_readout(factor(P[runs], U[runs], L[runs]), runs)
        U, L = (jnp.broadcast_to(x, (len(runs), *x.shape)) for x in (U, L))
        # All runs whose teachers are constant share one P.
        P = jnp.broadcast_to(P, (len(runs) if self.rule.time_dependent_T else 1, *P.shape))
        return self._with_readout(factor(P, U, L), runs)

    def _with_readout(self, first: Entries | Columns, runs: Int[Array, " runs"]) -> Students:
        v = self.rule.start(runs)
        if v is None:
            return Students(first, None)
        v = jnp.moveaxis(v, 0, -1)
        return Students(first, [[*row] for row in v] if isinstance(first, Entries) else v)

    def advance(
        self,
        state: Students,
        keys: Key[Array, " runs"],
        first: Int[Array, ""],
        count: Int[Array, ""],
    ) -> Any:
        """Learn the examples first, …, first + count - 1.

        Blocks begin at multiples of their length, so that the same compiled code learns an
        example, to the last bit, wherever calls begin and end.
        """
        last, runs = first + count, len(keys)
        state, keys = _padded((state, keys), runs)

        def block(b: Int[Array, ""], state: Students) -> Any:
            s = b * EXAMPLES_PER_BLOCK + jnp.arange(EXAMPLES_PER_BLOCK)
            draw = self._draw if self.batch == 1 else self._draw_batch
            (examples, noise), frames = draw(keys, s), self._frames(keys, s)
            rates = jax.vmap(lambda s: self.rule.rates(s, self.dimension))(s)

            def learn(i: Int[Array, ""], state: Students) -> Any:
                ξ, ζ, frame, η = jax.tree.map(lambda x: x[i], (examples, noise, frames, rates))
                return self._after_drift(self._learn(state, ξ, ζ, *η), frame)

            return _learn_block(
                learn, first - b * EXAMPLES_PER_BLOCK, last - b * EXAMPLES_PER_BLOCK, state
            )

        state = jax.lax.fori_loop(
            first // EXAMPLES_PER_BLOCK, -(-last // EXAMPLES_PER_BLOCK), block, state
        )
        return jax.tree.map(lambda x: x[..., :runs], state)

    def observe(self, state: Students) -> dict[str, Float[Array, "runs ..."]]:
        """Return the observables of every run, computed from its overlaps."""
        runs = jax.tree.leaves(state.factor.L)[0].shape[-1]
        Q, R = _padded(state.factor, runs).overlaps()
        v = None if state.v is None else jnp.moveaxis(jnp.asarray(state.v), -1, 0)
        return of_overlaps(Q[:runs], R[:runs], v)

    def _draw(self, keys: Key[Array, " runs"], s: Int[Array, " s"]) -> tuple[Example, Any]:
        """Draw the components of the examples s and the noise on their labels, shapes (s, runs)."""
        n = self.rule.scenario.K + self.rule.scenario.M
        at = Address.of(keys, s[:, None])
        count = n + self.rule.noises
        z = normals(at, count)
        χ = jnp.sqrt(chi_squared(at, count + count % 2, self.dimension - n, self.outside))
        return Example(z[:n], χ), z[n:]

    def _draw_batch(
        self, keys: Key[Array, " runs"], s: Int[Array, " s"]
    ) -> tuple[BatchInputs, Any]:
        """Draw the b examples of each of the steps s, shapes (s, b, runs)."""
        scenario, b = self.rule.scenario, self.batch
        n, m = scenario.K + scenario.M, min(b, scenario.K)
        at = Address.of(keys, s[:, None, None] * b + jnp.arange(b)[None, :, None])
        z = normals(at, n + self.rule.noises)
        rest = self._triangle(_folded(keys, OUTSIDE, m), s, self.dimension - n, 0)
        return BatchInputs(z[:n], jnp.swapaxes(rest, 1, 2)), z[n:]

    def _frames(self, keys: Key[Array, " runs"], s: Int[Array, " s"]) -> Any:
        """Draw normal vectors outside the teachers' space, one per teacher; None without drift.

        Components in the directions of the students, then in as many more as there are teachers.
        """
        if not self.rule.drifts:
            return None
        K, M = self.rule.scenario.K, self.rule.scenario.M
        frames = self._triangle(_folded(keys, DRIFT, M), s, self.dimension - K - M, K)
        return jnp.swapaxes(frames, 1, 2)

    def _triangle(
        self, keys: Key[Array, "m runs"], s: Int[Array, " s"], freedom: Float[Array, ""], full: int
    ) -> Float[Array, "s m c runs"]:
        """Draw m normal vectors of ``full`` + ν components; the last ν form a lower triangle.

        keys: of shape (m, runs);  freedom: ν.  The i-th vector has i normal components, and the
        root of a χ² with ν - i degrees of freedom (Bartlett 1933).
        """
        m = len(keys)
        at = Address.of(keys, s[:, None, None])
        count = full + m - 1
        z = normals(at, count) if count else []
        lengths = jnp.arange(m, dtype=float)[:, None]
        χ = jnp.sqrt(chi_squared(at, count + count % 2, freedom - lengths, 2))
        columns = z[:full]
        for j in range(m):
            below = z[full + j] if j < m - 1 else jnp.zeros_like(χ)
            columns.append(jnp.where(lengths > j, below, jnp.where(lengths == j, χ, 0.0)))
        return jnp.stack(columns, axis=2)

    def _after_drift(self, state: Students, frame: Float[Array, "units M runs"] | None) -> Any:
        """Return the state after the teachers have drifted for one step."""
        if frame is None:
            return state
        columns, walk = state.factor.columns(), self.rule.walk(self.dimension)
        columns = (
            columns.after_drift_with_norms if self.rule.time_dependent_T else columns.after_drift
        )(*walk, frame)
        return Students(state.factor.from_columns(columns), state.v)

    def _learn(
        self,
        state: Students,
        ξ: Example | BatchInputs,
        noise: list[Array],
        η: Float[Array, ""],
        η_v: Float[Array, ""] | None,
        γ: Float[Array, ""] | None = None,
    ) -> Students:
        """Return the state after one step, with one example or a batch."""
        N, d = self.dimension, self.rule.decay(self.dimension, γ)
        if isinstance(ξ, BatchInputs):
            x, y = self._fields_of_batch(state, ξ)
        else:
            x, y = state.factor.fields(ξ)
        v = self._readout_learned(state.v, x, y, noise, η_v)
        a = self.rule.coefficients(η / (N * self.batch), x, y, noise, state.v)
        if isinstance(ξ, Example):
            return Students(state.factor.learned(d, a, ξ), v)
        columns = state.factor.columns().learned_batch(d, a, ξ)
        return Students(state.factor.from_columns(columns), v)

    def _fields_of_batch(self, state: Students, ξ: BatchInputs) -> tuple[list[Array], list[Array]]:
        return jax.vmap(lambda z: state.factor.fields(Example(z, z[0])))(ξ.z)

    def _readout_learned(
        self,
        v: list[list[Array]] | Float[Array, "outputs K runs"] | None,
        x: list[Array],
        y: list[Array],
        noise: list[Array],
        η_v: Float[Array, ""] | None,
    ) -> Any:
        """Return v after a step, changed by the mean over a batch; None if v is fixed."""
        if v is None or η_v is None:
            return None
        signals: Any = self.rule.readout_coefficients(x, y, noise, v)
        if self.batch > 1:
            signals = jax.tree.map(lambda signal: jnp.sum(signal, axis=0), signals)
        signals = signals if isinstance(v, list) else jnp.asarray(signals)
        step, N = η_v / (self.dimension * self.batch), self.dimension
        return jax.tree.map(lambda v, w: self.rule.readout_learned(step, v, w, N), v, signals)


def _folded(keys: Key[Array, " runs"], purpose: int, count: int) -> Any:
    """Return further keys for each run, shape (count, runs)."""

    def one(key: Key[Array, ""], number: Int[Array, ""]) -> Any:
        return jax.random.fold_in(jax.random.fold_in(key, purpose), number)

    return jax.vmap(jax.vmap(one, (0, None)), (None, 0))(keys, jnp.arange(count))


def _learn_block(
    learn: Callable[[Int[Array, ""], PyTree], PyTree],
    begin: Int[Array, ""],
    end: Int[Array, ""],
    state: PyTree,
) -> Any:
    """Learn the examples begin, …, end - 1 of a block.

    On a GPU all examples of the block are learned, and the result of the others is discarded: a
    loop of unknown length waits for the host after each turn, for more than half the time of an
    example.
    """
    if jax.default_backend() == "cpu":
        begin, end = jnp.maximum(begin, 0), jnp.minimum(end, EXAMPLES_PER_BLOCK)
        return jax.lax.fori_loop(begin, end, learn, state)

    def learn_or_not(i: Int[Array, ""], state: PyTree) -> Any:
        is_inside = (begin <= i) & (i < end)
        return jax.tree.map(lambda new, old: jnp.where(is_inside, new, old), learn(i, state), state)

    return jax.lax.fori_loop(0, EXAMPLES_PER_BLOCK, learn_or_not, state, unroll=EXAMPLES_PER_KERNEL)


def _padded(tree: PyTree, runs: int) -> Any:
    """Pad the last axis, of runs, with copies of the last run to a multiple of `RUN_PADDING`."""
    index = jnp.minimum(jnp.arange(runs + -runs % RUN_PADDING), runs - 1)
    return jax.tree.map(lambda x: x[..., index] if x.shape[-1] == runs else x, tree)
