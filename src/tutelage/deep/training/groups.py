"""Networks, keys and data before the first step, in groups that are computed together.

Runs come for one polarity after the other.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

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
from tutelage.deep.training.examples import RowSource
from tutelage.deep.training.settings import Settings


class RunGroup(NamedTuple):
    """Runs that are computed as one batch; arrays have a leading run axis."""

    teachers: Network
    keys: Any
    rows: Float[Array, "..."] | None  # fixed sets, or one array that all runs share


def first_students(setup: Settings) -> Network:
    """Make the students of all runs before the first step."""
    random = (generator(setup.seed, STUDENT, run) for _, run in _everyone(setup))
    networks = [
        make_student(one, setup.student, setup.start_scale, setup.construction) for one in random
    ]
    return cast(stacked(networks), setup.dtype)


def groups_of(setup: Settings) -> tuple[RunGroup, ...]:
    """Split all runs into groups, in the order of their students."""
    everyone = _everyone(setup)
    size = group_size(len(everyone))
    parts = (everyone[i : i + size] for i in range(0, len(everyone), size))
    return tuple(_group(setup, members) for members in parts)


def evaluation_set(setup: Settings) -> Float[Array, "examples inputs"]:
    """Return the evaluation examples, the same for all runs: drawn, or held-out rows of
    an array.
    """
    rows = setup.held_out
    if rows is None:
        random = generator(setup.seed, EVALUATION)
        rows = setup.data.sample(random, setup.evaluation, setup.teacher[0])
    return jnp.asarray(rows, float)


def group_size(runs: int) -> int:
    """Return runs per group: all on a GPU; one on a CPU, where groups go to several cores.

    XLA computes products of small matrices on one core, and a batch of them half as fast as one
    after the other, for which it has better code.
    """
    return 1 if jax.default_backend() == "cpu" else runs


def _everyone(setup: Settings) -> list[tuple[float, int]]:
    return [(p, run) for p in setup.polarity for run in range(setup.runs)]


def _group(setup: Settings, members: list[tuple[float, int]]) -> RunGroup:
    seed, source, inputs = setup.seed, setup.data, setup.teacher[0]
    teachers = [
        make_teacher(generator(seed, TEACHER, run), setup.teacher, p, source, setup.construction)
        for p, run in members
    ]
    rows: Any = None
    if isinstance(source, RowSource):
        rows = source.array
    elif not setup.fresh:  # in float32, the precision in which they are drawn
        random = (generator(seed, DATA, run) for _, run in members)
        rows = jnp.asarray(np.stack([source.sample(r, setup.examples, inputs) for r in random]))
    keys = _keys(jax.random.key(seed), jnp.asarray([run for _, run in members]))
    return RunGroup(cast(stacked(teachers), setup.dtype), keys, rows)


_keys = jax.jit(jax.vmap(jax.random.fold_in, (None, 0)))


def stacked(networks: list[Network]) -> Network:
    """Stack networks of equal widths into one batch."""
    return as_jax(jax.tree.map(lambda *arrays: np.stack(arrays), *networks))


def cast(networks: Network, dtype: DTypeLike) -> Network:
    """Return the networks in another precision."""
    return jax.tree.map(lambda x: x.astype(dtype), networks)


def concatenated(batches: Sequence[Network]) -> Network:
    """Concatenate batches."""
    return as_jax(jax.tree.map(lambda *arrays: np.concatenate(arrays), *batches))


def split_into_groups(batch: Network, groups: Sequence[RunGroup]) -> list[Network]:
    """Split a batch into its groups; the inverse of `concatenated`."""
    ends = np.cumsum([len(group.keys) for group in groups])
    parts = (np.split(np.asarray(x), ends[:-1]) for x in jax.tree.leaves(batch))
    shape = jax.tree.structure(batch)
    return [as_jax(jax.tree.unflatten(shape, one)) for one in zip(*parts, strict=True)]
