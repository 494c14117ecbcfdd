"""Monte Carlo of finite weight vectors: an independent check of the free energy."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_number, increasing_array, positive_integer
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage._types import AnyArray
from tutelage.averages.methods import Method
from tutelage.equilibrium.general.blocks import matched_overlaps
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.autocorrelation import autocorrelation_time, standard_error
from tutelage.equilibrium.sampling.examples import ExampleSamples, GibbsOfExamples
from tutelage.equilibrium.sampling.spheres import Gibbs, Samples, chain
from tutelage.model import Overlaps, Scenario
from tutelage.runs.progress import Progress
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed

STEPS_PER_TRAJECTORY = 12  # great-circle steps in one trajectory; together one to three radians
ALLOWED_STARTS = "random, teacher or Overlaps with Q_ii = 1"

# Chains that learn the same examples.
REPLICAS = 2
LOAD_OF_EXAMPLES = {"long_name": "P/(KN)", "symbol": "α̃"}

# Arrays in memory at the same time: weights before and after a move, momenta and forces.
ARRAY_COPIES = 5


@recorded
def sample(
    scenario: Scenario,
    load: float | None = None,
    *,
    examples: int | None = None,
    temperature: float | str | None = None,
    dimension: int,
    sweeps: int,
    runs: int = 8,
    seed: int = 0,
    start: Overlaps | str = "random",
    warm_up: int | None = None,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Draw weights from a Gibbs density on the product of K spheres, for finite N.

    With a load: exp(-α K N ε_g), oostwal2019 eqs. (13) to (15) in the limit of high temperature.
    With examples: exp(-β Σ_μ ½ (σ − τ)²) of P drawn examples at a temperature, their labels with
    the scenario's noise; each run has a separate set of examples, which two replicas learn.

    A sweep is one trajectory
    of Hamiltonian Monte Carlo on the spheres, accepted or refused exactly (a Langevin equation
    would need noise of strength 2/β, and small steps).  Entropy is never computed: it is the
    volume in which the weights move.  Means differ from the minima of βf by O(1/N), and at finite
    temperature from those of K → ∞ by O(1/K).

    Args:
        scenario: student and teacher.
        load: α >= 0, multiplies K N times the scenario's own ε_g.
        examples: P, in place of a load; the load of the theory is α̃ = P/(KN).
        temperature: T > 0 of the examples, or "bayes", the variance of the label noise.
        dimension: N >= K + M.
        sweeps: how many are recorded.
        runs, seed: of independent chains; with examples of independent sets of examples.
        start: "random" on the spheres; "teacher", students at teachers (i at i modulo M); or
            overlaps, with Q_ii = 1.
        warm_up: sweeps before, while the step is tuned; as many as recorded by default.

    Returns:
        A Dataset with Q, R and generalization_error over ``run`` and ``sweep``, acceptance and
        the autocorrelation_time of ε_g in sweeps for each run.  With examples there is a dimension
        ``replica``, training_error, replica_overlap (J^a_i · J^b_k of the two replicas of a run)
        and invariant_overlap, √(Σ_in R_in²/K), which does not change in a rotation of the students
        among themselves.  ``mean`` and ``standard_error`` over ``quantity`` are those over the sets
        of examples: of R and q, the mean overlaps of matched units, of invariant_overlap and of
        both errors; a single run has no standard error.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> free = tl.equilibrium.sample(tl.Scenario(one, one), 0.0, dimension=50, sweeps=10, runs=2)
    >>> dict(free["R"].sizes), f"{float(free['acceptance'].min()):.6f}"  # nothing is refused
    ({'run': 2, 'sweep': 10, 'student': 1, 'teacher': 1}, '1.000000')
    """
    setting = _strength(scenario, load, examples, temperature)
    sampler = Sampler(
        scenario, dimension, sweeps, warm_up, runs, seed, start, method, setting.examples
    )
    samples = sampler.drawn(setting.strength)
    if setting.examples is not None:
        return _of_examples(sampler, samples, setting)
    data = _variables(samples, ("run", "sweep"))
    tau = autocorrelation_time(data["generalization_error"][1])
    data["autocorrelation_time"] = ("run", tau)
    return xr.Dataset(data, coords=_coordinates(scenario), attrs={"step": sampler.step})


