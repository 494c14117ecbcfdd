"""A convolutional ReLU network: kernels, biases, activations of its channels."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float

from tutelage._arguments import validated
from tutelage._checks import InputError, positive_integer, shape_of, short_repr
from tutelage._given import CheckedInside
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage._types import AnyArray
from tutelage.runs.seed import check_seed

KERNEL = 3  # width of a kernel in pixels


class ConvNet(NamedTuple):
    """Layers l = 1, …, L: convolutions with ReLU, then a linear layer (tian2020, Section 6).

    h_l = f_{l-1} * W_l + b_l,   f_l = h_l I[h_l > 0] for l < L;   f_L = vec(f_{L-1}) W_L + b_L

    weights: kernels of shape (3, 3, n_{l-1}, n_l); the last one (pixels · n_{L-1}, n_L).
    biases: of shape (n_l,).

    The paper gives the widths and L = 5, nothing else.  Here kernels have 3 × 3 pixels, zeros
    around the image, and every second convolution moves by two pixels, so that a layer is a
    linear map and a ReLU, as in the theory, and no pooling comes in between.  Arithmetic has the
    precision of the weights: float32, or the half of it, which is what graphics processors are
    fast in; nothing here is compared with a theory to more than some digits.
    """

    weights: tuple[Any, ...]
    biases: tuple[Any, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """n_0, n_1, …, n_L: numbers of colours, channels of the hidden layers, outputs."""
        return (self.weights[0].shape[-2], *(W.shape[-1] for W in self.weights))

    def activations(self, images: Float[AnyArray, "n h w colours"]) -> tuple[Any, ...]:
        """f_1, …, f_{L-1} of shape (images, height, width, n_l), and f_L of shape (images, n_L)."""
        f, hidden = images, []
        for layer, (W, b) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
            h = convolve(f, W, stride(layer)) + b[None, None, None]
            f = jnp.where(h > 0, h, jnp.zeros((), h.dtype))
            hidden.append(f)
        return (*hidden, f.reshape(len(f), -1) @ self.weights[-1] + self.biases[-1][None])

    def __call__(self, images: Float[AnyArray, "n h w colours"]) -> Any:
        """f_L of shape (images, n_L)."""
        return self.activations(images)[-1]


def stride(layer: int) -> int:
    """Return the stride of a layer in pixels: 1, 2, 1, 2, … from layer 0."""
    return 1 + layer % 2


def convolve(f: Float[AnyArray, "n h w a"], W: Float[AnyArray, "u v a b"], stride: int) -> Any:
    """Σ f[i, s y + u - 1, s x + v - 1, a] W[u, v, a, b] over u, v, a; zero outside the image."""
    if jax.default_backend() == "cpu":
        return product_of_patches(f, W, stride)
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        f, W, (stride, stride), ((1, 1), (1, 1)), dimension_numbers=layout
    )


def product_of_patches(
    f: Float[AnyArray, "n h w a"], W: Float[AnyArray, "u v a b"], stride: int
) -> Any:
    """Compute the convolution as one matrix product, which is faster on CPUs.

    XLA computes the gradient of a convolution on a processor, within a loop, without its fast
    library for products of matrices, some tens of times slower than this.
    """
    wide = jnp.pad(f, ((0, 0), (1, 1), (1, 1), (0, 0)))
    n, m = f.shape[1], f.shape[2]
    shifted = [
        wide[:, u : u + n : stride, v : v + m : stride]
        for u in range(KERNEL)
        for v in range(KERNEL)
    ]
    patches = jnp.concatenate(shifted, axis=-1)
    return patches @ W.reshape(-1, W.shape[-1])


def pixels(hidden: Sequence[int], size: int) -> int:
    """Count the pixels of the last hidden layer for square images of a size.

    >>> pixels((64, 64, 64, 64), 32)
    64
    """
    for layer in range(len(hidden)):
        size = -(-size // stride(layer))
    return size**2


@validated
def convnet(
    hidden: Sequence[int],
    *,
    seed: int = 0,
    size: int = 32,
    colours: int = 3,
    outputs: int = 10,
    dtype: CheckedInside[DTypeLike] = np.float32,
) -> ConvNet:
    """Make a network with random weights.

    Weights are normal with variance 2 over the number of inputs of a node, 1 in the last layer,
    so that fields have the size of the pixels in every layer; biases are 0.

    Args:
        hidden: channels of the hidden layers, such as (64, 64, 64, 64).
        seed: a whole number of at least 0.
        size: height and width of the images.
        colours, outputs: n_0 and n_L.
        dtype: precision.

    >>> convnet((4, 6), size=8).widths
    (3, 4, 6, 10)
    """
    check_hidden(hidden)
    random = np.random.default_rng(check_seed(seed))
    for name, number in (("size", size), ("colours", colours), ("outputs", outputs)):
        positive_integer(name, number, f"{name}=10")
    _check_precision(dtype)
    n = (colours, *hidden)
    shapes: list[tuple[int, ...]] = [(KERNEL, KERNEL, a, b) for a, b in pairwise(n)]
    shapes.append((pixels(hidden, size) * hidden[-1], outputs))
    last = pixels(hidden, size) * hidden[-1]
    first = KERNEL**2 * hidden[0]
    check_memory("outputs", outputs, lambda C: 24 * (C * last + first * colours), "the weights")
    variances = [2.0] * len(hidden) + [1.0]
    W = tuple(
        jnp.asarray(random.normal(size=shape, scale=(v / prod(shape[:-1])) ** 0.5), dtype)
        for shape, v in zip(shapes, variances, strict=True)
    )
    return ConvNet(W, tuple(jnp.zeros(shape[-1], dtype) for shape in shapes))


def _check_precision(dtype: CheckedInside[DTypeLike]) -> None:
    try:
        floating = dtype is not None and jnp.issubdtype(jnp.dtype(dtype), jnp.floating)
    except TypeError:
        floating = False
    if not floating:
        allowed = "it has to be a floating-point type"
        raise InputError("dtype", short_repr(dtype), allowed, "np.float32")


def check_hidden(hidden: CheckedInside[str | Sequence[int]]) -> tuple[int, ...]:
    """Check the channels of hidden layers, "64-64-64-64" or whole numbers."""
    parts: Any = hidden
    if isinstance(hidden, str):
        digits = all(part.isdigit() for part in hidden.split("-"))
        parts = [int(part) for part in hidden.split("-")] if digits else []
    if len(shape_of("hidden", parts)) != 1 or not len(parts):
        allowed = "it has to be the number of channels of each hidden layer"
        raise InputError("hidden", short_repr(hidden), allowed, '"64-64-64-64"')
    return tuple(positive_integer("hidden", n, '"64-64-64-64"') for n in parts)


def cast(network: ConvNet, dtype: DTypeLike) -> ConvNet:
    """Return the network in another precision."""
    return jax.tree.map(lambda x: x.astype(dtype), network)
