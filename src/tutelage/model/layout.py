"""A state as a list of named blocks, and as the vector that integrators and root finders work on.

`BLOCKS` is the table of all blocks.  Flow, linearization, simulations, records and figures take
names, axes, symbols and decays from it.  Another block is a row of the table and its terms.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tutelage._types import AnyArray
from tutelage.model.numbers import NUMBERS, Weights
from tutelage.model.overlaps import Overlaps

# Inverses of teacher overlaps in the cache, and the largest size of one.
MAX_CACHED_INVERSES, MAX_CACHED_NUMBERS = 16, 1000
# Letters of the axes in figures.
INDICES = {"student": "i", "student_2": "k", "teacher": "n", "output": "c"}


class Block(NamedTuple):
    """A block of a state: order parameters of one kind.

    name: name of the variable in Datasets.
    symbol: letter in formulas.
    dimensions: names of its axes, as in Datasets.
    factors: the weights of which an entry is a product; each of them decays.
    symmetric: whether the entries (i, k) and (k, i) of the last two axes are equal.
    """

    name: str
    symbol: str
    dimensions: tuple[str, ...] = ()
    factors: tuple[Weights, ...] = ()
    symmetric: bool = False

    def shape(self, sizes: Mapping[Any, int]) -> tuple[int, ...]:
        """The shape of the array of the block."""
        return tuple(sizes[name] for name in self.dimensions)

    def count(self, sizes: Mapping[Any, int]) -> int:
        """The number of independent entries."""
        *others, last = self.shape(sizes) or (1,)
        return math.prod(others) * (last + 1) // 2 if self.symmetric else math.prod(others) * last

    def entries(self, sizes: Mapping[Any, int]) -> list[tuple[int, ...]]:
        """The indices of the independent entries: of a symmetric block those with i <= k."""
        every = np.ndindex(*self.shape(sizes))
        return [index for index in every if not self.symmetric or index[-2] <= index[-1]]

    def label(self, index: tuple[int, ...], sizes: Mapping[Any, int]) -> str:
        """The name of an entry, such as R_12; the number of a single output is left out."""
        named = zip(self.dimensions, index, strict=True)
        numbers = "".join(str(i + 1) for d, i in named if d != "output" or sizes[d] > 1)
        return f"{self.symbol}_{numbers}" if numbers else self.symbol

    @property
    def tex(self) -> str:
        """The symbol with an index letter for each axis, for figures."""
        return f"${self.symbol}_{{{''.join(INDICES[name] for name in self.dimensions)}}}$"

    def decay(self, scenario: object) -> Any:
        """The rate at which the block decays: the sum of the decay rates of its factors."""
        acting = [n for n in NUMBERS if n.is_rate and n.acts_on in self.factors]
        return sum(self.factors.count(n.acts_on) * getattr(scenario, n.name) for n in acting)


BLOCKS = (
    Block("R", "R", ("student", "teacher"), ("first layer", "teacher")),
    Block("Q", "Q", ("student", "student_2"), ("first layer", "first layer"), symmetric=True),
    Block("readout", "v", ("output", "student"), ("second layer",)),
)
# The further blocks of a state with momentum: V·V, V·W and V·w* of the velocities V.
VELOCITIES = (
    Block("velocity_norm", "VV", ("student", "student_2"), ("velocity", "velocity"), True),
    Block("velocity_student", "VW", ("student", "student_2"), ("velocity", "first layer")),
    Block("velocity_teacher", "VT", ("student", "teacher"), ("velocity", "teacher")),
)


@dataclass(frozen=True)
class Layout:
    """The positions of the blocks of a state in its vector: one block after the other, in rows.

    >>> layout = layout_of(K=2, M=1)
    >>> layout.labels
    ('R_11', 'R_21', 'Q_11', 'Q_12', 'Q_22')
    >>> layout["Q"], layout.positions("Q").tolist()
    (slice(2, 5, None), [[2, 3], [3, 4]])
    >>> layout_of(K=2, M=1, outputs=1).labels[-2:]
    ('v_1', 'v_2')
    """

    blocks: tuple[Block, ...]
    sizes: Mapping[str, int]

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = [0, *accumulate(block.count(self.sizes) for block in self.blocks)]
        return {
            block.name: slice(*ends[number : number + 2])
            for number, block in enumerate(self.blocks)
        }

    def __getitem__(self, name: str) -> slice:
        """The positions of the independent entries of a block."""
        return self._slices[name]

    @property
    def size(self) -> int:
        """d, the length of the vector."""
        end: int = self._slices[self.blocks[-1].name].stop
        return end

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers, such as R_11 and Q_12."""
        sizes = self.sizes
        return tuple(b.label(index, sizes) for b in self.blocks for index in b.entries(sizes))

    @property
    def coordinates(self) -> dict[str, np.ndarray]:
        """Coordinates of a Dataset: indices of the units, and of the outputs if they learn."""
        names = {name for block in self.blocks for name in block.dimensions}
        return {d: np.arange(1, size + 1) for d, size in self.sizes.items() if d in names}

    def positions(self, name: str) -> Int[np.ndarray, "..."]:
        """Position of each entry of a block; entries (k, i) and (i, k) share one if it is
        symmetric.
        """
        positions: np.ndarray = self.arrays(np.arange(self.size))[name]
        return positions

    def vector(self, arrays: Mapping[str, object]) -> Any:
        """The vector of a state or of its rates of change, shape (..., d), from arrays by name.

        Leading axes are broadcast; arrays that are no block of the state are left out.  Arrays of
        NumPy stay such: outside a compiled function nothing has to be compiled for them.
        """
        parts = [_independent(block, arrays[block.name]) for block in self.blocks]
        leading = {part.shape[:-1] for part in parts}
        xp = parts[0].__array_namespace__()
        if len(leading) > 1:
            shape = np.broadcast_shapes(*leading)
            parts = [xp.broadcast_to(part, (*shape, part.shape[-1])) for part in parts]
        return xp.concat(parts, axis=-1)

    def arrays(self, vector: AnyArray) -> dict[str, Any]:
        """Undo `vector`: the array of every block, by name."""
        return {block.name: self._array(block, vector) for block in self.blocks}

    def _array(self, block: Block, vector: AnyArray) -> AnyArray:
        shape, part = block.shape(self.sizes), vector[..., self[block.name]]
        if not block.symmetric:
            return part.reshape(*vector.shape[:-1], *shape)
        pairs = shape[-1] * (shape[-1] + 1) // 2
        part = part.reshape(*vector.shape[:-1], *shape[:-2], pairs)
        return part[..., upper_triangle(shape[-1])]

    def overlaps(self, vector: AnyArray, T: Float[AnyArray, "... M M"]) -> Overlaps:
        """The overlaps of a state, for T of shape (..., M, M)."""
        arrays = self.arrays(vector)
        return unchecked(arrays["Q"], arrays["R"], T)

    def variables(
        self, vectors: AnyArray, over: tuple[str, ...], prefix: str = ""
    ) -> dict[str, tuple[tuple[str, ...], Any]]:
        """The blocks as variables of a Dataset, over further dimensions, sorted by name."""
        arrays = self.arrays(vectors)
        return {
            prefix + b.name: ((*over, *b.dimensions), arrays[b.name]) for b in sorted(self.blocks)
        }

    def factors(self, weights: str) -> Float[np.ndarray, " d"]:
        """Count the factors of each entry that are ``weights``; each factor adds its decay rate to
        the entry.
        """
        counts = [float(block.factors.count(weights)) for block in self.blocks]
        return np.repeat(counts, [block.count(self.sizes) for block in self.blocks])


