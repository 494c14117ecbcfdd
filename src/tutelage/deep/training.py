"""Stochastic gradient descent of many students at once, each with its own teacher and data."""

import math
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage import __version__
from tutelage._jax import jax, jnp
from tutelage.checks import InputError, finite_array
from tutelage.deep.checkpoint import Checkpoint
from tutelage.deep.construction import (
    DATA,
    EVALUATION,
    STUDENT,
    TEACHER,
    generator,
    make_student,
    make_teacher,
)
from tutelage.deep.examples import Examples, Rows
from tutelage.deep.measures import measure_runs
from tutelage.deep.network import Network, as_jax
from tutelage.deep.plan import Plan, plan
from tutelage.deep.record import as_dataset
from tutelage.simulation.progress import Progress

# Runs in a group: 16 are 5 percent faster on two cores, and 8 use more cores.
GROUP = 8


def train(
    hidden: Any,
    multiple: int = 5,
    polarity: Any = 0.0,
    *,
    inputs: int = 100,
    outputs: int = 50,
    epochs: Any = 100,
    examples: int | None = None,
    evaluation: int = 10_000,
    batch: int = 16,
    learning_rate: float = 0.01,
    data: Any = "gaussian",
    fresh: bool | None = None,
    runs: int = 32,
    seed: int = 0,
    correlations: bool = False,
    checkpoint: Any = None,
    progress: bool = False,
) -> xr.Dataset:
    """Train over-realized students with SGD, all runs and polarities in one batch.

    W_l ← W_l - η ∂J/∂W_l,   J = mean over the batch and the C outputs of (f*_L - f_L)²

    Every run has a teacher, a student and data of its own; runs with the same number and another
    polarity differ in nothing else.  J is 2/C times the objective of tian2020, eq. (2): with that
    one, η = 0.01 and σ = 10 the students of the paper diverge within some steps.

    Args:
        hidden: nodes of the hidden layers of the teacher, such as "50-75-100-125" or 10.
        multiple: how many student nodes there are for each teacher node.
        polarity: p >= 0, or several.
        inputs, outputs: d and C.
        epochs: how many, each recorded; or those to record, increasing, from 0 for the start.
        examples: in an epoch; 10,000 unless ``data`` is an array.
        evaluation: examples of the evaluation set, drawn apart and the same for all runs.
        batch: examples in a step.
        learning_rate: η > 0.
        data: "gaussian" (σ = 10), "uniform" (on [-15, 15]), either with its width as in
            "gaussian:1", or an array of shape (rows, d), a third of whose rows, at random, are
            kept for the evaluation.
        fresh: whether every epoch has new data; by default for distributions and not for arrays.
        runs: how many, for each polarity.
        seed: a whole number of at least 0.
        correlations: whether to keep all correlations, not only the best ones.
        checkpoint: a file name; the same call continues from it, with the same result.
        progress: whether to show a bar on a terminal.

    Returns:
        Dataset over ``run`` and ``epoch`` (and ``polarity``, if several were asked for) with
        evaluation_loss, the mean of (f*_L - f_L)²; and for each hidden layer l = 1, …
        teacher_correlation_l and student_correlation_l, the best of each node; winner_l and
        follows_l, with whom; strength_l, √E[β_kk]; the last student_weights_l and _biases_l and
        those of the teacher, for `networks`; ``outcome``, "reached" or "diverged".

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> ds = tl.deep.train(2, 2, inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=3)
    >>> dict(ds.teacher_correlation_1.sizes)
    {'run': 3, 'epoch': 3, 'teacher_1': 2}
    """
    rest = None
    if not isinstance(data, str | Examples):
        data, rest = split(data, seed)
        evaluation = len(rest)
        fresh = bool(fresh)
    what = plan(
        hidden,
        multiple,
        polarity,
        inputs=inputs,
        outputs=outputs,
        epochs=epochs,
        examples=10_000 if examples is None and isinstance(data, str | Examples) else examples,
        evaluation=evaluation,
        batch=batch,
        learning_rate=learning_rate,
        data=data,
        fresh=True if fresh is None else fresh,
        runs=runs,
        seed=seed,
    )
    attrs = attributes(what, correlations)
    saved = Checkpoint(checkpoint, attrs, () if rest is None else (data, rest))
    start = begin(what, rest)
    with Progress(progress, what.epochs * what.iterations) as bar:
        state, told = _run(what, start, saved, correlations, bar)
    return as_dataset(what, attrs, start.teachers, state, told)


class Start(NamedTuple):
    """Everything that follows from a plan: networks, keys, data."""

    teachers: Network
    students: Network
    keys: Any
    data: tuple[Float[Array, "..."] | None, ...]  # fixed sets, one array for each group of runs
    evaluation: Float[Array, "examples inputs"]


def begin(what: Plan, rest: Any = None) -> Start:
    """The start of all runs, for one polarity after the other."""
    source, n = what.data, len(what.polarities)
    teachers = [
        make_teacher(generator(what.seed, TEACHER, run), what.teacher, p, source)
        for p in what.polarities
        for run in range(what.runs)
    ]
    students = [
        make_student(generator(what.seed, STUDENT, run), what.student) for run in range(what.runs)
    ]
    if rest is None:
        random = generator(what.seed, EVALUATION)
        rest = source.sample(random, what.evaluation, what.teacher[0])
    root = jax.random.key(what.seed)
    keys = jax.vmap(lambda run: jax.random.fold_in(root, run))(jnp.arange(what.runs))
    return Start(
        stacked(teachers),
        stacked(n * students),
        jnp.tile(keys, n),
        tuple(_stored(what, group) for group in groups(what)),
        jnp.asarray(rest, float),
    )


