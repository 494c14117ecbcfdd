"""Checkpoints: runs that are interrupted go on where they were, with the same result.

A checkpoint is an ``.npz`` file with everything recorded so far, the state of the batch under
way, and the arguments it belongs to.  It is written to a temporary file first, then renamed, so
that there is a whole one at any time.  When all runs are over it stays, without the weights: the
same call made again returns the same result at once.
"""

import hashlib
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tutelage._jax import jax, jnp
from tutelage.checks import InputError
from tutelage.networks import Scenario
from tutelage.simulation.plan import Plan
from tutelage.simulation.record import Record

# Between checkpoints: writing one costs little, and little is lost since the last one.
SECONDS = 30.0


class UnderWay(NamedTuple):
    """The batch that a checkpoint was written in the middle of."""

    learned: int
    leaves: list[np.ndarray]
    ended: np.ndarray

    def like(self, now: Any) -> Any:
        """The batch, in the shape of one that has just begun."""
        state = jax.tree.unflatten(
            jax.tree.structure(now.state), [jnp.asarray(leaf) for leaf in self.leaves]
        )
        return type(now)(self.learned, state, jnp.asarray(self.ended))


class Checkpoint:
    """A file of a simulation, or none; refused at once if it belongs to another one."""

    def __init__(self, path: Any, scenario: Scenario, plan: Plan, attrs: dict[str, Any]):
        self._path = _checked(path)
        self._identity = _identity(scenario, plan, attrs) if self._path else {}
        self._saved = time.monotonic()

    def load(self, empty: Record) -> tuple[Record, UnderWay | None]:
        """What has been recorded before, and the batch under way, if there is a file."""
        if self._path is None or not self._path.exists():
            return empty, None
        file = _read(self._path)
        _same(json.loads(str(file["identity"])), self._identity, self._path)
        record = Record(file["Q"], file["R"], file["ended"], int(file["finished"]))
        if int(file["learned"]) < 0:
            return record, None
        leaves = [file[f"state_{i}"] for i in range(int(file["leaves"]))]
        return record, UnderWay(int(file["learned"]), leaves, file["batch_ended"])

    def save_now_and_then(self, record: Record, now: Any) -> None:
        """Save if the last time was long ago."""
        if time.monotonic() - self._saved > SECONDS:
            self.save(record, now)

    def save(self, record: Record, now: Any = None) -> None:
        """Write the record, and the batch under way if there is one."""
        if self._path is None:
            return
        leaves = [] if now is None else [np.asarray(leaf) for leaf in jax.tree.leaves(now.state)]
        content = {
            "identity": np.array(json.dumps(self._identity)),
            **{name: getattr(record, name) for name in ("Q", "R", "ended", "finished")},
            "learned": -1 if now is None else now.learned,
            "batch_ended": np.zeros(0) if now is None else np.asarray(now.ended),
            "leaves": len(leaves),
            **{f"state_{i}": leaf for i, leaf in enumerate(leaves)},
        }
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as stream:
                np.savez(stream, **content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)
        self._saved = time.monotonic()


def _checked(path: Any) -> Path | None:
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError("checkpoint", repr(path), "it has to be a file name", '"run.npz"')
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError("checkpoint", repr(str(path)), "its folder has to exist, and no folder it")
    return path


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            content = dict(file)
        content["identity"], content["finished"]
        return content
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise InputError(
            "checkpoint",
            repr(str(path)),
            "this file is no checkpoint of a simulation, and is left as it is",
            "another file name",
        ) from None


def _identity(scenario: Scenario, plan: Plan, attrs: dict[str, Any]) -> dict[str, str]:
    """What a checkpoint has to agree with: all attributes, and functions by their values."""
    x = np.linspace(-3.0, 3.0, 61)
    g, h = scenario.student.activation, scenario.teacher.activation
    return {
        **{name: str(value) for name, value in attrs.items()},
        "activations": digest(g(x), g.derivative(x), h(x)),
        "times": digest(plan.recorded),
        "learning rate over time": digest(plan.rates),
    }


def digest(*arrays: Any) -> str:
    """A short name of the contents of arrays."""
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def _same(theirs: dict[str, str], ours: dict[str, str], path: Path) -> None:
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    if names:
        name = names[0]
        others = f" (and {', '.join(names[1:])})" if names[1:] else ""
        raise InputError(
            "checkpoint",
            f"{str(path)!r}, a simulation with {name} = {theirs.get(name)}{others}",
            f"this one has {name} = {ours.get(name)}; the file is left as it is",
            "another file name, or the same arguments",
        )
