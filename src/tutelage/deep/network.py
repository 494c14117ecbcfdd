"""A layered ReLU network: weights, biases, fields and activations."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike, CheckedInside
from tutelage._jax import jax, jnp, match_rank
from tutelage._types import AnyArray


class Network(eqx.Module):
    """Layers l = 1, …, L of a ReLU network; the last one is linear (tian2020, Section 3).

    h_l = f_{l-1} W_l + b_l,   f_l = h_l I[h_l > 0] for l < L,   f_L = h_L,   f_0 = x

    weights: W_l of shape (..., n_{l-1}, n_l), so that a column is the filter w_k of a node and a
        row of W_{l+1} its fan-out v_k; leading axes are a batch of networks.
    biases: b_l of shape (..., n_l).
    """

    weights: tuple[Float[Array | np.ndarray, "..."], ...]
    biases: tuple[Float[Array | np.ndarray, "..."], ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """n_0, n_1, …, n_L: inputs, nodes of the hidden layers, outputs."""
        return (self.weights[0].shape[-2], *(W.shape[-1] for W in self.weights))

    @property
    def depth(self) -> int:
        """L, the number of layers of weights."""
        return len(self.weights)

    def fields(self, x: ArrayLike) -> tuple[Any, ...]:
        """Compute h_1, …, h_L, of shape (examples, n_l) for inputs of shape (examples, n_0)."""
        return _fields(self, jnp.asarray(x))

    def activations(self, x: ArrayLike) -> tuple[Any, ...]:
        """f_1, …, f_L of shape (examples, n_l)."""
        return _activations(self, jnp.asarray(x))

    def __call__(self, x: ArrayLike) -> Any:
        """f_L of shape (examples, n_L)."""
        return self.fields(x)[-1]


@eqx.filter_jit
def _fields(network: Network, x: Float[AnyArray, "examples inputs"]) -> tuple[Any, ...]:
    f, h = x, []
    for W, b in zip(network.weights, network.biases, strict=True):
        field = f @ W
        h.append(field + match_rank(b, field))
        f = relu(h[-1])
    return tuple(h)


@eqx.filter_jit
def _activations(network: Network, x: Float[AnyArray, "examples inputs"]) -> tuple[Any, ...]:
    *hidden, output = _fields(network, x)
    return (*(relu(h) for h in hidden), output)


def relu(h: Float[AnyArray, "..."]) -> Any:
    """Compute max(h, 0) with the derivative 0 at h = 0, like the paper's gates."""
    # With the condition h > 0 a NaN would become 0, and a diverged run would look like one at rest.
    return jnp.where(h <= 0, 0.0, h)


@validated
def network(weights: Sequence[ArrayLike], biases: Sequence[ArrayLike] | None = None) -> Network:
    """Make a network of weights.

    Args:
        weights: W_1, …, W_L, at least two, of shapes (n_{l-1}, n_l).
        biases: b_1, …, b_L of shapes (n_l,); zero when left out.

    Raises:
        InputError: shapes that do not fit, numbers that are not finite.

    >>> import tutelage as tl
    >>> one = tl.deep.network([[[1.0], [0.0]], [[2.0]]], [[-1.0], [0.0]])
    >>> one([[3.0, 7.0], [0.5, 7.0]])[:, 0].tolist()  # 2 (3 - 1)₊ and 2 (0.5 - 1)₊
    [4.0, 0.0]
    """
    W = [finite_array(f"weights[{i}]", array) for i, array in enumerate(weights)]
    if len(W) < 2:
        allowed = "there have to be at least two layers, a hidden one and the output"
        raise InputError("weights", f"{len(W)} arrays", allowed)
    for i, array in enumerate(W):
        if array.ndim != 2 or 0 in array.shape:
            allowed = "it has to be a matrix of shape (nodes below, nodes)"
            raise InputError(f"weights[{i}]", f"shape {array.shape}", allowed)
        if i and array.shape[0] != W[i - 1].shape[1]:
            allowed = f"the layer below has {W[i - 1].shape[1]} nodes"
            raise InputError(f"weights[{i}]", f"shape {array.shape}", allowed)
    b = [np.zeros(A.shape[1]) for A in W] if biases is None else _biases(biases, W)
    return as_jax(Network(tuple(W), tuple(b)))


def as_jax(networks: Network) -> Network:
    """Return the network with JAX arrays.

    Not by `jnp.asarray`, which compiles a program for every shape.
    """
    return jax.device_put(networks)


def _biases(biases: CheckedInside[Sequence[ArrayLike]], W: list[np.ndarray]) -> list[np.ndarray]:
    b = [finite_array(f"biases[{i}]", array) for i, array in enumerate(biases)]
    expected, received = [(A.shape[1],) for A in W], [a.shape for a in b]
    if expected != received:
        raise InputError("biases", f"shapes {received}", f"the weights need {expected}")
    return b


def check_network(argument: str, value: Network) -> None:
    """Check that this is one network, not a batch."""
    if any(W.ndim != 2 for W in value.weights):
        allowed = "it has to be one network"
        raise InputError(argument, "a batch of networks", allowed, "tl.deep.network(weights)")


def check_pair(student: Network, teacher: Network, *, wider: bool = False) -> None:
    """Check equal depth, inputs and outputs; with ``wider``, also that no layer of the student is
    narrower.
    """
    check_network("student", student)
    check_network("teacher", teacher)
    n, m = student.widths, teacher.widths
    if len(n) != len(m):
        allowed = f"the teacher has {len(m) - 1}, and both have to have the same depth"
        raise InputError("student", f"{len(n) - 1} layers", allowed)
    for what, end in (("inputs", 0), ("outputs", -1)):
        if n[end] != m[end]:
            raise InputError("student", f"{n[end]} {what}", f"the teacher has {m[end]}")
    if wider and any(a < b for a, b in zip(n, m, strict=True)):
        allowed = f"the theorem needs at least the widths of the teacher, {m}"
        raise InputError("student", f"widths {n}", allowed, "a student with multiple=2")


def check_examples(argument: str, x: ArrayLike, inputs: int) -> np.ndarray:
    """Check inputs of shape (examples, n_0), at least one."""
    array = finite_array(argument, x)
    if array.ndim != 2 or array.shape[1] != inputs or not len(array):
        allowed = f"it has to be a matrix with {inputs} columns and at least one row"
        raise InputError(argument, f"shape {array.shape}", allowed)
    return array
