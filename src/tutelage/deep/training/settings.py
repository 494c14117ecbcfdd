"""Settings of a training, with their validation."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tutelage._checks import (
    InputError,
    check_choice,
    epochs_to_record,
    finite_array,
    finite_number,
    positive_integer,
    shape_of,
)
from tutelage._given import ArrayLike, CheckedInside
from tutelage._memory import check_memory
from tutelage._types import AnyArray
from tutelage.deep.training.construction import (
    EVALUATION,
    check_construction,
    generator,
    over_realized,
    widths_of,
)
from tutelage.deep.training.examples import InputSource, RowSource, as_examples
from tutelage.runs.checkpoint import digest
from tutelage.runs.provenance import versions
from tutelage.runs.seed import check_seed

PRECISIONS = {"float64": np.float64, "float32": np.float32}
Rates = tuple[tuple[int, float], ...]


class Settings(NamedTuple):
    """Sizes, data and rates of the training of students of one width."""

    teacher: tuple[int, ...]
    student: tuple[int, ...]
    polarity: tuple[float, ...]
    runs: int
    epochs: int
    recorded: tuple[int, ...]
    examples: int
    evaluation: int
    batch: int
    rates: Rates  # first epoch and size of each learning rate
    data: InputSource
    held_out: np.ndarray | None  # rows of an array used for the evaluation
    fresh: bool
    steps: int | None  # batches per epoch that are drawn with replacement
    construction: str
    start_scale: float
    precision: str
    seed: int
    correlations: bool

    @property
    def iterations(self) -> int:
        """Steps per epoch; an incomplete last batch is left out."""
        return self.examples // self.batch if self.steps is None else self.steps

    def rate(self, epoch: int) -> float:
        """Return η in an epoch; the first is number 0."""
        return [rate for first, rate in self.rates if first <= epoch][-1]

    @property
    def dtype(self) -> Any:
        """Precision of weights and activations in the steps."""
        return PRECISIONS[self.precision]

    def identity(self) -> dict[str, Any]:
        """All settings that determine the results, for the checkpoint."""
        named = self._asdict() | {"data": self.data.name, "held_out": None} | versions()
        if isinstance(self.data, RowSource):
            named["held_out"] = digest(self.data.array, self.held_out)
        return named


def _check_sizes(widths: tuple[int, ...], multiple: int, runs: int, evaluation: int) -> None:
    """Refuse students whose weights, gradients and fields do not fit in memory."""
    k = positive_integer("multiple", multiple, "multiple=5")
    count = positive_integer("runs", runs, "runs=32")
    examples = positive_integer("evaluation", evaluation, "evaluation=10_000")
    student = lambda k: sum(m * n for m, n in pairwise(over_realized(widths, k)))  # noqa: E731
    check_memory("multiple", k, lambda k: 32 * student(k), "the weights of one student")
    check_memory("runs", count, lambda runs: 32 * runs * student(k), "the weights of all students")
    nodes = sum(over_realized(widths, k))
    check_memory("evaluation", examples, lambda n: 16 * n * nodes, "the fields of all examples")


def settings(
    hidden: CheckedInside[str | int | Sequence[int]],
    multiple: int,
    polarity: ArrayLike,
    *,
    inputs: int,
    outputs: int,
    epochs: int,
    recorded: ArrayLike | None,
    examples: int | None,
    evaluation: int,
    batch: int,
    learning_rate: ArrayLike,
    data: CheckedInside[str | ArrayLike],
    fresh: bool | None,
    steps: int | None = None,
    construction: str = "text",
    start_scale: float = 1.0,
    precision: str = "float64",
    runs: int,
    seed: int,
    correlations: bool,
) -> Settings:
    """Check the arguments of `tutelage.deep.train`."""
    widths = widths_of(hidden, inputs, outputs)
    p = finite_array("polarity", polarity)
    if p.ndim > 1 or p.size == 0 or np.any(p < 0):
        allowed = "it has to be one or more numbers of at least 0"
        raise InputError("polarity", repr(polarity), allowed, "polarity=1")
    if len(np.unique(p)) < p.size:
        raise InputError("polarity", repr(polarity), "all have to be different", "polarity=[0, 1]")
    source, held_out = as_examples(data, widths[0]), None
    if isinstance(source, RowSource):
        rows, held_out = split(source.array, seed)
        source, evaluation = as_examples(rows, widths[0]), len(held_out)
        examples, fresh = _of_rows(len(rows), examples, fresh)
    examples = positive_integer("examples", 10_000 if examples is None else examples, "10_000")
    batch = positive_integer("batch", batch, "batch=16")
    if batch > examples:
        raise InputError("batch", repr(batch), f"there are {examples} examples in an epoch")
    epochs = positive_integer("epochs", epochs, "epochs=100")
    if recorded is None:
        recorded = range(epochs + 1)
    fresh = (fresh is None and steps is None) or bool(fresh)
    if steps is not None and fresh:
        allowed = "only a fixed set of examples takes a number of steps"
        raise InputError("steps", repr(steps), allowed, "fresh=False")
    check_choice("precision", precision, PRECISIONS)
    _check_sizes(widths, multiple, runs, evaluation)
    return Settings(
        teacher=widths,
        student=over_realized(widths, positive_integer("multiple", multiple, "multiple=5")),
        polarity=tuple(np.atleast_1d(p).tolist()),
        runs=positive_integer("runs", runs, "runs=32"),
        epochs=epochs,
        recorded=tuple(epochs_to_record("recorded", recorded, epochs).tolist()),
        examples=examples,
        evaluation=positive_integer("evaluation", evaluation, "evaluation=10_000"),
        batch=batch,
        rates=_rates(learning_rate),
        data=source,
        held_out=held_out,
        fresh=fresh,
        steps=None if steps is None else positive_integer("steps", steps, "steps=1000"),
        construction=check_construction(construction, widths),
        start_scale=finite_number("start_scale", start_scale, above=0.0, hint="start_scale=1"),
        precision=precision,
        seed=check_seed(seed),
        correlations=bool(correlations),
    )


def _rates(learning_rate: ArrayLike) -> Rates:
    """Check one rate, or pairs of a first epoch and a rate, the first at epoch 0."""
    if shape_of("learning_rate", learning_rate) == ():
        rate = finite_number("learning_rate", learning_rate, above=0.0, hint="learning_rate=0.01")
        return ((0, float(rate)),)
    pairs = finite_array("learning_rate", learning_rate)
    right = pairs.ndim == 2 and pairs.shape[1:] == (2,) and len(pairs) > 0
    epochs, rates = pairs.T if right else (np.ones(1), np.ones(1))
    if epochs[0] != 0 or np.any(np.diff(epochs) <= 0) or np.any(epochs % 1) or np.any(rates <= 0):
        allowed = "it has to be above 0, or pairs of an epoch, from 0 on, and a rate above 0"
        raise InputError("learning_rate", repr(learning_rate), allowed, "[(0, 0.2), (20, 0.1)]")
    return tuple((int(epoch), float(rate)) for epoch, rate in zip(epochs, rates, strict=True))


def _of_rows(rows: int, examples: int | None, fresh: bool | None) -> tuple[int, bool]:
    if fresh:
        allowed = "an array is a fixed set of examples, so that no fresh ones can be drawn"
        raise InputError("fresh", repr(fresh), allowed, "fresh=False")
    if examples is not None and examples != rows:
        raise InputError("examples", repr(examples), f"the array has {rows} rows", "examples=None")
    return rows, False


def split(array: AnyArray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows at random: two thirds for training, the rest for evaluation."""
    if len(array) < 3:
        allowed = "there have to be at least 3 rows, a third of them for the evaluation"
        raise InputError("data", f"shape {array.shape}", allowed)
    array = np.asarray(array)
    order = generator(seed, EVALUATION).permutation(len(array))
    cut = math.ceil(2 * len(array) / 3)
    return array[order[:cut]], array[order[cut:]]
