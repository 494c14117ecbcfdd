"""A state as a vector: what integrators and root finders work on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from tutelage.model.overlaps import Overlaps


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a state stand: R row by row, then Q_ik for i <= k.

    outputs: of a second layer that learns; its weights v_ci stand last, output by output.

    >>> layout = Layout(K=2, M=1)
    >>> layout.labels
    ('R_11', 'R_21', 'Q_11', 'Q_12', 'Q_22')
    >>> layout.pairs.tolist(), layout.diagonal.tolist()
    ([[2, 3], [3, 4]], [2, 4])
    >>> Layout(K=2, M=1, outputs=1).labels[-2:]
    ('v_1', 'v_2')
    """

    K: int
    M: int
    outputs: int = 0

    @property
    def R(self) -> slice:
        """Where R_in stand."""
        return slice(0, self.K * self.M)

    @property
    def Q(self) -> slice:
        """Where Q_ik stand."""
        return slice(self.R.stop, self.R.stop + self.K * (self.K + 1) // 2)

    @property
    def v(self) -> slice:
        """Where v_ci stand."""
        return slice(self.Q.stop, self.Q.stop + self.outputs * self.K)

    @property
    def size(self) -> int:
        """d = K M + K (K + 1)/2, and one for each v_ci."""
        return self.v.stop

    @property
    def pairs(self) -> Int[np.ndarray, "K K"]:
        """The place of each Q_ik, which is that of Q_ki."""
        return self.Q.start + upper_triangle(self.K)

    @property
    def diagonal(self) -> Int[np.ndarray, " K"]:
        """The places of Q_ii."""
        return np.diagonal(self.pairs)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the numbers, such as R_11 and Q_12."""
        R = [f"R_{i + 1}{n + 1}" for i, n in np.ndindex(self.K, self.M)]
        Q = [f"Q_{i + 1}{k + 1}" for i, k in zip(*np.triu_indices(self.K), strict=True)]
        of_output = (lambda c: "") if self.outputs == 1 else (lambda c: f"{c + 1}")
        v = [f"v_{of_output(c)}{i + 1}" for c, i in np.ndindex(self.outputs, self.K)]
        return (*R, *Q, *v)

    @property
    def decay(self) -> Float[np.ndarray, " d"]:
        """How often weight decay acts on each number: on R_in once, on Q_ik twice, not on v_ci."""
        factors = np.zeros(self.size)
        factors[self.R], factors[self.Q] = 1.0, 2.0
        return factors

    @property
    def coordinates(self) -> dict[str, np.ndarray]:
        """Of the variables of a Dataset: numbers of the units, and of outputs that learn."""
        names = {"student": self.K, "student_2": self.K, "teacher": self.M, "output": self.outputs}
        return {name: np.arange(1, count + 1) for name, count in names.items() if count}

    def variables(
        self, vectors: Any, over: tuple[str, ...], prefix: str = ""
    ) -> dict[str, tuple[tuple[str, ...], Any]]:
        """Q, R, and the readout if it learns, as a Dataset has them, over further dimensions."""
        R = vectors[..., self.R].reshape(*vectors.shape[:-1], self.K, self.M)
        found = {
            "Q": ((*over, "student", "student_2"), vectors[..., self.pairs]),
            "R": ((*over, "student", "teacher"), R),
        }
        if self.outputs:
            found["readout"] = ((*over, "output", "student"), self.readout(vectors))
        return {prefix + name: variable for name, variable in found.items()}

    def readout(self, vector: Any) -> Any:
        """v of a state, shape (..., outputs, K)."""
        return vector[..., self.v].reshape(*vector.shape[:-1], self.outputs, self.K)


def to_vector(overlaps: Overlaps) -> Any:
    """The numbers of a state in the order of `Layout`, shape (..., d).

    Arrays of NumPy stay such: outside a compiled function nothing has to be compiled for them.
    """
    R, Q = overlaps.R, overlaps.Q
    i, k = np.triu_indices(overlaps.K)
    parts = [R.reshape(*R.shape[:-2], -1), Q[..., i, k]]
    return R.__array_namespace__().concat(parts, axis=-1)


def to_overlaps(vector: Any, T: Any, K: int) -> Overlaps:
    """Undo `to_vector`: from shape (..., d) and T of shape (..., M, M); v is left out."""
    layout = Layout(K, T.shape[-1])
    R = vector[..., layout.R].reshape(*vector.shape[:-1], K, layout.M)
    return unchecked(vector[..., layout.pairs], R, T)


def realizable(vector: Any, T: Any, K: int) -> Float[np.ndarray, "... d"]:
    """The state with a Q that weights can have, R and T as they are.

    Q - R T⁺ Rᵀ, the overlaps of what students have beside the teachers, loses its negative
    eigenvalues: those are errors of an integration.

    >>> realizable(np.array([1.0, 0.99]), np.array([[1.0]]), 1).tolist()  # R = 1, Q = 0.99
    [1.0, 1.0]
    """
    vector, T = np.array(vector), np.asarray(T)
    layout, overlaps = Layout(K, T.shape[-1]), to_overlaps(vector, T, K)
    shared = overlaps.R @ np.linalg.pinv(T, hermitian=True) @ np.swapaxes(overlaps.R, -1, -2)
    own, directions = np.linalg.eigh(overlaps.Q - shared)
    lost = np.minimum(own, 0.0)[..., None, :] * directions @ np.swapaxes(directions, -1, -2)
    i, k = np.triu_indices(K)
    vector[..., layout.Q] -= lost[..., i, k]
    return vector


def unchecked(Q: Any, R: Any, T: Any) -> Overlaps:
    """Overlaps that are not checked: rates of change, or states on the way."""
    overlaps = object.__new__(Overlaps)
    for name, value in (("Q", Q), ("R", R), ("T", T)):
        object.__setattr__(overlaps, name, value)
    return overlaps


def upper_triangle(K: int) -> Int[np.ndarray, "K K"]:
    """Where (i, k) and (k, i) stand among the pairs i <= k."""
    place = np.zeros((K, K), dtype=int)
    place[np.triu_indices(K)] = np.arange(K * (K + 1) // 2)
    return np.maximum(place, place.T)
