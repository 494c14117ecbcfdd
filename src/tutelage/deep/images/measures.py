"""Correlations of student and teacher channels over images and pixels; accuracy."""

from typing import Any, NamedTuple

import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, Shaped

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, shape_of, short_repr
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp, match_rank
from tutelage._types import AnyArray
from tutelage.deep.images.convnet import ConvNet, pixels

CHUNK = (
    250  # images in a batch: activations of a wide student on all images would not fit in memory
)


class CorrelationSums(NamedTuple):
    """n, Σ f, Σ f², Σ g, Σ g² and Σ f gᵀ of one layer, over n images and pixels, in float64."""

    n: Any
    f: Any
    ff: Any
    g: Any
    gg: Any
    fg: Any


@validated
def channel_correlations(
    student: ConvNet, teacher: ConvNet, images: ArrayLike, *, scale: ArrayLike | None = None
) -> list[np.ndarray]:
    """Compute correlation coefficients of all student with all teacher channels, by layer.

        ρ_kj = ⟨(f_k - ⟨f_k⟩)(f*_j - ⟨f*_j⟩)⟩ / (σ_k σ*_j)

    with averages over all images and all pixels: a channel is one node at many places
    (tian2020, Section 6, speaks of N evaluation samples only).  A channel that is constant has
    the correlation 0.

    Args:
        student, teacher: of the same depth.
        images: of shape (images, height, width, colours).
        scale: mean and deviation of the colours, which are removed first, if given.

    Returns:
        For l = 1, …, L-1 an array of shape (n_l, m_l).

    >>> from tutelage.deep.images import convnet
    >>> x = np.random.default_rng(0).normal(size=(5, 8, 8, 3)).astype("f")
    >>> one = convnet((4, 6), size=8)
    >>> bool(np.allclose(np.diag(channel_correlations(one, one, x)[0]), 1.0))
    True
    """
    check_same_depth(student, teacher)
    images, scale = checked_images(student, images), checked_scale(scale)
    return [correlation(s) for s in evaluate(student, teacher, images, None, scale)[0]]


def checked_images(network: ConvNet, images: ArrayLike) -> np.ndarray:
    """Check images: squares of one size with as many colours as the network has inputs."""
    colours = network.widths[0]
    shape = shape_of("images", images)
    if shape[:1] == (0,):
        raise InputError("images", "none", "there has to be at least one image")
    if len(shape) != 4 or 0 in shape or shape[1] != shape[2] or shape[3] != colours:
        allowed = f"its shape has to be (images, size, size, {colours})"
        raise InputError("images", f"an array of shape {shape}", allowed)
    if pixels(network.widths[1:-1], shape[1]) * network.widths[-2] != network.weights[-1].shape[0]:
        raise InputError(
            "images", f"{shape[1]} x {shape[2]} pixels", "the network was built for another size"
        )
    x = np.asarray(images)
    return x if x.dtype.kind in "iu" else finite_array("images", x).astype(network.weights[0].dtype)


def checked_scale(scale: ArrayLike | None) -> Any:
    """Check the mean and deviation of each colour, or None."""
    if scale is None:
        return None
    pair = finite_array("scale", scale)
    if pair.ndim not in (1, 2) or len(pair) != 2 or np.any(pair[1] <= 0):
        allowed = "it has to be the mean and the positive deviation of the colours, or None"
        raise InputError("scale", short_repr(scale), allowed)
    return jnp.asarray(pair)


