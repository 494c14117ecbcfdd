"""The bridge to the theory of infinitely many inputs: how far from it a student of d inputs is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from tutelage._checks import InputError, finite_array, finite_number, positive_integer
from tutelage._jax import jax, jnp
from tutelage.activations import ReLU
from tutelage.deep.network import Network
from tutelage.deep.training.construction import generator
from tutelage.deep.training.training import descend
from tutelage.model import Overlaps, Scenario
from tutelage.model.scenario import check_plain
from tutelage.runs import provenance
from tutelage.runs.seed import check_seed


@provenance.recorded
def online_deviation(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    dimension: int | Sequence[int],
    until: float,
    times: Any = None,
    runs: int = 32,
    seed: int = 0,
) -> xr.Dataset:
    """Two-layer students with a scalar output against `tutelage.online.evolve`.

    Students are networks of this room: f = Σ_k σ(w_k·x), x ~ N(0, 1), one example in a step, only
    the filters learn.  The step of the theory is η/d times that of ½ (f* - f)².  Deviations of
    R = w_k·w*_j and Q = w_k·w_k' from the theory are expected to shrink as 1/√d.

    Args:
        scenario: ReLU students and teachers, without noise, decay or scale of outputs.
        start: overlaps that every run realises exactly.
        learning_rate: η > 0 of the theory.
        dimension: of the inputs, one or several, increasing.
        until: the last time α, in examples per input.
        times: at which both are compared, increasing, up to ``until``; 11 from 0 on when left out.
        runs: for each dimension, at least two.
        seed: a whole number of at least 0.

    Returns:
        Dataset over ``dimension`` with ``deviation``, the root mean square over runs, times and
        overlaps; Q and R of all runs and of the theory; attributes ``exponent`` of the deviation
        against d and its standard error, if there are several dimensions.
    """
    d = _check(scenario, start, learning_rate, dimension, until, runs, seed)
    when = _times(times, float(until))
    from tutelage import online

    theory = online.evolve(scenario, start, float(learning_rate), until=float(until), times=when)
    _check_theory(theory, float(until))
    theory = theory.reindex(time=when, method="ffill")  # one at rest has ended before the last time
    expected = _overlap_vector(theory["Q"].values, theory["R"].values)
    found = [_students(start, float(learning_rate), n, when, runs, seed) for n in d]
    gaps = np.stack([_overlap_vector(Q, R) - expected for Q, R in found])
    law = _exponent(d, gaps) if len(d) > 1 else ()
    axes = ("dimension", "run", "time", "student")
    return xr.Dataset(
        {
            "deviation": ("dimension", np.sqrt(np.mean(gaps**2, axis=(1, 2, 3)))),
            "Q": ((*axes, "student_2"), np.stack([Q for Q, _ in found])),
            "R": ((*axes, "teacher"), np.stack([R for _, R in found])),
            "Q_theory": (("time", "student", "student_2"), theory["Q"].values),
            "R_theory": (("time", "student", "teacher"), theory["R"].values),
        },
        coords={"dimension": d, "time": when},
        attrs=dict(zip(("exponent", "exponent_standard_error"), law, strict=False)),
    )


def _check(
    scenario: Any,
    start: Any,
    rate: Any,
    dimension: Any,
    until: Any,
    runs: Any,
    seed: Any,
) -> list[int]:
    if not isinstance(scenario, Scenario) or not isinstance(start, Overlaps):
        raise InputError("scenario", repr(scenario), "it has to be a Scenario with its Overlaps")
    units = [who.activation for who in (scenario.student, scenario.teacher)]
    more = (scenario.label_noise, scenario.weight_decay, scenario.drift)
    check_plain(scenario, "this training")
    plain = not any(float(x) for x in more)
    same = [float(s) for s in scenario.output_scale] == [1.0, 1.0]
    if not all(isinstance(g, ReLU) for g in units) or not plain or not same:
        allowed = "it has to be ReLU without noise, decay and scale of outputs"
        raise InputError("scenario", repr(scenario), allowed)
    finite_number("learning_rate", rate, above=0.0, hint="learning_rate=0.5")
    finite_number("until", until, above=0.0, hint="until=5")
    if positive_integer("runs", runs, "runs=32") < 2:
        raise InputError("runs", repr(runs), "their scatter needs at least 2", "runs=32")
    check_seed(seed)
    several = np.atleast_1d(np.asarray(dimension, dtype=object)).tolist()
    d = [positive_integer("dimension", n, "dimension=(50, 100, 200)") for n in several]
    n = scenario.K + scenario.M
    if d and d[0] < n:
        raise InputError("dimension", repr(d[0]), f"{n} filters need at least {n} dimensions")
    if not d or any(a >= b for a, b in pairwise(d)):
        allowed = "there have to be one or several, increasing"
        raise InputError("dimension", repr(dimension), allowed, "dimension=(50, 100, 200)")
    return d


def _times(times: Any, until: float) -> np.ndarray:
    if times is None:
        return np.linspace(0.0, until, 11)
    when = finite_array("times", times)
    inside = when.ndim == 1 and when.size > 1 and when[0] >= 0 and when[-1] <= until
    if not inside or np.any(np.diff(when) <= 0):
        allowed = f"there have to be at least 2, increasing, from 0 to until = {until:g}"
        raise InputError("times", repr(times), allowed, "times=[0, 1, 2]")
    return when


def _check_theory(theory: xr.Dataset, until: float) -> None:
    if theory.attrs["outcome"] == "diverged":
        end = float(theory.attrs["ended_at"])
        allowed = f"the theory diverges at {end:.4g}, before {until:g}"
        came = str(theory.attrs["learning_rate"])
        raise InputError("learning_rate", came, allowed, "a lower one, or an earlier until")


def _students(
    start: Overlaps, η: float, d: int, when: np.ndarray, runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Q and R of all runs at these times, shapes (runs, times, K, K) and (runs, times, K, M)."""
    frames = generator(seed, d).integers(2**31, size=runs)
    J, B = zip(*(start.to_weights(d, int(frame)) for frame in frames), strict=True)
    students, teachers = (_committee(jnp.stack(one)) for one in (J, B))
    keys = jax.vmap(jax.random.key)(jnp.asarray(frames))
    marks = jnp.asarray(np.rint(when * d).astype(np.int64))
    Q, R = _learn(students, teachers, keys, jnp.asarray(η / d / 2), marks)
    return np.asarray(Q), np.asarray(R)


