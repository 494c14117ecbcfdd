"""Everything that follows from a plan before the first step: networks, keys, data."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_array
from tutelage._jax import jax, jnp
from tutelage.deep.network import Network, as_jax
from tutelage.deep.training.construction import (
    DATA,
    EVALUATION,
    STUDENT,
    TEACHER,
    generator,
    make_student,
    make_teacher,
)
from tutelage.deep.training.examples import Rows
from tutelage.deep.training.plan import Plan


class Group(NamedTuple):
    """Runs that are one batch; every array but shared rows begins with them."""

    students: Network
    teachers: Network
    keys: Any
    rows: Float[Array, "..."] | None  # fixed sets, or one array that all runs share


class Start(NamedTuple):
    """Groups of runs, for one polarity after the other, and what they are measured with."""

    groups: tuple[Group, ...]
    evaluation: Float[Array, "examples inputs"]


def begin(what: Plan, rest: Any = None) -> Start:
    """The start of all runs; ``rest``: an evaluation set, drawn if there is none."""
    if rest is None:
        random = generator(what.seed, EVALUATION)
        rest = what.data.sample(random, what.evaluation, what.teacher[0])
    everyone = [(p, run) for p in what.polarities for run in range(what.runs)]
    size = group_size(len(everyone))
    groups = (everyone[i : i + size] for i in range(0, len(everyone), size))
    return Start(tuple(_group(what, members) for members in groups), jnp.asarray(rest, float))


def group_size(runs: int) -> int:
    """All runs on a GPU; one on a CPU, where groups go to several cores.

    XLA computes products of small matrices on one core, and a batch of them half as fast as one
    after the other, for which it has better code.
    """
    return 1 if jax.default_backend() == "cpu" else runs


def _group(what: Plan, members: list[tuple[float, int]]) -> Group:
    seed, source, inputs = what.seed, what.data, what.teacher[0]
    students = [make_student(generator(seed, STUDENT, run), what.student) for _, run in members]
    teachers = [
        make_teacher(generator(seed, TEACHER, run), what.teacher, p, source) for p, run in members
    ]
    rows: Any = None
    if isinstance(source, Rows):
        rows = source.array
    elif not what.fresh:  # in the float32 in which they are drawn
        random = (generator(seed, DATA, run) for _, run in members)
        rows = jnp.asarray(np.stack([source.sample(r, what.examples, inputs) for r in random]))
    keys = _keys(jax.random.key(seed), jnp.asarray([run for _, run in members]))
    return Group(stacked(students), stacked(teachers), keys, rows)


_keys = jax.jit(jax.vmap(jax.random.fold_in, (None, 0)))


def stacked(networks: list[Network]) -> Network:
    """One batch of networks of the same widths."""
    return as_jax(jax.tree.map(lambda *arrays: np.stack(arrays), *networks))


def joined(batches: Sequence[Network]) -> Network:
    """One batch of several."""
    return as_jax(jax.tree.map(lambda *arrays: np.concatenate(arrays), *batches))


def parted(batch: Network, like: Sequence[Network]) -> list[Network]:
    """The batches that `joined` has made one of."""
    ends = np.cumsum([len(one.biases[0]) for one in like])
    parts = (np.split(np.asarray(x), ends[:-1]) for x in jax.tree.leaves(batch))
    shape = jax.tree.structure(batch)
    return [as_jax(jax.tree.unflatten(shape, one)) for one in zip(*parts, strict=True)]


def split(data: Any, seed: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two thirds of the rows to learn from and the rest to evaluate with, at random."""
    array = finite_array("data", data)
    if array.ndim != 2 or len(array) < 3:
        allowed = "there have to be at least 3 rows, a third of them for the evaluation"
        raise InputError("data", f"shape {array.shape}", allowed)
    order = generator(seed, EVALUATION).permutation(len(array))
    cut = math.ceil(2 * len(array) / 3)
    return array[order[:cut]], array[order[cut:]]
