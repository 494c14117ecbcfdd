"""The bridge to the theory of infinitely many inputs: how far from it a student of d inputs is."""

from collections.abc import Iterable, Sequence
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
from tutelage.model.scenario import check_scenario
from tutelage.runs import provenance
from tutelage.runs.seed import check_seed

# What is compared, and its axes beside time.
COMPARED = {
    "Q": ("student", "student_2"),
    "R": ("student", "teacher"),
    "readout": ("output", "student"),
}


@provenance.recorded
def online_deviation(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    dimension: int | Sequence[int],
    until: float,
    readout_rate: float = 0.0,
    times: Any = None,
    runs: int = 32,
    seed: int = 0,
) -> xr.Dataset:
    """Two-layer students against `tutelage.online.evolve`.

    Students are networks of this room: f_c = Σ_k v_ck σ(w_k·x), x ~ N(0, 1), without biases, one
    example in a step.  The step of the theory is η/d times that of ½ Σ_c (f*_c - f_c)², for v
    η_v/d times; here the loss is the mean of (f*_c - f_c)² over C outputs, whose rate is η C/2d.
    Deviations of R = w_k·w*_j, Q = w_k·w_k' and, if it learns, v_ck from the theory are expected
    to shrink as 1/√d.

    Args:
        scenario: ReLU students and teachers, without noise, decay or scale of outputs.  Readouts
            are the fan-outs v_k of the last layer.
        start: overlaps that every run realises exactly.
        learning_rate: η > 0 of the theory.
        dimension: of the inputs, one or several, increasing.
        until: the last time α, in examples per input.
        readout_rate: η_v >= 0 of the last layer; 0 keeps it as it is, and η_v = η is one rate for
            both layers, as `tutelage.deep.train` has it.
        times: at which both are compared, increasing, up to ``until``; 11 from 0 on when left out.
        runs: for each dimension, at least two.
        seed: a whole number of at least 0.

    Returns:
        Dataset over ``dimension`` with ``deviation``, the root mean square over runs, times and
        overlaps; Q, R and, if it learns, the readout of all runs and of the theory; attributes
        ``exponent`` of the deviation against d and its standard error, if there are several
        dimensions.
    """
    d = _check(scenario, start, learning_rate, readout_rate, dimension, until, runs, seed)
    when = _times(times, float(until))
    from tutelage import online

    rates = float(learning_rate), float(readout_rate)
    options = {"until": float(until), "times": when}
    theory = online.evolve(scenario, start, rates[0], readout_rate=rates[1], **options)
    _check_theory(theory, float(until))
    theory = theory.reindex(time=when, method="ffill")  # one at rest has ended before the last time
    names = {name: dims for name, dims in COMPARED.items() if name in theory}
    expected = _as_vector(theory[name].values for name in names)
    found = [_students(scenario, start, rates, n, when, runs, seed) for n in d]
    gaps = np.stack([_as_vector(one[: len(names)]) - expected for one in found])
    law = _exponent(d, gaps) if len(d) > 1 else ()
    axes = ("dimension", "run", "time")
    every = zip(names.items(), zip(*found, strict=True), strict=False)
    return xr.Dataset(
        {
            "deviation": ("dimension", np.sqrt(np.mean(gaps**2, axis=(1, 2, 3)))),
            **{name: ((*axes, *dims), np.stack(values)) for (name, dims), values in every},
            **{f"{n}_theory": (("time", *dims), theory[n].values) for n, dims in names.items()},
        },
        coords={"dimension": d, "time": when},
        attrs=dict(zip(("exponent", "exponent_standard_error"), law, strict=False)),
    )


