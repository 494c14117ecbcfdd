"""Structured pruning: remove the weak channels of a teacher."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Shaped

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage.deep.images.convnet import ConvNet
from tutelage.deep.images.measures import CHUNK, checked_images, checked_scale, normalized


class PrunedConvNet(NamedTuple):
    """A narrower network, and for each hidden layer the indices of the remaining channels."""

    network: ConvNet
    remaining: tuple[np.ndarray, ...]


@validated
def channel_strengths(
    network: ConvNet, images: ArrayLike, *, scale: ArrayLike | None = None
) -> list[np.ndarray]:
    """Compute the contribution of each hidden channel to the fields of the next layer.

    s_k = ‖v_k‖ √⟨f_k²⟩

    v_k are all weights that leave channel k, the average is over images and pixels.  A factor can
    move through a ReLU from the weights before it to the weights after it: unlike ‖v_k‖ alone, by
    which tian2020 orders teacher nodes with filters of length 1, s_k does not depend on that
    factor.
    """
    images, scale = checked_images(network, images), checked_scale(scale)
    squares = None
    for i in range(0, len(images), CHUNK):
        of_chunk = _squares(network, jnp.asarray(images[i : i + CHUNK]), scale)
        squares = of_chunk if squares is None else jax.tree.map(jnp.add, squares, of_chunk)
    if squares is None:
        raise InputError(
            "images", "none", "the strength of channels is measured on at least one image"
        )
    return [
        np.linalg.norm(out, axis=(0, 2)) * np.sqrt(np.asarray(total) / len(images))
        for out, total in zip(_fan_out(network), squares, strict=True)
    ]


@jax.jit
def _squares(
    network: ConvNet, images: Shaped[Array, "n h w colours"], scale: Float[Array, "2 ..."] | None
) -> list[Any]:
    hidden = network.activations(normalized(images, scale, network.weights[0].dtype))[:-1]
    return [jnp.sum(jnp.mean(f.astype(jnp.float64) ** 2, axis=(1, 2)), axis=0) for f in hidden]


def _fan_out(network: ConvNet) -> list[np.ndarray]:
    """Compute v_k of each hidden layer, of shape (pixels, n_l, n_{l+1})."""
    n = network.widths
    return [
        np.asarray(W).reshape(-1, n[layer], W.shape[-1])
        for layer, W in enumerate(network.weights[1:], start=1)
    ]


def check_keep(keep: float) -> None:
    """Check the fraction of channels to keep, greater than 0 and at most 1."""
    if finite_number("keep", keep, above=0.0, hint="keep=0.75") > 1:
        raise InputError(
            "keep",
            repr(keep),
            "it has to be a fraction, at most 1",
            "keep=0.75",
        )


@validated
def prune_channels(
    network: ConvNet, images: ArrayLike, *, keep: float = 0.75, scale: ArrayLike | None = None
) -> PrunedConvNet:
    """Keep the strongest channels of every hidden layer.

    The paper prunes "in a structured manner to keep strong teacher nodes" and does not state how
    strength is measured (see `channel_strengths`) and how many remain.

    Args:
        network: a pre-trained teacher.
        images: on which activations are measured.
        keep: the fraction of the channels of a layer that remains, greater than 0 and at most 1;
            the number is rounded, and at least one remains.
        scale: mean and deviation of the colours, which are removed first, if given.

    >>> from tutelage.deep.images import convnet
    >>> x = np.random.default_rng(0).normal(size=(5, 8, 8, 3)).astype("f")
    >>> prune_channels(convnet((4, 6), size=8), x, keep=0.5).network.widths
    (3, 2, 3, 10)
    """
    check_keep(keep)
    remaining = tuple(
        np.sort(np.argsort(-s, kind="stable")[: max(1, round(keep * len(s)))])
        for s in channel_strengths(network, images, scale=scale)
    )
    return PrunedConvNet(only_channels(network, remaining), remaining)


def only_channels(network: ConvNet, remaining: tuple[np.ndarray, ...]) -> ConvNet:
    """Return the network with only these channels of its hidden layers."""
    below = [np.arange(network.widths[0]), *remaining]
    W = [
        np.asarray(w)[:, :, a][..., b]
        for w, a, b in zip(network.weights[:-1], below, remaining, strict=False)
    ]
    # The last layer has a row for each pixel and channel.
    top = _fan_out(network)[-1][:, remaining[-1]]
    b = [np.asarray(b)[nodes] for b, nodes in zip(network.biases[:-1], remaining, strict=True)]
    narrower = ConvNet((*W, top.reshape(-1, top.shape[-1])), (*b, network.biases[-1]))
    return jax.tree.map(jnp.asarray, narrower)