def groups(what: Plan) -> list[slice]:
    """Runs that are one batch: all on a GPU; some on a CPU, where groups go to several cores.

    Their size does not depend on the number of cores, so that no bit of a result does.
    """
    total = len(what.polarities) * what.runs
    size = total if jax.default_backend() != "cpu" else GROUP
    return [slice(i, min(i + size, total)) for i in range(0, total, size)]


def stacked(networks: list[Network]) -> Network:
    """One batch of networks of the same widths."""
    return as_jax(jax.tree.map(lambda *arrays: np.stack(arrays), *networks))


def _stored(what: Plan, group: slice) -> Any:
    """Fixed sets of a group of runs, in the float32 in which they were drawn."""
    if what.fresh or isinstance(what.data, Rows):
        return None
    runs = [i % what.runs for i in range(group.start, group.stop)]
    return jnp.asarray(
        np.stack(
            [
                what.data.sample(generator(what.seed, DATA, run), what.examples, what.teacher[0])
                for run in runs
            ]
        )
    )


def _run(
    what: Plan, start: Start, saved: Checkpoint, whole: bool, bar: Progress
) -> tuple[Network, dict[str, np.ndarray]]:
    """All epochs, from the beginning or from a checkpoint; recorded arrays begin with epochs."""
    state, told, epoch = saved.load(start.students)
    try:
        while True:
            if epoch in what.recorded and len(told) <= what.recorded.index(epoch):
                now = measure_runs(state, start.teachers, start.evaluation, whole)
                told.append({name: np.asarray(x) for name, x in now.items()})
            if epoch == what.epochs:
                break
            state = advance(what, start, state, epoch)
            epoch += 1
            bar.show(epoch * what.iterations)
            saved.save_now_and_then(state, told, epoch)
    finally:
        saved.save(state, told, epoch)
    return state, {name: np.stack([one[name] for one in told]) for name in told[0]}


def advance(what: Plan, start: Start, students: Network, epoch: int) -> Network:
    """One epoch of all runs, a group of them on each core.

    XLA computes products of small matrices on one core, however many there are.
    """

    numbers = (
        jnp.asarray(epoch),
        jnp.asarray(what.learning_rate),
        jnp.asarray(what.iterations),
    )
    shared = what.data.array if isinstance(what.data, Rows) else None
    calls = [
        (
            *jax.tree.map(lambda x, g=group: x[g], (students, start.teachers, start.keys)),
            shared if rows is None else rows,
            *numbers,
        )
        for group, rows in zip(groups(what), start.data, strict=True)
    ]

    def one(call: Any) -> Network:
        return _epoch(*call, source=what.data, examples=what.examples, batch=what.batch)

    if len(calls) == 1:
        return one(calls[0])
    # Arguments that are ready and threads that wait: otherwise groups are computed in turn.
    jax.block_until_ready(calls)
    done = _pool().map(lambda call: jax.block_until_ready(one(call)), calls)
    return jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *done)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count())


@eqx.filter_jit
def _epoch(
    students: Network,
    teachers: Network,
    keys: Any,
    rows: Any,
    epoch: Any,
    η: Any,
    iterations: Any,
    *,
    source: Examples,
    examples: int,
    batch: int,
) -> Network:
    fixed = rows is not None
    orders = jax.vmap(lambda key: _order(key, epoch, examples))(keys) if fixed else keys
    shared = fixed and rows.ndim == 2

    def step(student: Any, teacher: Any, key: Any, order: Any, rows: Any, i: Any) -> Any:
        if fixed:
            x = rows[jax.lax.dynamic_slice_in_dim(order, i * batch, batch)].astype(float)
        else:
            s = epoch * examples + i * batch + jnp.arange(batch)
            x = source.draw(key, s, student.weights[0].shape[0])
        return descend(student, x, teacher(x), η)

    steps = jax.vmap(step, (0, 0, 0, 0, None if shared or not fixed else 0, None))
    return jax.lax.fori_loop(
        0, iterations, lambda i, now: steps(now, teachers, keys, orders, rows, i), students
    )


def _order(key: Any, epoch: Any, examples: int) -> Any:
    """In which order the examples of a fixed set come in an epoch."""
    return jax.random.permutation(jax.random.fold_in(key, epoch), examples)


def descend(student: Network, x: Any, y: Any, η: Any) -> Network:
    """W ← W - η ∂J/∂W, J the mean of (y - f_L)² over examples and outputs."""
    gradient = jax.grad(lambda student: jnp.mean((student(x) - y) ** 2))(student)
    return jax.tree.map(lambda w, g: w - η * g, student, gradient)


def split(data: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two thirds of the rows to learn from and the rest to evaluate with, at random."""
    array = finite_array("data", data)
    if array.ndim != 2 or len(array) < 3:
        allowed = "there have to be at least 3 rows, a third of them for the evaluation"
        raise InputError("data", f"shape {array.shape}", allowed)
    order = generator(seed, EVALUATION).permutation(len(array))
    cut = math.ceil(2 * len(array) / 3)
    return array[order[:cut]], array[order[cut:]]


def attributes(what: Plan, whole: bool) -> dict[str, Any]:
    """What has to be known to compute it again."""
    return {
        "computed_by": "deep.train",
        "teacher": "-".join(map(str, what.teacher)),
        "student": "-".join(map(str, what.student)),
        "polarity": ", ".join(f"{p:g}" for p in what.polarities),
        "runs": what.runs,
        "epochs": ", ".join(map(str, what.recorded)),
        "examples": what.examples,
        "evaluation": what.evaluation,
        "batch": what.batch,
        "learning_rate": what.learning_rate,
        "data": what.data.name,
        "fresh": int(what.fresh),
        "seed": what.seed,
        "correlations": int(whole),
        "tutelage_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
    }