def _committee(J: Any) -> Network:
    """A batch of networks with the filters J, shape (runs, K, d), and the output Σ_k σ(w_k·x)."""
    runs, K, _ = J.shape
    W = (jnp.swapaxes(J, 1, 2), jnp.ones((runs, K, 1)))
    return Network(W, (jnp.zeros((runs, K)), jnp.zeros((runs, 1))))


@eqx.filter_jit
def _learn(students: Network, teachers: Network, keys: Any, η: Any, marks: Any) -> Any:
    """The mean of (f* - f)² has twice the gradient of ½ (f* - f)², and η comes halved."""

    def one(student: Network, teacher: Network, key: Any) -> Any:
        B = teacher.weights[0]

        def step(s: Any, W: Any) -> Any:
            x = jax.random.normal(jax.random.fold_in(key, s), (1, len(B)))
            now = Network((W, student.weights[1]), student.biases)
            return descend(now, x, teacher(x), η).weights[0]

        def record(W: Any, ends: Any) -> Any:
            W = jax.lax.fori_loop(ends[0], ends[1], step, W)
            return W, (W.T @ W, W.T @ B)

        begin = jnp.concatenate([jnp.zeros(1, marks.dtype), marks[:-1]])
        return jax.lax.scan(record, student.weights[0], (begin, marks))[1]

    return jax.vmap(one)(students, teachers, keys)


def _overlap_vector(Q: Any, R: Any) -> np.ndarray:
    """All entries of Q and R along one last axis."""
    parts = [np.asarray(x).reshape(*x.shape[:-2], -1) for x in (Q, R)]
    return np.concatenate(parts, axis=-1)


def _exponent(d: list[int], gaps: np.ndarray) -> tuple[float, float]:
    """x of deviation ~ d^-x, and its standard error from the scatter of the runs."""
    squares = np.mean(gaps**2, axis=(2, 3))  # (dimensions, runs)
    x = np.log(d) - np.mean(np.log(d))
    slope = x / (x @ x)
    mean = squares.mean(axis=1)
    relative = squares.std(axis=1, ddof=1) / mean / np.sqrt(squares.shape[1])
    return float(-0.5 * slope @ np.log(mean)), float(0.5 * np.sqrt(slope**2 @ relative**2))