class Strength(NamedTuple):
    """Prefactor of the energy: the load α, or β with a number of examples."""

    strength: float
    examples: int | None = None


def _strength(
    scenario: Scenario,
    load: float | str | None,
    examples: int | None,
    temperature: float | str | None,
) -> Strength:
    """Check that there is either a load, or examples with a temperature."""
    given = "neither a load nor examples" if load is None else "a load and examples"
    _check_one_of(load, examples, temperature, given, ("examples=1000", "load"))
    if examples is None:
        return Strength(float(finite_number("load", load, at_least=0.0, hint="load=10.0")))
    count = positive_integer("examples", examples, "examples=1000")
    return Strength(1 / _temperature(scenario, temperature), count)


def _check_one_of(
    load: ArrayLike | None,
    examples: ArrayLike | None,
    temperature: float | str | None,
    given: str,
    names: tuple[str, str],
) -> None:
    """Refuse calls with both or neither of load and examples, and a load with a temperature."""
    hint, argument = names
    if (load is None) == (examples is None):
        allowed = "weights learn at a load α, or from P examples at a temperature"
        raise InputError("examples", given, allowed, f"{hint}, temperature=0.1")
    if examples is None and temperature is not None:
        allowed = f"a load α = βP/(KN) already contains T = 1/β: give only {argument}"
        raise InputError("temperature", repr(temperature), allowed, f"{hint} instead")


def _temperature(scenario: Scenario, temperature: float | str | None) -> float:
    """Return T > 0 from a number, or from "bayes"."""
    if isinstance(temperature, str) and temperature == "bayes":
        if float(scenario.label_noise) == 0:
            raise InputError(
                "temperature",
                "'bayes' without label noise",
                "the Bayes-optimal temperature is the variance of the label noise",
                "a scenario with label_noise=0.3",
            )
        temperature = float(scenario.label_noise) ** 2
    return float(finite_number("temperature", temperature, above=0.0, hint="temperature=0.01"))


def _of_examples(sampler: "Sampler", samples: ExampleSamples, setting: Strength) -> xr.Dataset:
    """Make a Dataset over runs, replicas and sweeps."""
    scenario = sampler.gibbs.error.scenario

    def split(x: AnyArray) -> np.ndarray:  # (sweep, run · replica, …) -> (run, replica, sweep, …)
        return np.moveaxis(x.reshape(len(x), -1, REPLICAS, *x.shape[2:]), 0, 2)

    chain, pair = ("run", "replica", "sweep"), ("student", "teacher")
    R = split(samples.R)
    error, training = split(samples.generalization_error), split(samples.training_error)
    data: dict[str, Any] = {
        "Q": ((*chain, "student", "student_2"), split(samples.Q)),
        "R": ((*chain, *pair), R),
        "invariant_overlap": (chain, np.sqrt(np.sum(R**2, axis=(-2, -1)) / scenario.K)),
        "replica_overlap": (
            ("run", "sweep", "student", "student_2"),
            np.swapaxes(samples.replica_overlap, 0, 1),
        ),
        "generalization_error": (chain, error),
        "training_error": (chain, training),
        "acceptance": (("run", "replica"), np.mean(split(samples.acceptance), axis=-1)),
        "autocorrelation_time": (("run", "replica"), autocorrelation_time(error)),
    }
    per_set = _of_sets(samples)
    table = np.array(list(per_set.values()))
    data["mean"] = ("quantity", np.mean(table, axis=1))
    data["standard_error"] = ("quantity", _error_of_mean(table))
    coords = {
        **_coordinates(scenario),
        "quantity": list(per_set),
        "load": ((), sampler.load(sampler.examples), LOAD_OF_EXAMPLES),
        "temperature": ((), 1 / setting.strength, {"symbol": "T"}),
    }
    return xr.Dataset(data, coords=coords, attrs={"step": sampler.step})


