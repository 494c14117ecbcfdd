"""Checkpoints: runs that are interrupted go on where they were, with the same result.

A checkpoint is an ``.npz`` file with everything recorded so far, the state of the batch under
way, and the arguments it belongs to.  It is written to a temporary file first, then renamed, so
that there is a whole one at any time.  When all runs are over it stays, without the weights: the
same call made again returns the same result at once.
"""

import json
import time
from typing import Any, NamedTuple

import numpy as np

from tutelage._jax import jax, jnp
from tutelage.model import Scenario
from tutelage.runs.checkpoint import SECONDS, check_same, checked_path, digest, read, write
from tutelage.simulation.plan import Plan
from tutelage.simulation.record import Record


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
        self._path = checked_path(path)
        self._identity = _identity(scenario, plan, attrs) if self._path else {}
        self._saved = time.monotonic()

    def load(self, empty: Record) -> tuple[Record, UnderWay | None]:
        """What has been recorded before, and the batch under way, if there is a file."""
        if self._path is None or not self._path.exists():
            return empty, None
        file = read(self._path)
        check_same(json.loads(str(file["identity"])), self._identity, self._path)
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
        write(self._path, content)
        self._saved = time.monotonic()


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
