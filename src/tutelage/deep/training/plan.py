"""What a training needs to know, checked at the door."""

from typing import Any, NamedTuple

import numpy as np

from tutelage._checks import InputError, finite_array, finite_number, positive_integer
from tutelage.deep.training.construction import over_realized, widths_of
from tutelage.deep.training.examples import Examples, Rows, as_examples
from tutelage.simulation.plan import check_seed


class Plan(NamedTuple):
    """Sizes, data and rates of a training, in the order of the arguments of `train`."""

    teacher: tuple[int, ...]
    student: tuple[int, ...]
    polarities: tuple[float, ...]
    several: bool  # whether polarities came as a sequence
    runs: int
    recorded: tuple[int, ...]
    examples: int
    evaluation: int
    batch: int
    learning_rate: float
    data: Examples
    fresh: bool
    seed: int

    @property
    def epochs(self) -> int:
        """The last epoch."""
        return self.recorded[-1]

    @property
    def iterations(self) -> int:
        """Steps in an epoch; examples that do not fill a batch are left out of that epoch."""
        return self.examples // self.batch


def plan(
    hidden: Any,
    multiple: Any,
    polarity: Any,
    *,
    inputs: Any,
    outputs: Any,
    epochs: Any,
    examples: Any,
    evaluation: Any,
    batch: Any,
    learning_rate: Any,
    data: Any,
    fresh: Any,
    runs: Any,
    seed: Any,
) -> Plan:
    """Check the arguments of `tutelage.deep.train`."""
    widths = widths_of(hidden, inputs, outputs)
    p = finite_array("polarity", polarity)
    if p.ndim > 1 or p.size == 0 or np.any(p < 0):
        allowed = "there have to be one or several numbers of at least 0"
        raise InputError("polarity", repr(polarity), allowed, "polarity=1")
    if len(np.unique(p)) < p.size:
        raise InputError("polarity", repr(polarity), "no two may be the same", "polarity=[0, 1]")
    source = as_examples("data", data, widths[0])
    if isinstance(source, Rows):
        examples, fresh = _rows(source, examples, fresh)
    examples = positive_integer("examples", examples, "examples=10_000")
    batch = positive_integer("batch", batch, "batch=16")
    if batch > examples:
        raise InputError("batch", repr(batch), f"there are {examples} examples in an epoch")
    finite_number("learning_rate", learning_rate, above=0.0, hint="learning_rate=0.01")
    return Plan(
        teacher=widths,
        student=over_realized(widths, positive_integer("multiple", multiple, "multiple=5")),
        polarities=tuple(np.atleast_1d(p).tolist()),
        several=p.ndim == 1,
        runs=positive_integer("runs", runs, "runs=32"),
        recorded=_recorded(epochs),
        examples=examples,
        evaluation=positive_integer("evaluation", evaluation, "evaluation=10_000"),
        batch=batch,
        learning_rate=float(learning_rate),
        data=source,
        fresh=bool(fresh),
        seed=check_seed(seed),
    )


def _rows(rows: Rows, examples: Any, fresh: Any) -> tuple[int, bool]:
    if fresh:
        allowed = "an array is a fixed set: nothing fresh can be drawn from it"
        raise InputError("fresh", repr(fresh), allowed, "fresh=False")
    n = len(rows.array)
    if examples is not None and examples != n:
        raise InputError("examples", repr(examples), f"the array has {n} rows", "leave it out")
    return n, False


def _recorded(epochs: Any) -> tuple[int, ...]:
    """Epochs at which to record: 0, …, E of a number, or those of a sequence."""
    if np.ndim(epochs) == 0:
        return tuple(range(positive_integer("epochs", epochs, "epochs=100") + 1))
    array = np.asarray(epochs)
    whole = array.ndim == 1 and array.size and np.issubdtype(array.dtype, np.integer)
    if not whole or array[0] < 0 or np.any(np.diff(array) <= 0):
        allowed = "it has to be a number of epochs, or increasing whole numbers from 0"
        raise InputError("epochs", repr(epochs), allowed, "epochs=[0, 10, 100]")
    return tuple(int(e) for e in array)