def _error_of_mean(table: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the last axis; NaN for a single number."""
    count = table.shape[-1]
    if count == 1:
        return np.full(table.shape[:-1], np.nan)
    return np.std(table, axis=-1, ddof=1) / math.sqrt(count)


def _of_sets(samples: ExampleSamples) -> dict[str, np.ndarray]:
    """Return means over sweeps and replicas, per set of examples."""
    R, q = np.mean(samples.R, axis=0), np.mean(samples.replica_overlap, axis=0)
    invariant = np.sqrt(np.sum(samples.R**2, axis=(-2, -1)) / samples.R.shape[-2])
    of_chains = {
        "R": np.array([matched_overlaps(x)[0] for x in R]),
        "invariant_overlap": np.mean(invariant, axis=0),
        "generalization_error": np.mean(samples.generalization_error, axis=0),
        "training_error": np.mean(samples.training_error, axis=0),
    }
    of_sets = {name: x.reshape(-1, REPLICAS).mean(axis=1) for name, x in of_chains.items()}
    return {**of_sets, "q": np.array([matched_overlaps(x)[0] for x in q])}


@recorded
def hysteresis(
    scenario: Scenario,
    loads: ArrayLike | None = None,
    *,
    examples: ArrayLike | None = None,
    temperature: float | str | None = None,
    dimension: int,
    sweeps: int = 200,
    runs: int = 8,
    seed: int = 0,
    start: Overlaps | str = "random",
    warm_up: int | None = None,
    method: Method | str | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Sweep the load up and down again; each load starts from the last state of the previous load.

    Where two minima coexist (oostwal2019 Sec. III A) the chain stays in the one it is in, and
    the way up differs from the way down; at a continuous transition both ways agree.

    Args:
        loads: α, increasing.
        examples: numbers P of examples, increasing, in place of loads: the same examples stay, and
            more are added to them on the way up.
        temperature: T > 0 of the examples, or "bayes", as in `sample`.
        sweeps, warm_up: at each load, in each direction.
        scenario, dimension, runs, seed, start, method: as in `sample`.
        progress: show a bar on a terminal.

    Returns:
        A Dataset over ``direction`` ("up", "down"), ``load`` and ``run``: means over the sweeps
        of Q, R and generalization_error, its standard error, and ``specialization``, the mean
        overlap of matched students and teachers minus that of all other pairs (R - S).  With
        examples the load is α̃ = P/(KN) and a run is a set of examples; there are the quantities of
        `sample` and ``specialization``, means over sweeps and both replicas.

    Examples:
        >>> import tutelage as tl
        >>> two = tl.Committee(2, tl.Erf())
        >>> scenario = tl.Scenario(two, two, output_scale=0.5**0.5)
        >>> short = {"temperature": 0.1, "dimension": 8, "sweeps": 5, "runs": 2}
        >>> both = tl.equilibrium.hysteresis(scenario, examples=[16, 32], **short)
        >>> both["load"].values.tolist()
        [1.0, 2.0]
    """
    given = "neither loads nor examples" if loads is None else "loads and examples"
    _check_one_of(loads, examples, temperature, given, ("examples=[100, 200]", "loads"))
    if examples is None:
        ladder = increasing_array("loads", loads, at_least=0.0)
        sampler = Sampler(scenario, dimension, sweeps, warm_up, runs, seed, start, method)
        steps: list[tuple[float, int | None]] = [(float(alpha), None) for alpha in ladder]
        coords: dict[str, Any] = {"load": ("load", ladder, {"symbol": "α"})}
        means: Callable[[Any], dict] = _means
    else:
        counts = _counts(examples)
        beta = 1 / _temperature(scenario, temperature)
        most = int(counts[-1])
        sampler = Sampler(scenario, dimension, sweeps, warm_up, runs, seed, start, method, most)
        steps = [(beta, int(count)) for count in counts]
        at = np.array([sampler.load(int(count)) for count in counts])
        coords = {
            "load": ("load", at, LOAD_OF_EXAMPLES),
            "examples": ("load", counts),
            "temperature": ((), 1 / beta, {"symbol": "T"}),
        }
        means = _means_of_sets
    rows = []
    with Progress(progress, 2 * len(steps), "loads") as bar:
        for strength, count in (*steps, *steps[::-1]):
            rows.append(means(sampler.drawn(strength, count)))
            bar.show(len(rows))
    ways = [rows[: len(steps)], rows[len(steps) :][::-1]]
    dims = {"Q": ("student", "student_2"), "R": ("student", "teacher")} if examples is None else {}
    data = {
        name: (
            ("direction", "load", "run", *dims.get(name, ())),
            np.array([[row[name] for row in way] for way in ways]),
        )
        for name in rows[0]
    }
    coords = {"direction": ["up", "down"], **coords}
    return xr.Dataset(data, coords={**coords, **_coordinates(scenario)} if dims else coords)


def _counts(examples: ArrayLike) -> np.ndarray:
    """Check numbers of examples: whole, at least one, increasing."""
    numbers = increasing_array("examples", examples, at_least=1.0, hint="examples=[100, 200]")
    for number in numbers:
        if number != round(number):
            raise InputError(
                "examples", f"{number:g}", "examples are whole numbers", "examples=[100, 200]"
            )
    return numbers.astype(int)


def _means_of_sets(samples: ExampleSamples) -> dict[str, np.ndarray]:
    """Return the means of every set of examples, and R − S."""
    own = np.array([matched_overlaps(x) for x in np.mean(samples.R, axis=0)])
    specialization = (own[:, 0] - own[:, 1]).reshape(-1, REPLICAS).mean(axis=1)
    return {**_of_sets(samples), "specialization": specialization}


class Sampler:
    """Weights of all runs, with their density, step size and random key."""

    def __init__(
        self, scenario, dimension, sweeps, warm_up, runs, seed, start, method, examples=None
    ):
        error = PairError(scenario, method)
        self.sweeps = positive_integer("sweeps", sweeps, "sweeps=1000")
        self.warm_up = sweeps if warm_up is None else positive_integer("warm_up", warm_up)
        runs, seed = positive_integer("runs", runs, "runs=8"), check_seed(seed)
        sets, runs = runs, runs * (1 if examples is None else REPLICAS)
        N, n = positive_integer("dimension", dimension, "dimension=200"), scenario.K + scenario.M
        if n > N:
            raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
        K, M = scenario.K, scenario.M
        check_memory("dimension", N, lambda N: 8 * N * (K * runs + M) * ARRAY_COPIES, "all weights")
        size = K * (K + M) + 2
        record = lambda n: 8 * n * runs * size * ARRAY_COPIES  # noqa: E731
        check_memory("sweeps", self.sweeps + self.warm_up, record, "the records of all runs")
        self.key, to_start = jax.random.split(jax.random.key(seed))
        self.start = _start(scenario, start)
        J, B = self.start.to_weights(N, seed)
        shape = (runs, *J.shape)
        self.J = jnp.broadcast_to(J, shape)
        if isinstance(start, str) and start == "random":
            J = jax.random.normal(to_start, shape)
            self.J = J / jnp.linalg.norm(J, axis=-1, keepdims=True)
        self.step, self.examples = 0.3, examples or 0
        self.gibbs: Gibbs | GibbsOfExamples = Gibbs(error, B)
        if examples is not None:
            check_memory(
                "examples", examples, lambda P: 16 * P * N * sets, "the inputs of all runs"
            )
            self.key, to_examples = jax.random.split(self.key)
            self.gibbs = GibbsOfExamples.draw(error, B, to_examples, sets, examples, REPLICAS)

    def load(self, examples: int) -> float:
        """α̃ = P/(KN)."""
        _, K, N = self.J.shape
        return examples / (K * N)

    def drawn(self, strength: float, examples: int | None = None) -> Any:
        """Warm up, then record; the next call continues from the last weights.

        examples: how many of the examples of each set are learned, by default all.
        """
        self.key, key = jax.random.split(self.key)
        gibbs = self.gibbs
        if isinstance(gibbs, GibbsOfExamples) and examples is not None:
            gibbs = gibbs.first(examples)
        warm = 0.5 / np.sqrt(1 + np.arange(self.warm_up))
        gains = jnp.asarray(np.concatenate([warm, np.zeros(self.sweeps)]))
        self.J, step, samples = chain(
            gibbs,
            jnp.asarray(strength),
            self.J,
            jnp.asarray(self.step),
            gains,
            key,
            STEPS_PER_TRAJECTORY,
        )
        # Without a force every step is accepted; longer ones would only circle the sphere again.
        self.step = min(float(step), math.pi / STEPS_PER_TRAJECTORY)
        return jax.tree.map(lambda x: np.asarray(x)[len(warm) :], samples)


def _start(scenario: Scenario, start: Overlaps | str) -> Overlaps:
    """Return the start as overlaps of students of norm one."""
    K, M, T = scenario.K, scenario.M, np.asarray(scenario.T)
    if isinstance(start, str) and start == "random":
        return Overlaps(Q=np.eye(K), R=np.zeros((K, M)), T=T)
    if isinstance(start, str) and start == "teacher":
        own = np.arange(K) % M
        size = np.sqrt(np.where(np.diag(T) > 0, np.diag(T), 1.0))
        return Overlaps((T / np.outer(size, size))[np.ix_(own, own)], (T / size[:, None])[own], T)
    if not isinstance(start, Overlaps):
        raise InputError("start", repr(start), f"it has to be {ALLOWED_STARTS}", 'start="random"')
    if start.R.shape != (K, M) or not np.allclose(start.T, T, rtol=0, atol=1e-12):
        raise InputError("start", f"R of shape {start.R.shape}", "it has to fit the scenario")
    if np.max(np.abs(np.diagonal(np.asarray(start.Q)) - 1)) > 1e-9:
        raise InputError("start", f"Q_ii = {np.diagonal(start.Q)}", "students have norm one")
    return start


def _variables(samples: Samples, dims: tuple[str, ...]) -> dict[str, Any]:
    """Make variables with the dimensions run and sweep."""
    Q, R, error, acceptance = (np.swapaxes(x, 0, 1) for x in samples)
    return {
        "Q": ((*dims, "student", "student_2"), Q),
        "R": ((*dims, "student", "teacher"), R),
        "generalization_error": (dims, error),
        "acceptance": ("run", np.mean(acceptance, axis=1)),
    }


def _means(samples: Samples) -> dict[str, np.ndarray]:
    """Return means over the sweeps of one load, per run."""
    R = np.mean(samples.R, axis=0)
    own = np.array([matched_overlaps(x) for x in R])
    return {
        "Q": np.mean(samples.Q, axis=0),
        "R": R,
        "specialization": own[:, 0] - own[:, 1],
        "generalization_error": np.mean(samples.generalization_error, axis=0),
        "standard_error": standard_error(samples.generalization_error.T),
        "acceptance": np.mean(samples.acceptance, axis=0),
    }


def _coordinates(scenario: Scenario) -> dict[str, np.ndarray]:
    students = np.arange(1, scenario.K + 1)
    teachers = np.arange(1, scenario.M + 1)
    return {"student": students, "student_2": students, "teacher": teachers}
