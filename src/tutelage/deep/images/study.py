"""Students of a pruned teacher on images: pre-train, prune, tune, teach (tian2020, Figure 8)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import positive_integer
from tutelage._given import CheckedInside, FileName
from tutelage._jax import jax, jnp
from tutelage.deep.epochs import Measured
from tutelage.deep.images.cifar import Images, check_images
from tutelage.deep.images.convnet import ConvNet, check_hidden, convnet
from tutelage.deep.images.measures import evaluate, measure
from tutelage.deep.images.pruning import check_keep, prune_channels
from tutelage.deep.images.training import Lesson, Recipe, check_recipe, learn
from tutelage.runs import files
from tutelage.runs.checkpoint import Checkpoint, digest
from tutelage.runs.seed import check_seed

# The paper does not say how its teacher was trained; these are common choices.
PRETRAINING = Recipe(60, 0.01, weight_decay=5e-4, decay=True)
TUNING = Recipe(20, 0.003, weight_decay=5e-4, decay=True)
# η/((1 - μ) batch) = 0.01/16: the step per image of the paper's SGD, Section 8.16.
LEARNING = Recipe(100, 0.004)
FOR_STRENGTH = 5000  # images on which the strength of channels is measured


class ImageTeacher(NamedTuple):
    """A pruned teacher: its network, the remaining channels, and accuracies after training,
    pruning and tuning.
    """

    network: ConvNet
    remaining: tuple[np.ndarray, ...]
    accuracies: tuple[float, ...]


# Called with the name of a stage, an epoch and its measurements.
Watch = Callable[[str, int, Measured], None]


class ImageStudy:
    """The stages of a study with one set of images; each resumes from its checkpoint.

    images: from `cifar10`.
    hidden: channels of the teacher before pruning.
    keep: the fraction of its channels that remains.
    seed: of all random numbers.
    checkpoint: a folder for a file of each stage; None to save nothing.
    watch: called after every epoch.
    """

    @validated
    def __init__(
        self,
        images: Images,
        hidden: CheckedInside[str | Sequence[int]] = "64-64-64-64",
        *,
        keep: float = 0.75,
        pretraining: Recipe = PRETRAINING,
        tuning: Recipe = TUNING,
        learning: Recipe = LEARNING,
        seed: int = 0,
        checkpoint: FileName | None = None,
        watch: Watch = lambda stage, epoch, measured: None,
    ):
        self.hidden = check_hidden(hidden)
        check_images(images)
        check_keep(keep)
        for recipe in (pretraining, tuning, learning):
            check_recipe(recipe, len(images.train))
        self.images, self.keep, self.seed = images, keep, check_seed(seed)
        self.pretraining, self.tuning, self.learning = pretraining, tuning, learning
        self._folder = (
            None if checkpoint is None else files.check_folder("checkpoint", checkpoint, "kept")
        )
        self._watch = watch
        self._data = digest(images.train, images.train_labels, images.test, images.test_labels)
        x = images.train
        self.scale = jnp.asarray(
            np.stack([x.mean((0, 1, 2)), np.maximum(x.std((0, 1, 2)), 1.0)]), jnp.float32
        )
        self.lesson = Lesson(jnp.asarray(x), jnp.asarray(images.train_labels), self.scale)
        self.test = jnp.asarray(images.test)

    def teacher(self) -> ImageTeacher:
        """Pre-train on labels, keep the strong channels, and fine-tune the pruned network.

        The paper does not say whether it tuned its pruned teacher.
        """
        start = convnet(self.hidden, seed=self._seed(0), size=self.images.train.shape[1])
        trained = self._labels("teacher", start, self.pretraining, 0)
        pruned = prune_channels(
            trained, self.images.train[:FOR_STRENGTH], keep=self.keep, scale=self.scale
        )
        tuned = self._labels("pruned", pruned.network, self.tuning, 1)
        networks = (trained, pruned.network, tuned)
        right = tuple(float(self._accuracy(network)["accuracy"]) for network in networks)
        return ImageTeacher(tuned, pruned.remaining, right)

    def student(self, teacher: ConvNet, multiple: int, run: int) -> tuple[ConvNet, Measured]:
        """Teach a student with ``multiple`` channels for each one of the teacher.

        The learning rate is divided by the multiple: so the first steps change the outputs of
        all students by the same amount.
        """
        m = positive_integer("multiple", multiple, "multiple=5")
        n = tuple(m * width for width in teacher.widths[1:-1])
        start = convnet(n, seed=self._seed(2, m, run), size=self.images.train.shape[1])
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

    def _accuracy(self, network: ConvNet) -> Measured:
        evaluation = evaluate(network, network, self.test, self.images.test_labels, self.scale)
        return {"accuracy": np.asarray(evaluation[1])}

    def _learn(
        self,
        stage: str,
        start: ConvNet,
        lesson: Lesson,
        recipe: Recipe,
        measured: Callable[[ConvNet], Measured],
        seed: int,
    ) -> tuple[ConvNet, Measured]:
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
            Checkpoint(path, identity),
            lambda epoch, measured: watch(stage, epoch, measured),
        )

    def _seed(self, *what: int) -> int:
        return int(np.random.SeedSequence((self.seed, *what)).generate_state(1)[0])
