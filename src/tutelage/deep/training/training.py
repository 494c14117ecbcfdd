"""Stochastic gradient descent of many students at once, each with a teacher and data."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int, Key, PyTree

from tutelage._checks import shape_of
from tutelage._given import ArrayLike, CheckedInside, FileName
from tutelage._jax import jax, jnp
from tutelage._types import AnyArray, Scalar
from tutelage.deep.epochs import Measured, run_epochs
from tutelage.deep.measures import measure_runs
from tutelage.deep.network import Network
from tutelage.deep.training.examples import InputSource
from tutelage.deep.training.groups import (
    RunGroup,
    cast,
    concatenated,
    evaluation_set,
    first_students,
    groups_of,
    split_into_groups,
)
from tutelage.deep.training.record import as_dataset
from tutelage.deep.training.settings import Settings, settings
from tutelage.runs import provenance
from tutelage.runs.checkpoint import Checkpoint
from tutelage.runs.progress import Progress

# Steps whose examples are in memory at once: those of a run fit in the cache of a core, those of
# 32 runs with 100 inputs and 50 outputs take 0.1 GB of a GPU.
BLOCK = 125


@provenance.recorded
def train(
    hidden: CheckedInside[str | int | Sequence[int]],
    multiple: int = 5,
    polarity: ArrayLike = 0.0,
    *,
    inputs: int = 100,
    outputs: int = 50,
    epochs: int = 100,
    recorded: ArrayLike | None = None,
    examples: int | None = None,
    evaluation: int = 10_000,
    batch: int = 16,
    learning_rate: ArrayLike = 0.01,
    data: CheckedInside[str | ArrayLike] = "gaussian",
    fresh: bool | None = None,
    steps: int | None = None,
    construction: str = "text",
    start_scale: float = 1.0,
    precision: str = "float64",
    runs: int = 32,
    seed: int = 0,
    correlations: bool = False,
    checkpoint: FileName | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Train over-realized students with SGD, all runs and polarities in one compiled batch.

    W_l ← W_l - η ∂J/∂W_l,   J = mean over the batch and the C outputs of (f*_L - f_L)²

    Every run has a separate teacher, student and data; runs with the same number and another
    polarity differ in nothing else, those with another multiple in nothing but the student: several
    multiples are a sweep with ``"multiple": [1, 5], "seed": [0]``.  J is
    2/C times the objective of tian2020, eq. (2): with that objective, η = 0.01 and σ = 10 the
    students of the paper diverge within some steps.

    Args:
        hidden: nodes of the hidden layers of the teacher, such as "50-75-100-125" or 10.
        multiple: how many student nodes there are for each teacher node.
        polarity: p >= 0, or several.
        inputs, outputs: d and C.
        epochs: how many.
        recorded: those at which to record, increasing, 0 for the start; all when left out.
        examples: in an epoch; 10,000 unless ``data`` is an array.
        evaluation: examples of the evaluation set, drawn separately and the same for all runs.
        batch: examples in a step.
        learning_rate: η > 0, or pairs of an epoch and the rate from then on, as in
            ``[(0, 0.2), (20, 0.1)]``.
        data: "gaussian" (σ = 10), "uniform" (on [-15, 15]), either with its width as in
            "gaussian:1", or an array of shape (rows, d), of which a third of the rows, at random,
            is used for the evaluation.
        fresh: whether every epoch has new data; by default for distributions and not for arrays.
        steps: in an epoch, each with a batch drawn at random and with replacement from the fixed
            set; by default all examples come once, in random order.
        construction: of teachers and of the students' start: as in Section 8.16 of the paper
            ("text"), or in the public code of its authors ("code"); see `teacher` and `student`.
        start_scale: factor of the initial weights, greater than 0. It decides how many teacher
            nodes wide students recover.
        precision: of weights and activations in the steps, "float64" or "float32"; measurements are
            in float64.
        runs: how many, for each polarity.
        seed: a whole number of at least 0.
        correlations: whether to record all correlations, not only the best ones.
        checkpoint: a file name; the same call continues from it, with the same result.
        progress: whether to show a bar on a terminal.

    Returns:
        Dataset over ``run`` and ``epoch`` (and ``polarity``, if several were asked for) with
        evaluation_loss, the mean of (f*_L - f_L)²; and for each hidden layer l = 1, …
        teacher_correlation_l and student_correlation_l, the best of each node; winner_l and
        follows_l, the index of the partner; strength_l, √E[β_kk]; the last student_weights_l and
        _biases_l and those of the teacher, for `networks`; ``outcome``, "reached" or "diverged".
        Once a loss is not finite, correlations are missing, and winner_l and follows_l are -1.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> ds = tl.deep.train(2, 2, inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=3)
    >>> dict(ds.teacher_correlation_1.sizes)
    {'run': 3, 'epoch': 3, 'teacher_1': 2}
    """
    setup = settings(
        hidden,
        multiple,
        polarity,
        inputs=inputs,
        outputs=outputs,
        epochs=epochs,
        recorded=recorded,
        examples=examples,
        evaluation=evaluation,
        batch=batch,
        learning_rate=learning_rate,
        data=data,
        fresh=fresh,
        steps=steps,
        construction=construction,
        start_scale=start_scale,
        precision=precision,
        runs=runs,
        seed=seed,
        correlations=correlations,
    )
    dataset = _trained(setup, checkpoint, progress)
    return dataset.isel(polarity=0, drop=True) if shape_of("polarity", polarity) == () else dataset


