"""Stochastic gradient descent of a convolutional network, on labels or on a teacher's outputs."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree, Shaped

from tutelage._checks import InputError, check_choice, finite_number, positive_integer
from tutelage._jax import jax, jnp
from tutelage._names import with_checked_arguments
from tutelage._types import Scalar
from tutelage.deep.epochs import Measured, run_epochs
from tutelage.deep.images.convnet import ConvNet, cast
from tutelage.deep.images.measures import normalized
from tutelage.runs.checkpoint import Checkpoint

MARGIN = 4  # largest shift of images in pixels
PRECISIONS = {"float32": jnp.float32, "bfloat16": jnp.bfloat16, "float64": jnp.float64}


@with_checked_arguments
class Recipe(NamedTuple):
    """Settings of a training: epochs, rates, batches.

    W ← W - η u,   u ← μ u + ∂J/∂W + λ W

    epochs, batch: how long, and images in a step.
    learning_rate, momentum, weight_decay: η, μ and λ.
    decay: whether η falls to 0 with a cosine over the epochs.
    augment: whether every epoch shifts images by up to 4 pixels and mirrors half of them.
    precision: of activations and gradients, "float32", "bfloat16" or "float64"; the precision of
        weights is unchanged.
    """

    epochs: int
    learning_rate: float
    batch: int = 64
    momentum: float = 0.9
    weight_decay: float = 0.0
    decay: bool = False
    augment: bool = True
    precision: str = "float32"

    def rate(self, epoch: int) -> float:
        """Return η in an epoch; the first is number 0."""
        falling = 0.5 * (1 + math.cos(math.pi * epoch / self.epochs)) if self.decay else 1.0
        return self.learning_rate * falling


class Learner(NamedTuple):
    """A network, the state of its optimizer, and the mean of J over the last epoch."""

    network: ConvNet
    momentum: Any
    training_loss: Any


class Lesson(NamedTuple):
    """The data of a training: images as bytes, labels, scale of the colours, and a teacher.

    Without a teacher the labels are learned, J = mean of -log softmax(f_L)[label]; with one its
    outputs, J = mean over images and outputs of (f*_L - f_L)².
    """

    images: Any
    labels: Any
    scale: Any
    teacher: ConvNet | None = None


def check_recipe(recipe: Recipe, images: int) -> None:
    """Check the settings, and that there is at least one full batch."""
    positive_integer("epochs", recipe.epochs, "epochs=100")
    finite_number("learning_rate", recipe.learning_rate, above=0.0, hint="learning_rate=0.01")
    if finite_number("momentum", recipe.momentum, at_least=0.0, hint="momentum=0.9") >= 1:
        allowed = "a momentum of 1 or more never forgets earlier steps"
        raise InputError("momentum", repr(recipe.momentum), allowed, "momentum=0.9")
    finite_number("weight_decay", recipe.weight_decay, at_least=0.0, hint="weight_decay=0")
    if positive_integer("batch", recipe.batch, "batch=64") > images:
        raise InputError("batch", repr(recipe.batch), f"there are {images} images")
    check_choice("precision", recipe.precision, PRECISIONS)


def learn(
    network: ConvNet,
    lesson: Lesson,
    recipe: Recipe,
    measure: Callable[[ConvNet], Measured],
    seed: int = 0,
    checkpoint: Checkpoint | None = None,
    watch: Callable[[int, Measured], None] = lambda epoch, measured: None,
) -> tuple[ConvNet, Measured]:
    """Train for all epochs, from the beginning or from a checkpoint.

    Epoch e draws from a key that depends on the seed and e alone: an interrupted training continues
    to the same result.

    Args:
        network: the start.
        measure: what to record of a network, at the start and after every epoch.
        watch: called after every epoch with its number and its measurements; an exception that
            it raises ends the learning, after a checkpoint.

    Returns:
        The network after the last epoch; recorded arrays, which begin with epochs 0, …, E, with
        training_loss, the mean of J over an epoch, not a number at the start.  If it ceases to be
        finite, learning ends, and nothing is a number from that epoch on.
    """
    check_recipe(recipe, len(lesson.images))
    root = jax.random.key(seed)

    def advance(now: Learner, epoch: int) -> Learner:
        key = jax.random.fold_in(root, epoch)
        return _epoch(now.network, now.momentum, lesson, key, **_numbers(recipe, epoch))

    state, measured = run_epochs(
        Learner(network, optimizer(0.0, 0.0, 0.0).init(network), np.asarray(np.nan)),
        recipe.epochs,
        range(recipe.epochs + 1),
        advance,
        lambda now: {"training_loss": np.asarray(now.training_loss), **measure(now.network)},
        checkpoint or Checkpoint(None, {}),
        watch=lambda epoch, records: watch(epoch, records[-1]),
        diverged=lambda now: not np.isfinite(now.training_loss),
    )
    return state.network, measured


def optimizer(η: Scalar, μ: Scalar, λ: Scalar) -> Any:
    """Return the optimizer of a `Recipe`."""
    import optax

    return optax.chain(optax.add_decayed_weights(λ), optax.sgd(η, momentum=μ))


def _numbers(recipe: Recipe, epoch: int) -> dict[str, Any]:
    return {
        "η": recipe.rate(epoch),
        "μ": recipe.momentum,
        "λ": recipe.weight_decay,
        "batch": recipe.batch,
        "augment": recipe.augment,
        "precision": recipe.precision,
    }


@partial(jax.jit, static_argnames=("batch", "augment", "precision"))
def _epoch(
    network: ConvNet,
    momentum: PyTree,
    lesson: Lesson,
    key: Key[Array, ""],
    *,
    η: Scalar,
    μ: Scalar,
    λ: Scalar,
    batch: int,
    augment: bool,
    precision: str,
) -> Learner:
    """Train on all images once, in random order; an incomplete last batch is left out."""
    for_order, for_images = jax.random.split(key)
    n = len(lesson.images)
    images = augmented(lesson.images, for_images) if augment else lesson.images
    order = jax.random.permutation(for_order, n)[: n // batch * batch].reshape(-1, batch)
    dtype = PRECISIONS[precision]
    teacher = None if lesson.teacher is None else cast(lesson.teacher, dtype)

    rule = optimizer(η, μ, λ)

    def step(
        now: tuple[ConvNet, PyTree], rows: Int[Array, " batch"]
    ) -> tuple[tuple[ConvNet, Any], Any]:
        network, momentum = now
        x = normalized(images[rows], lesson.scale, dtype)
        loss, slope = jax.value_and_grad(
            lambda network: _loss(cast(network, dtype), teacher, x, lesson.labels[rows])
        )(network)
        change, momentum = rule.update(slope, momentum, network)
        return (jax.tree.map(jnp.add, network, change), momentum), loss

    now, losses = jax.lax.scan(step, (network, momentum), order)
    return Learner(*now, jnp.mean(losses))


def _loss(
    network: Any,
    teacher: ConvNet | None,
    x: Float[Array, "n ..."],
    labels: Any,
) -> Any:
    # The loss is summed in full precision.
    wide = x.dtype if jnp.finfo(x.dtype).bits >= 32 else jnp.float32
    out = network(x).astype(wide)
    if teacher is not None:
        return jnp.mean((teacher(x).astype(wide) - out) ** 2)
    logarithms = jax.nn.log_softmax(out)
    return -jnp.mean(jnp.take_along_axis(logarithms, labels[:, None], axis=1))


def augmented(images: Shaped[Array, "n h w colours"], key: Key[Array, ""]) -> Any:
    """Shift each image by up to 4 pixels, padded with black, and mirror it at random."""
    n, size = len(images), images.shape[1]
    shifts, mirror = jax.random.split(key)
    at = jax.random.randint(shifts, (n, 2), 0, 2 * MARGIN + 1)
    wide = jnp.pad(images, ((0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0)))

    def cut(image: Shaped[Array, "h w colours"], at: Int[Array, "2"]) -> Any:
        return jax.lax.dynamic_slice(image, (at[0], at[1], 0), (size, size, image.shape[-1]))

    moved = jax.vmap(cut)(wide, at)
    flip = jax.random.bernoulli(mirror, shape=(n, 1, 1, 1))
    return jnp.where(flip, moved[:, :, ::-1], moved)
