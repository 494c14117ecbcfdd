"""Training epoch by epoch, with measurements and a checkpoint."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tutelage.runs.checkpoint import Checkpoint, flat, restored

State = TypeVar("State")
Measured = dict[str, np.ndarray]


def run_epochs(
    state: State,
    epochs: int,
    recorded: Sequence[int],
    advance: Callable[[State, int], State],
    measure: Callable[[State], Measured],
    checkpoint: Checkpoint,
    *,
    watch: Callable[[int, list[Measured]], None] = lambda epoch, records: None,
    diverged: Callable[[State], bool] = lambda state: False,
    pack: Callable[[State], Any] = lambda state: state,
    unpack: Callable[[Any], State] = lambda tree: tree,
) -> tuple[State, Measured]:
    """Return the state after all epochs, and the stacked measurements of the recorded epochs.

    Args:
        state: at the start, which is epoch 0, or of a checkpoint that is there.
        epochs: how many.
        recorded: those after which to measure, increasing.
        advance: from the state and the number of the epochs before it, one epoch.
        measure: what to record of a state, the same names every time.
        checkpoint: of this training; it is written at the end, and on every exception.
        watch: called after every epoch with its number and all records so far.
        diverged: whether to end here, and let everything from here on be missing.
        pack, unpack: to the tree of arrays that the file holds, and back.
    """
    records: list[Measured] = []
    epoch = 0
    stored = checkpoint.load()
    if stored is not None:
        state = unpack(restored("state", pack(state), stored))
        records, epoch = _records(stored), int(stored["finished"])

    def content(state: State, records: list[Measured], epoch: int) -> dict[str, Any]:
        measured = {f"measured_{name}": array for name, array in _stacked(records).items()}
        tree = flat("state", pack(state))
        return {"finished": epoch, "recorded": len(records), **tree, **measured}

    with checkpoint:
        if epoch == 0 and not records and 0 in recorded:
            records.append(measure(state))
        checkpoint.update(partial(content, state, records.copy(), epoch))
        while epoch < epochs:
            state, epoch = advance(state, epoch), epoch + 1
            if diverged(state):
                records += [_nothing(records[0])] * (len(recorded) - len(records))
                epoch = epochs
            elif epoch in recorded:
                records.append(measure(state))
            checkpoint.update(partial(content, state, records.copy(), epoch))
            watch(epoch, records)
    checkpoint.save(partial(content, state, records, epoch))
    return state, _stacked(records)


def _records(checkpoint: Mapping[str, np.ndarray]) -> list[Measured]:
    names = [name for name in checkpoint if name.startswith("measured_")]
    return [
        {name.removeprefix("measured_"): checkpoint[name][i] for name in names}
        for i in range(int(checkpoint["recorded"]))
    ]


def _stacked(records: list[Measured]) -> Measured:
    names = records[0] if records else ()  # nothing is stored before the first recorded epoch
    return {name: np.stack([one[name] for one in records]) for name in names}


def _nothing(record: Measured) -> Measured:
    return {name: np.full_like(array, missing(array)) for name, array in record.items()}


def missing(array: np.ndarray) -> float:
    """Return the value that marks missing data: NaN for a number, -1 for an index of a node."""
    return np.nan if np.asarray(array).dtype.kind == "f" else -1
