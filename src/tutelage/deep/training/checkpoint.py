"""Checkpoints of a training: interrupted, it goes on where it was, with the same result."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tutelage._jax import jax, jnp
from tutelage.deep.network import Network
from tutelage.deep.training.start import joined, parted
from tutelage.runs.checkpoint import SECONDS, check_same, checked_path, digest, read, write


class Checkpoint:
    """A file of a training, or none; refused at once if it belongs to another one."""

    def __init__(self, path: Any, attrs: dict[str, Any], arrays: tuple[Any, ...] = ()):
        self._path: Path | None = checked_path(path)
        self._identity = {name: str(value) for name, value in attrs.items()}
        self._identity["arrays"] = digest(*arrays)
        self._saved = time.monotonic()
        self._content = None
        if self._path is not None and self._path.exists():
            self._content = read(self._path)
            check_same(json.loads(str(self._content["identity"])), self._identity, self._path)

    def load(self, students: list[Network]) -> tuple[list[Network], list[dict[str, Any]], int]:
        """Students, what has been recorded, and epochs learned; those given if there is no file."""
        if self._content is None:
            return students, [], 0
        file, shape = self._content, jax.tree.structure(students[0])
        number = len(jax.tree.leaves(students[0]))
        leaves = [jnp.asarray(file[f"state_{i}"]) for i in range(number)]
        names = [name.removeprefix("told_") for name in file if name.startswith("told_")]
        told = [
            {name: file[f"told_{name}"][i] for name in names} for i in range(int(file["recorded"]))
        ]
        return parted(jax.tree.unflatten(shape, leaves), students), told, int(file["finished"])

    def save_now_and_then(
        self, students: list[Network], told: list[dict[str, Any]], epoch: int
    ) -> None:
        """Save if the last time was long ago."""
        if time.monotonic() - self._saved > SECONDS:
            self.save(students, told, epoch)

    def save(self, students: list[Network], told: list[dict[str, Any]], epoch: int) -> None:
        """Write to a temporary file, then rename: there is a whole checkpoint at any time."""
        if self._path is None:
            return
        leaves = jax.tree.leaves(joined(students))
        names = told[0] if told else ()  # epochs to record need not begin with 0
        content: dict[str, Any] = {
            "identity": np.array(json.dumps(self._identity)),
            "finished": epoch,
            "recorded": len(told),
            **{f"state_{i}": np.asarray(x) for i, x in enumerate(leaves)},
            **{f"told_{name}": np.stack([one[name] for one in told]) for name in names},
        }
        write(self._path, content)
        self._saved = time.monotonic()
