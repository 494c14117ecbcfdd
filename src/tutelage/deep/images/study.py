"""Students of a pruned teacher on images: pre-train, prune, tune, teach (tian2020, Figure 8)."""

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tutelage import __version__
from tutelage._checks import InputError, positive_integer
from tutelage._jax import jax, jnp
from tutelage.deep.images.checkpoint import ConvCheckpoint
from tutelage.deep.images.cifar import Images, check_images
from tutelage.deep.images.convnet import ConvNet, check_hidden, convnet
from tutelage.deep.images.measures import evaluate, measure
from tutelage.deep.images.pruning import check_keep, prune_channels
from tutelage.deep.images.training import Lesson, Recipe, check_recipe, learn
from tutelage.runs.checkpoint import digest
from tutelage.simulation.plan import check_seed

# The paper says nothing about how its teacher was trained; these are ordinary choices.
PRETRAINING = Recipe(60, 0.01, weight_decay=5e-4, decay=True)
TUNING = Recipe(20, 0.003, weight_decay=5e-4, decay=True)
# η/((1 - μ) batch) = 0.01/16, as far for each image as with the SGD of the paper, Section 8.16.
LEARNING = Recipe(100, 0.004)
FOR_STRENGTH = 5000  # images on which the strength of channels is measured


class ImageTeacher(NamedTuple):
    """A pruned teacher: network, kept channels, accuracies as trained, as pruned and as tuned."""

    network: ConvNet
    kept: tuple[np.ndarray, ...]
    accuracies: tuple[float, ...]


# Called with the name of a stage, an epoch and what was recorded in it.
Watch = Callable[[str, int, dict[str, np.ndarray]], None]


class ImageStudy:
    """Everything that is done with one set of images; each stage can be interrupted.

    images: from `cifar10`.
    hidden: channels of the teacher before pruning.
    keep: which part of its channels is left.
    seed: of all random numbers.
    folder: for checkpoints of the stages; None to keep nothing.
    watch: told of every epoch.
    """

    def __init__(
        self,
        images: Images,
        hidden: Any = "64-64-64-64",
        *,
        keep: float = 0.75,
        pretraining: Recipe = PRETRAINING,
        tuning: Recipe = TUNING,
        learning: Recipe = LEARNING,
        seed: int = 0,
        folder: Any = None,
        watch: Watch | None = None,
    ):
        self.hidden = check_hidden("hidden", hidden)
        check_images("images", images)
        check_keep(keep)
        for recipe in (pretraining, tuning, learning):
            check_recipe(recipe, len(images.train))
        self.images, self.keep, self.seed = images, keep, check_seed(seed)
        self.pretraining, self.tuning, self.learning = pretraining, tuning, learning
        self._folder = None if folder is None else _made(folder)
        self._watch = watch
        self._data = digest(images.train, images.train_labels, images.test, images.test_labels)
        x = images.train
        self.scale = jnp.asarray(
            np.stack([x.mean((0, 1, 2)), np.maximum(x.std((0, 1, 2)), 1.0)]), jnp.float32
        )
        self.lesson = Lesson(jnp.asarray(x), jnp.asarray(images.train_labels), self.scale)
        self.test = jnp.asarray(images.test)

    def teacher(self) -> ImageTeacher:
        """Pre-train on the labels, keep the strong channels, train what is left a little more.

        The paper does not say whether it tuned its pruned teacher.
        """
        start = convnet(self.hidden, self._seed(0), size=self.images.train.shape[1])
        trained = self._labels("teacher", start, self.pretraining, 0)
        pruned = prune_channels(trained, self.images.train[:FOR_STRENGTH], self.keep, self.scale)
        tuned = self._labels("pruned", pruned.network, self.tuning, 1)
        networks = (trained, pruned.network, tuned)
        right = tuple(float(self._accuracy(network)["accuracy"]) for network in networks)
        return ImageTeacher(tuned, pruned.kept, right)

    def student(
        self, teacher: ConvNet, multiple: int, run: int
    ) -> tuple[ConvNet, dict[str, np.ndarray]]:
        """Teach a student with ``multiple`` channels for each one of the teacher.

        The learning rate is divided by the multiple: so the first steps change the outputs of
        all students by the same amount.
        """
        m = positive_integer("multiple", multiple, "multiple=5")
        n = tuple(m * width for width in teacher.widths[1:-1])
        start = convnet(n, self._seed(2, m, run), size=self.images.train.shape[1])
        recipe = self.learning._replace(learning_rate=self.learning.learning_rate / m)
        y = self.images.test_labels
        return self._learn(
            f"student_{m}x_{run}",
            start,
            self.lesson._replace(teacher=teacher),
            recipe,
            lambda network: measure(network, teacher, self.test, y, self.scale),
            self._seed(3, run),
        )

    def _labels(self, stage: str, start: ConvNet, recipe: Recipe, number: int) -> ConvNet:
        return self._learn(
            stage, start, self.lesson, recipe, self._accuracy, self._seed(1, number)
        )[0]

    def _accuracy(self, network: ConvNet) -> dict[str, np.ndarray]:
        found = evaluate(network, network, self.test, self.images.test_labels, self.scale)
        return {"accuracy": np.asarray(found[1])}

    def _learn(
        self, stage: str, start: ConvNet, lesson: Lesson, recipe: Recipe, measured: Any, seed: int
    ) -> tuple[ConvNet, dict[str, np.ndarray]]:
        identity = {
            "stage": stage,
            "images": self._data,
            "teacher": digest(*jax.tree.leaves(lesson.teacher)),
            "start": digest(*jax.tree.leaves(start)),
            "seed": seed,
            **recipe._asdict(),
        }
        path = None if self._folder is None else self._folder / f"{stage}.npz"
        watch = self._watch
        return learn(
            start,
            lesson,
            recipe,
            measured,
            seed,
            ConvCheckpoint(path, identity),
            None if watch is None else lambda epoch, told: watch(stage, epoch, told),
        )

    def _seed(self, *what: int) -> int:
        return int(np.random.SeedSequence((self.seed, *what)).generate_state(1)[0])

    def attributes(self) -> dict[str, Any]:
        """What has to be known to compute it again."""
        told: dict[str, Any] = {
            "computed_by": "deep.images.train_on_images",
            "hidden": "-".join(map(str, self.hidden)),
            "keep": self.keep,
            "images": f"{len(self.images.train)} to learn from, {len(self.images.test)} others",
            "seed": self.seed,
            "tutelage_version": __version__,
            "jax_version": jax.__version__,
            "python_version": platform.python_version(),
            "device": jax.devices()[0].device_kind,
        }
        for name in ("pretraining", "tuning", "learning"):
            told[name] = str(getattr(self, name)).replace("Recipe", "")
        return told


def _made(folder: Any) -> Path:
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InputError("folder", repr(str(folder)), "it has to be a folder") from None
    return path
