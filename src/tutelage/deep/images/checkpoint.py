"""Checkpoints of convolutional networks: interrupted, they go on learning with the same result."""

import json
import time
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tutelage._jax import jax, jnp
from tutelage.runs.checkpoint import SECONDS, check_same, checked_path, read, write

State = TypeVar("State")
Told = list[dict[str, np.ndarray]]


class ConvCheckpoint:
    """A file of one learning, or none; refused at once if it belongs to another one.

    path: a file name, or None to keep nothing.
    identity: what tells this learning from others.
    """

    def __init__(self, path: Any, identity: dict[str, Any]):
        self._path: Path | None = checked_path(path)
        self._identity = {name: str(value) for name, value in identity.items()}
        self._saved = time.monotonic()
        self._content = None
        if self._path is not None and self._path.exists():
            self._content = read(self._path)
            check_same(json.loads(str(self._content["identity"])), self._identity, self._path)

    def load(self, state: State) -> tuple[State, Told, int]:
        """State, what has been recorded, and epochs learned; those given if there is no file."""
        if self._content is None:
            return state, [], 0
        file = self._content
        leaves, shape = jax.tree.flatten(state)
        stored = [jnp.asarray(file[f"state_{i}"]) for i in range(len(leaves))]
        names = [name.removeprefix("told_") for name in file if name.startswith("told_")]
        epochs = int(file["finished"])
        told = [{name: file[f"told_{name}"][i] for name in names} for i in range(epochs + 1)]
        return jax.tree.unflatten(shape, stored), told, epochs

    def save_now_and_then(self, state: Any, told: Told, epoch: int) -> None:
        """Save if the last time was long ago."""
        if time.monotonic() - self._saved > SECONDS:
            self.save(state, told, epoch)

    def save(self, state: Any, told: Told, epoch: int) -> None:
        """Write state and records of epochs 0, …, ``epoch``."""
        if self._path is None:
            return
        content: dict[str, Any] = {
            "identity": np.array(json.dumps(self._identity)),
            "finished": epoch,
            **{f"state_{i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(state))},
            **{f"told_{name}": np.stack([one[name] for one in told]) for name in told[0]},
        }
        write(self._path, content)
        self._saved = time.monotonic()