def _trained(setup: Settings, checkpoint: FileName | None, progress: bool) -> xr.Dataset:
    saved = Checkpoint(checkpoint, setup.identity())
    groups, x = groups_of(setup), evaluation_set(setup)
    with Progress(progress, setup.epochs * setup.iterations, "steps") as bar:
        students, measured = run_epochs(
            split_into_groups(first_students(setup), groups),
            setup.epochs,
            setup.recorded,
            lambda students, epoch: advance(setup, groups, students, epoch),
            lambda students: _measured(groups, students, x, setup.correlations),
            saved,
            watch=lambda epoch, _: bar.show(epoch * setup.iterations),
            pack=concatenated,
            unpack=lambda students: split_into_groups(students, groups),
        )
    teachers = concatenated([group.teachers for group in groups])
    return as_dataset(setup, cast(teachers, float), cast(concatenated(students), float), measured)


def _measured(
    groups: Sequence[RunGroup],
    students: list[Network],
    x: Float[AnyArray, "examples inputs"],
    whole: bool,
) -> Measured:
    """Measure all runs at one epoch."""

    def one(group: RunGroup, students: Network) -> dict[str, Any]:
        return measure_runs(cast(students, float), cast(group.teachers, float), x, whole)

    parts = _on_all_cores(one, groups, students)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def advance(
    setup: Settings, groups: Sequence[RunGroup], students: list[Network], epoch: int
) -> list[Network]:
    """Train all groups of runs for one epoch."""
    number, η = jnp.asarray(epoch), jnp.asarray(setup.rate(epoch), setup.dtype)

    def one(group: RunGroup, students: Network) -> Network:
        orders = None if group.rows is None else _orders(group.keys, number, *_drawn(setup))
        data = group.teachers, group.keys, group.rows, orders
        for first in range(0, setup.iterations, BLOCK):
            steps = min(BLOCK, setup.iterations - first)
            begin = first * setup.batch, epoch * setup.examples + first * setup.batch
            # By default a GPU rounds the factors of float32 products to 10 bits.
            with jax.default_matmul_precision("highest"):
                students = _block(
                    *(students, data, jnp.asarray(begin), η, setup.data),
                    steps=steps,
                    batch=setup.batch,
                )
        return students

    return _on_all_cores(one, groups, students)


def _on_all_cores(call: Callable[..., PyTree], *lists: Sequence[PyTree]) -> list[Any]:
    """Call a function for each group in threads, so that several cores work."""
    if len(lists[0]) == 1:
        return [call(*(one for (one,) in lists))]
    return list(_pool().map(lambda *one: jax.block_until_ready(call(*one)), *lists))


def _cores() -> int | None:
    """Count the cores that this process may use, within a container or ``taskset``."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores())


@eqx.filter_jit
def _block(
    students: Network,
    data: tuple[PyTree, ...],
    begin: Int[Array, "2"],
    η: Float[Array, ""],
    source: InputSource,
    *,
    steps: int,
    batch: int,
) -> Network:
    """Take the steps of a group from a given example on; examples are numbered in the epoch and in
    all.

    Examples and teacher outputs are computed before the first step: gathered or drawn for each
    step alone they take longer than the step.
    """
    numbers = begin[:, None] + jnp.arange(steps * batch)[None]
    dtype = students.weights[0].dtype

    def answered(
        teacher: Network, key: Key[Array, ""], rows: Float[Array, "rows inputs"] | None, order: Any
    ) -> tuple[Any, Any]:
        if rows is None:
            x = source.draw(key, numbers[1], teacher.widths[0], dtype)
        else:
            x = rows[order[numbers[0]]].astype(dtype)
        return x, teacher(x)

    shared = data[2] is not None and data[2].ndim == 2
    examples = jax.vmap(answered, (0, 0, None if shared else 0, 0))(*data)
    batches = [jnp.swapaxes(z.reshape(len(z), steps, batch, -1), 0, 1) for z in examples]
    step: Any = jax.vmap(descend, (0, 0, 0, None))
    # A static number of steps saves a GPU a synchronization after each step.
    return jax.lax.scan(lambda now, xy: (step(now, *xy, η), None), students, batches)[0]


def _drawn(setup: Settings) -> tuple[int, int | None]:
    """Return the examples of a fixed set, and how many of them an epoch draws if not all."""
    return setup.examples, None if setup.steps is None else setup.steps * setup.batch


@eqx.filter_jit
def _orders(
    keys: Key[Array, " runs"], epoch: int | Int[Array, ""], examples: int, drawn: int | None = None
) -> Any:
    """Draw the order of the examples of each run's fixed set in an epoch."""
    now = jax.vmap(lambda key: jax.random.fold_in(key, epoch))(keys)
    if drawn is None:
        return jax.vmap(lambda key: jax.random.permutation(key, examples))(now)
    return jax.vmap(lambda key: jax.random.randint(key, (drawn,), 0, examples))(now)


def descend(
    student: Network,
    x: Float[Array, "batch inputs"],
    y: Float[Array, "batch outputs"],
    η: Scalar,
) -> Network:
    """Take a step W ← W - η ∂J/∂W, J the mean of (y - f_L)² over examples and outputs.

    -C/2 ∂J/∂W_l = E[f_{l-1} g_lᵀ],   g_L = y - f_L,   g_{l-1} = D_{l-1} W_l g_l

    (tian2020, eq. (1)); written out, it takes a sixth less time than an automatic derivative.
    """
    *hidden, output = student.activations(x)
    g = 2 * η / y.size * (y - output)
    weights, biases = [], []
    for W, b, f in reversed(list(zip(student.weights, student.biases, (x, *hidden), strict=True))):
        weights.append(W + f.T @ g)
        biases.append(b + jnp.sum(g, axis=0))
        g = jnp.where(f > 0, g @ W.T, 0.0)
    return Network(tuple(weights[::-1]), tuple(biases[::-1]))
