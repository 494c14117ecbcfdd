"""Monte Carlo of real weight vectors: a check of the free energy that does not use it."""

import math
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, finite_number, positive_integer
from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.equilibrium.general.blocks import matched_overlaps
from tutelage.equilibrium.kernel.pair_error import PairError
from tutelage.equilibrium.sampling.autocorrelation import autocorrelation_time, standard_error
from tutelage.equilibrium.sampling.spheres import Gibbs, Record, chain
from tutelage.model import Overlaps, Scenario
from tutelage.runs.provenance import parameters

MOVES = 12  # great-circle steps in one trajectory; together one to three radians
STARTS = "random, teacher or Overlaps with Q_ii = 1"


def sample(
    scenario: Scenario,
    load: float,
    dimension: int,
    sweeps: int,
    seed: int = 0,
    runs: int = 8,
    start: Overlaps | str = "random",
    warm_up: int | None = None,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Draw weights from the density exp(-α K N ε_g) on the product of K spheres, for finite N.

    oostwal2019 eqs. (13) to (15) in the limit of high temperature.  A sweep is one trajectory
    of Hamiltonian Monte Carlo on the spheres, accepted or refused exactly (a Langevin equation
    would need noise of strength 2/β, and small steps).  Entropy is never computed: it is the
    volume in which the weights move.  Means differ from the minima of βf by O(1/N).

    Args:
        scenario: who learns from whom.
        load: α >= 0, multiplies K N times the scenario's own ε_g.
        dimension: N >= K + M.
        sweeps: how many are recorded.
        seed, runs: of independent chains.
        start: "random" on the spheres; "teacher", students at teachers (i at i modulo M); or
            overlaps, with Q_ii = 1.
        warm_up: sweeps before, while the step is tuned; as many as recorded by default.

    Returns:
        A Dataset with Q, R and generalization_error over ``run`` and ``sweep``, acceptance and
        the autocorrelation_time of ε_g in sweeps for each run.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> free = tl.equilibrium.sample(tl.Scenario(one, one), 0.0, dimension=50, sweeps=10, runs=2)
    >>> dict(free["R"].sizes), f"{float(free['acceptance'].min()):.6f}"  # nothing is refused
    ({'run': 2, 'sweep': 10, 'student': 1, 'teacher': 1}, '1.000000')
    """
    alpha = float(finite_number("load", load, at_least=0.0, hint="load=10.0"))
    walk = Walk(scenario, dimension, sweeps, warm_up, runs, seed, start, method)
    record = walk.go(alpha)
    data = _variables(record, ("run", "sweep"))
    tau = autocorrelation_time(data["generalization_error"][1])
    data["autocorrelation_time"] = ("run", tau)
    attrs = walk.attributes("equilibrium.sample", load=alpha, step=walk.step)
    return xr.Dataset(data, coords=_coordinates(scenario), attrs=attrs)


def hysteresis(
    scenario: Scenario,
    loads: Any,
    dimension: int,
    sweeps: int = 200,
    seed: int = 0,
    runs: int = 8,
    start: Overlaps | str = "random",
    warm_up: int | None = None,
    method: Method | str | None = None,
) -> xr.Dataset:
    """Sweep the load up and down again, each load starting from where the last one ended.

    Where two minima coexist (oostwal2019 Sec. III A) the chain stays in the one it is in, and
    the way up differs from the way down; at a continuous transition both ways agree.

    Args:
        loads: α, increasing.
        sweeps, warm_up: at each load, in each direction.
        scenario, dimension, seed, runs, start, method: as in `sample`.

    Returns:
        A Dataset over ``direction`` ("up", "down"), ``load`` and ``run``: means over the sweeps
        of Q, R and generalization_error, its standard error, and ``specialization``, the mean
        overlap of matched students and teachers minus that of all other pairs (R - S).
    """
    ladder = _loads(loads)
    walk = Walk(scenario, dimension, sweeps, warm_up, runs, seed, start, method)
    up = [_means(walk.go(alpha)) for alpha in ladder]
    down = [_means(walk.go(alpha)) for alpha in ladder[::-1]][::-1]
    both = [up, down]
    dims = {"Q": ("student", "student_2"), "R": ("student", "teacher")}
    data = {
        name: (
            ("direction", "load", "run", *dims.get(name, ())),
            np.array([[means[name] for means in way] for way in both]),
        )
        for name in up[0]
    }
    coords = {"direction": ["up", "down"], "load": ("load", ladder, {"symbol": "α"})}
    attrs = walk.attributes("equilibrium.hysteresis")
    return xr.Dataset(data, coords={**coords, **_coordinates(scenario)}, attrs=attrs)


class Walk:
    """The weights of all runs, and what is needed to move them."""

    def __init__(self, scenario, dimension, sweeps, warm_up, runs, seed, start, method):
        error = PairError(scenario, method)
        self.options = {
            "dimension": positive_integer("dimension", dimension, "dimension=200"),
            "sweeps": positive_integer("sweeps", sweeps, "sweeps=1000"),
            "warm_up": sweeps if warm_up is None else positive_integer("warm_up", warm_up),
            "runs": positive_integer("runs", runs, "runs=8"),
            "seed": seed,
        }
        N, n = self.options["dimension"], scenario.K + scenario.M
        if n > N:
            raise InputError("dimension", repr(N), f"{n} vectors need at least {n} dimensions")
        self.key, to_start = jax.random.split(jax.random.key(seed))
        self.start = _start(scenario, start)
        self.named = start if isinstance(start, str) else "overlaps"
        J, B = self.start.to_weights(N, seed)
        shape = (self.options["runs"], *J.shape)
        self.J = jnp.broadcast_to(J, shape)
        if self.named == "random":
            J = jax.random.normal(to_start, shape)
            self.J = J / jnp.linalg.norm(J, axis=-1, keepdims=True)
        self.gibbs, self.step = Gibbs(error, B), 0.3

    def go(self, load: float) -> Record:
        """Warm up and record; the next call goes on from here."""
        self.key, key = jax.random.split(self.key)
        warm = 0.5 / np.sqrt(1 + np.arange(self.options["warm_up"]))
        gains = jnp.asarray(np.concatenate([warm, np.zeros(self.options["sweeps"])]))
        self.J, step, record = chain(
            self.gibbs, jnp.asarray(load), self.J, jnp.asarray(self.step), gains, key, MOVES
        )
        # Without a force every step is accepted, and longer ones would only go round again.
        self.step = min(float(step), math.pi / MOVES)
        return jax.tree.map(lambda x: np.asarray(x)[len(warm) :], record)

    def attributes(self, computed_by: str, **options: Any) -> dict[str, Any]:
        """What has to be known to draw the same again."""
        options = {**self.options, "start_from": self.named, **options}
        attrs = parameters(computed_by, self.gibbs.error.scenario, self.start, 0.0, **options)
        del attrs["learning_rate"]  # nothing is learned
        return attrs


def _start(scenario: Scenario, start: Any) -> Overlaps:
    """A state of students of norm one."""
    K, M, T = scenario.K, scenario.M, np.asarray(scenario.T)
    if isinstance(start, str) and start == "random":
        return Overlaps(Q=np.eye(K), R=np.zeros((K, M)), T=T)
    if isinstance(start, str) and start == "teacher":
        own = np.arange(K) % M
        size = np.sqrt(np.where(np.diag(T) > 0, np.diag(T), 1.0))
        return Overlaps((T / np.outer(size, size))[np.ix_(own, own)], (T / size[:, None])[own], T)
    if not isinstance(start, Overlaps):
        raise InputError("start", repr(start), f"it has to be {STARTS}", 'start="random"')
    if start.R.shape != (K, M) or not np.allclose(start.T, T, rtol=0, atol=1e-12):
        raise InputError("start", f"R of shape {start.R.shape}", "it has to fit the scenario")
    if np.max(np.abs(np.diagonal(np.asarray(start.Q)) - 1)) > 1e-9:
        raise InputError("start", f"Q_ii = {np.diagonal(start.Q)}", "students have norm one")
    return start


def _loads(loads: Any) -> np.ndarray:
    array = finite_array("loads", loads)
    if array.ndim != 1 or not len(array) or np.any(np.diff(array) <= 0) or array[0] < 0:
        raise InputError(
            "loads", f"{array.tolist()!r:.80}", "loads have to increase, from 0 or later"
        )
    return array


def _variables(record: Record, dims: tuple[str, ...]) -> dict[str, Any]:
    """Runs first, sweeps second."""
    Q, R, error, acceptance = (np.swapaxes(x, 0, 1) for x in record)
    return {
        "Q": ((*dims, "student", "student_2"), Q),
        "R": ((*dims, "student", "teacher"), R),
        "generalization_error": (dims, error),
        "acceptance": ("run", np.mean(acceptance, axis=1)),
    }


def _means(record: Record) -> dict[str, np.ndarray]:
    """Means over the sweeps of one load, for every run."""
    R = np.mean(record.R, axis=0)
    own = np.array([matched_overlaps(x) for x in R])
    return {
        "Q": np.mean(record.Q, axis=0),
        "R": R,
        "specialization": own[:, 0] - own[:, 1],
        "generalization_error": np.mean(record.generalization_error, axis=0),
        "standard_error": standard_error(record.generalization_error.T),
        "acceptance": np.mean(record.acceptance, axis=0),
    }


def _coordinates(scenario: Scenario) -> dict[str, np.ndarray]:
    students = np.arange(1, scenario.K + 1)
    teachers = np.arange(1, scenario.M + 1)
    return {"student": students, "student_2": students, "teacher": teachers}
