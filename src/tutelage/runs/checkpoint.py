"""Checkpoints: files in which long work saves its state, and from which it resumes.

A checkpoint records the arguments of its work; work with other arguments refuses it and leaves it
unchanged.  The file is complete at any time (`tutelage.runs.files`).  If it cannot be written,
because a disk is full, the work continues with a warning.
"""

import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from jaxtyping import PyTree

from tutelage._checks import InputError
from tutelage._given import FileName
from tutelage.runs import files
from tutelage.runs.arrays import load_npz

Tree = TypeVar("Tree")
Content = Mapping[str, Any]

SECONDS_BETWEEN_SAVES = 30.0


class Checkpoint:
    """The checkpoint of one computation; a file of another computation is refused at once.

    with Checkpoint(path, identity) as checkpoint:
        stored = checkpoint.load()
        for … :
            checkpoint.update(content)

    If an error or Ctrl-C ends the block early, the last state is written.

    path: a file name, or None for no checkpoint.
    identity: the arguments that identify this work; values are compared as text.
    """

    def __init__(self, path: FileName | None, identity: Mapping[str, object]):
        self._path = _checked_path(path)
        self._identity = {name: str(value) for name, value in identity.items()}
        self._content: dict[str, np.ndarray] | None = None
        self._pending: Content | Callable[[], Content] | None = None
        self._saved = time.monotonic()
        if self._path is not None and self._path.exists():
            stored, self._content = _read(self._path)
            _check_same(stored, self._identity, self._path)

    def load(self) -> dict[str, np.ndarray] | None:
        """Return the saved state, or None."""
        return self._content

    def update(self, content: Content | Callable[[], Content]) -> None:
        """Update the state of the computation, and write it if the last save was long ago.

        content: arrays by name, or a function that returns them, called when they are written.
        """
        self._pending = content
        if time.monotonic() - self._saved > SECONDS_BETWEEN_SAVES:
            self.save(content)

    def save(self, content: Content | Callable[[], Content]) -> None:
        """Write the state now."""
        self._pending = None
        if self._path is None:
            return
        arrays = content() if callable(content) else content
        head = {"identity": self._identity, "names": list(arrays)}
        try:
            _write(self._path, {"head": np.array(json.dumps(head)), **arrays})
        except OSError as problem:
            _warn(self._path, problem)
        self._saved = time.monotonic()

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and self._pending is not None:
            self.save(self._pending)


def flat(name: str, tree: PyTree) -> dict[str, np.ndarray]:
    """Return the leaves of a tree of arrays by name."""
    import jax

    return {f"{name}_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def restored(name: str, like: Tree, content: Mapping[str, np.ndarray]) -> Tree:
    """Undo `flat`: the tree of arrays with the structure of ``like``."""
    import jax
    import jax.numpy as jnp

    leaves, shape = jax.tree.flatten(like)
    arrays = [jnp.asarray(content[f"{name}_{i}"]) for i in range(len(leaves))]
    tree: Tree = jax.tree.unflatten(shape, arrays)
    return tree


# The form of the return values of `digest`, which messages leave out.
DIGEST = re.compile("[0-9a-f]{16}")


def digest(*arrays: object) -> str:
    """Return a short hash of the contents of arrays."""
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def _checked_path(path: FileName | None) -> Path | None:
    """Return the path, validated to be writable; None for no checkpoint."""
    hint = 'checkpoint="run.npz"'
    return None if path is None else files.check_writable("checkpoint", path, (), hint)


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return identity and contents; files of NumPy have a checksum of every array."""
    try:
        content = load_npz(path)
        head = json.loads(str(content.pop("head")))
        identity = {str(name): str(value) for name, value in head["identity"].items()}
        return identity, {name: content[name] for name in head["names"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(
            "checkpoint",
            repr(str(path)),
            "this file is not a checkpoint, or it is damaged; it is left unchanged",
            "another file name",
        ) from None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with files.replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **content)


def _warn(path: Path, problem: OSError) -> None:
    stays = "the previous one is unchanged" if path.exists() else "no checkpoint exists"
    warnings.warn(
        f"checkpoint {str(path)!r} could not be written ({files.reason(problem)}): {stays}, and "
        "the computation continues",
        RuntimeWarning,
        stacklevel=4,
    )


def _check_same(theirs: dict[str, str], ours: dict[str, str], path: Path) -> None:
    """Refuse a file of another computation, and name what differs: numbers and words before
    digests.
    """
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    names.sort(key=lambda name: bool(DIGEST.fullmatch(str(theirs.get(name)))))
    if names:
        name = names[0]
        others = f" (and {', '.join(names[1:])})" if names[1:] else ""
        raise InputError(
            "checkpoint",
            f"{str(path)!r}, saved with {name} = {theirs.get(name)}{others}",
            f"this call has {name} = {ours.get(name)}; the file is left unchanged",
            "another file name, or the same arguments",
        )