@cache
def layout_of(K: int, M: int, outputs: int = 0, velocities: bool = False) -> Layout:
    """Return the layout of R and Q of K students and M teachers.

    outputs: if not 0, the state also has v of a second layer that learns.
    velocities: whether the state also has the overlaps of velocities, for steps with momentum.
    """
    sizes = {"student": K, "student_2": K, "teacher": M, "output": outputs}
    blocks = tuple(b for b in BLOCKS if outputs or "second layer" not in b.factors)
    return Layout(blocks + (VELOCITIES if velocities else ()), sizes)


def _independent(block: Block, array: AnyArray) -> AnyArray:
    """The independent entries of a block, shape (..., entries)."""
    leading = array.ndim - len(block.dimensions)
    if block.symmetric:
        i, k = upper_pairs(array.shape[-1])
        array = array[..., i, k]
    return array.reshape(*array.shape[:leading], math.prod(array.shape[leading:]))


def realizable(
    vector: Float[AnyArray, "... d"], T: Float[AnyArray, "... M M"], layout: Layout
) -> Float[np.ndarray, "... d"]:
    """Replace Q by the closest one that weights can have; leave the other blocks unchanged.

    Q - R T⁺ Rᵀ is the covariance of the student vectors orthogonal to the teachers.  Its negative
    eigenvalues, which are errors of an integration, are set to zero.

    >>> layout = layout_of(K=1, M=1)
    >>> realizable(np.array([1.0, 0.99]), np.array([[1.0]]), layout).tolist()  # R = 1, Q = 0.99
    [1.0, 1.0]
    """
    state, T = np.array(vector), np.asarray(T, dtype=np.float64)
    overlaps = layout.overlaps(state, T)
    is_small = T.size <= MAX_CACHED_NUMBERS
    inverted = _pseudoinverse if is_small else _pseudoinverse.__wrapped__
    inverse = inverted(T.tobytes(), T.shape)
    shared = overlaps.R @ inverse @ np.swapaxes(overlaps.R, -1, -2)
    own, directions = np.linalg.eigh(overlaps.Q - shared)
    lost = np.minimum(own, 0.0)[..., None, :] * directions @ np.swapaxes(directions, -1, -2)
    i, k = upper_pairs(lost.shape[-1])
    state[..., layout["Q"]] -= lost[..., i, k]
    return state


@lru_cache(MAX_CACHED_INVERSES)
def _pseudoinverse(content: bytes, shape: tuple[int, ...]) -> Float[np.ndarray, "... M M"]:
    """Return T⁺; the teachers are the same in many calls."""
    return np.linalg.pinv(np.frombuffer(content).reshape(shape), hermitian=True)


def unchecked(
    Q: Float[AnyArray, "... K K"], R: Float[AnyArray, "... K M"], T: Float[AnyArray, "... M M"]
) -> Overlaps:
    """Create `Overlaps` without validation: rates of change, or intermediate states."""
    overlaps = object.__new__(Overlaps)
    for name, value in (("Q", Q), ("R", R), ("T", T)):
        object.__setattr__(overlaps, name, value)
    return overlaps


@cache
def upper_pairs(K: int) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """Return i and k of the pairs i <= k, in the order of `upper_triangle`."""
    return np.triu_indices(K)


@cache
def upper_triangle(K: int) -> Int[np.ndarray, "K K"]:
    """Return the position of (i, k), and of (k, i), among the pairs i <= k."""
    position = np.zeros((K, K), dtype=int)
    position[upper_pairs(K)] = np.arange(K * (K + 1) // 2)
    return np.maximum(position, position.T)