def evaluate(
    student: ConvNet,
    teacher: ConvNet,
    images: Shaped[AnyArray, "n h w colours"],
    labels: Int[AnyArray, " n"] | None,
    scale: Float[AnyArray, "2 ..."] | None,
) -> tuple[list[CorrelationSums], float, float]:
    """Compute sums over the hidden layers, accuracy of the student, mean of (f*_L - f_L)²."""
    if not len(images):
        raise InputError("images", "none", "there has to be at least one to evaluate with")
    y = jnp.zeros(len(images), int) if labels is None else jnp.asarray(labels)
    total = None
    for i in range(0, len(images), CHUNK):
        part = slice(i, i + CHUNK)
        of_chunk = _chunk(student, teacher, jnp.asarray(images[part]), y[part], scale)
        total = of_chunk if total is None else jax.tree.map(jnp.add, total, of_chunk)
    assert total is not None
    sums, right, squares = jax.tree.map(np.asarray, total)
    values = len(images) * student.widths[-1]
    return sums, float(right) / len(images), float(squares) / values


@jax.jit
def _chunk(
    student: ConvNet,
    teacher: ConvNet,
    images: Shaped[Array, "n h w colours"],
    y: Int[Array, " n"],
    scale: Float[Array, "2 ..."] | None,
) -> Any:
    x = normalized(images, scale, student.weights[0].dtype)
    *f, out = student.activations(x)
    *g, target = teacher.activations(x)
    sums = [_sums(a, b) for a, b in zip(f, g, strict=True)]
    right = jnp.sum(jnp.argmax(out, axis=1) == y)
    return sums, right, jnp.sum((out - target).astype(jnp.float64) ** 2)


def normalized(
    images: Shaped[Array, "n h w colours"], scale: Float[Array, "2 ..."] | None, dtype: DTypeLike
) -> Any:
    """(x - mean)/deviation of each colour; ``scale`` holds the two."""
    x = images.astype(dtype)
    if scale is None:
        return x
    mean, deviation = (match_rank(number.astype(dtype), x) for number in scale)
    return (x - mean) / deviation


def _sums(f: Float[Array, "n h w a"], g: Float[Array, "n h w b"]) -> CorrelationSums:
    # Means are subtracted afterwards, in float64: the terms that cancel have sixteen digits.
    f = f.reshape(-1, f.shape[-1]).astype(jnp.float64)
    g = g.reshape(-1, g.shape[-1]).astype(jnp.float64)
    return CorrelationSums(
        jnp.asarray(len(f)),
        jnp.sum(f, axis=0),
        jnp.sum(f**2, axis=0),
        jnp.sum(g, axis=0),
        jnp.sum(g**2, axis=0),
        f.T @ g,
    )


def correlation(s: CorrelationSums) -> np.ndarray:
    """Compute ρ_kj from sums."""
    f, g = s.f / s.n, s.g / s.n
    covariance = s.fg / s.n - np.outer(f, g)
    return covariance / np.outer(_deviation(s.ff / s.n, f), _deviation(s.gg / s.n, g))


def _deviation(second: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Compute √(⟨f²⟩ - ⟨f⟩²); infinite for a constant, whose correlation becomes 0."""
    variance = second - mean**2
    # The variance of a constant is rounding: 10⁻¹³ of ⟨f²⟩ for 10⁷ values.
    return np.sqrt(np.where(variance > 1e-12 * second, variance, np.inf))


def measure(
    student: ConvNet,
    teacher: ConvNet,
    images: Shaped[AnyArray, "n h w colours"],
    labels: Int[AnyArray, " n"] | None,
    scale: Float[Array, "2 ..."] | None,
) -> dict[str, np.ndarray]:
    """Measure a student at one epoch."""
    sums, accuracy, loss = evaluate(student, teacher, images, labels, scale)
    measured = {"accuracy": np.asarray(accuracy), "evaluation_loss": np.asarray(loss)}
    for layer, s in enumerate(sums, start=1):
        ρ = correlation(s)
        measured[f"teacher_correlation_{layer}"] = ρ.max(axis=0)
        measured[f"winner_{layer}"] = ρ.argmax(axis=0)
    return measured


def check_same_depth(student: ConvNet, teacher: ConvNet) -> None:
    """Check that both networks have equally many layers."""
    n, m = len(student.weights), len(teacher.weights)
    if n != m:
        allowed = f"the teacher has {m}, and both have to have the same depth"
        raise InputError("student", f"{n} layers", allowed)