def _check(
    scenario: Any,
    start: Any,
    rate: Any,
    readout_rate: Any,
    dimension: Any,
    until: Any,
    runs: Any,
    seed: Any,
) -> list[int]:
    if not isinstance(scenario, Scenario) or not isinstance(start, Overlaps):
        raise InputError("scenario", repr(scenario), "it has to be a Scenario with its Overlaps")
    units = [who.activation for who in (scenario.student, scenario.teacher)]
    check_scenario(scenario)
    decays = (scenario.weight_decay, scenario.readout_decay)
    more = (scenario.label_noise, *decays, scenario.drift)
    plain = not any(float(x) for x in more)
    same = [float(s) for s in scenario.output_scale] == [1.0, 1.0]
    if not all(isinstance(g, ReLU) for g in units) or not plain or not same:
        allowed = "it has to be ReLU without noise, decay and scale of outputs"
        raise InputError("scenario", repr(scenario), allowed)
    finite_number("learning_rate", rate, above=0.0, hint="learning_rate=0.5")
    finite_number("readout_rate", readout_rate, at_least=0.0, hint="readout_rate=0.5")
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
    scenario: Scenario,
    start: Overlaps,
    rates: tuple[float, float],
    d: int,
    when: np.ndarray,
    runs: int,
    seed: int,
) -> tuple[np.ndarray, ...]:
    """Q, R and v of all runs at these times, shapes (runs, times, ...)."""
    frames = generator(seed, d).integers(2**31, size=runs)
    J, B = zip(*(start.to_weights(d, int(frame)) for frame in frames), strict=True)
    students = _layered(jnp.stack(J), scenario.student.weights)
    teachers = _layered(jnp.stack(B), scenario.teacher.weights)
    keys = jax.vmap(jax.random.key)(jnp.asarray(frames))
    marks = jnp.asarray(np.rint(when * d).astype(np.int64))
    η, η_v = rates
    # The mean over C outputs of (f* - f)² has 2/C times the gradient of ½ Σ_c (f*_c - f_c)².
    rate = jnp.asarray(η / d * scenario.outputs / 2)
    found = _learn(students, teachers, keys, rate, jnp.asarray(η_v / η), marks)
    return tuple(np.asarray(x) for x in found)


def _layered(J: Any, v: Any) -> Network:
    """A batch of networks with the filters J, shape (runs, K, d), and the outputs v σ(Jx)."""
    runs, K, _ = J.shape
    W = (jnp.swapaxes(J, 1, 2), jnp.broadcast_to(v.T, (runs, K, len(v))))
    return Network(W, (jnp.zeros((runs, K)), jnp.zeros((runs, len(v)))))


@eqx.filter_jit
def _learn(students: Network, teachers: Network, keys: Any, η: Any, ratio: Any, marks: Any) -> Any:
    """Steps with the rate η of the filters, and ``ratio`` times that of the last layer."""

    def one(student: Network, teacher: Network, key: Any) -> Any:
        B = teacher.weights[0]

        def step(s: Any, weights: Any) -> Any:
            x = jax.random.normal(jax.random.fold_in(key, s), (1, len(B)))
            W, V = descend(Network(weights, student.biases), x, teacher(x), η).weights
            return W, weights[1] + ratio * (V - weights[1])

        def record(weights: Any, ends: Any) -> Any:
            W, V = jax.lax.fori_loop(ends[0], ends[1], step, weights)
            return (W, V), (W.T @ W, W.T @ B, V.T)

        begin = jnp.concatenate([jnp.zeros(1, marks.dtype), marks[:-1]])
        return jax.lax.scan(record, student.weights, (begin, marks))[1]

    return jax.vmap(one)(students, teachers, keys)


def _as_vector(parts: Iterable[Any]) -> np.ndarray:
    """All entries of Q, R and v along one last axis."""
    return np.concatenate([x.reshape(*x.shape[:-2], -1) for x in parts], axis=-1)


def _exponent(d: list[int], gaps: np.ndarray) -> tuple[float, float]:
    """x of deviation ~ d^-x, and its standard error from the scatter of the runs."""
    squares = np.mean(gaps**2, axis=(2, 3))  # (dimensions, runs)
    x = np.log(d) - np.mean(np.log(d))
    slope = x / (x @ x)
    mean = squares.mean(axis=1)
    relative = squares.std(axis=1, ddof=1) / mean / np.sqrt(squares.shape[1])
    return float(-0.5 * slope @ np.log(mean)), float(0.5 * np.sqrt(slope**2 @ relative**2))
