"""Record a user's training while it runs, as the Dataset of a simulation.

Overlaps of K x N weights are small: memory is bounded by dropping every second record when there
are too many.  The whole file is replaced twice a minute, so that a kill leaves the previous file.
"""

import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage import results
from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._given import ArrayLike, FileName
from tutelage.bridge import callbacks, fields
from tutelage.bridge.behaviour import HiddenLayer, units
from tutelage.bridge.description import Description, check_finite
from tutelage.bridge.inputs import Structure, check_inputs, structure
from tutelage.bridge.models import read, read_any
from tutelage.bridge.optimizers import ATTRIBUTE, SAME_RATE, OptimizerSettings, read_optimizer
from tutelage.bridge.scenario import of_units
from tutelage.model import Scenario
from tutelage.model.layout import BLOCKS
from tutelage.runs import files
from tutelage.runs.provenance import attribute, versions
from tutelage.simulation.ensemble import Ensemble
from tutelage.simulation.observables import GAUSSIAN, Observations, dataset, errors
from tutelage.simulation.simulate import LARGEST_OVERLAP

# Seconds between two writes of the file.
SECONDS = 30.0
# Fraction of the time that writing may take; slow writes become rarer.
SHARE = 0.02
# Records per unit of time, by default.
RECORDS = 5
# Attributes that must be equal for a file to be continued.
IDENTITY = ("scenario", "learning_rate", "readout_rate", "batch", "dimension")
# Tolerance between overlaps of the same weights in float32, read from two files.
SAME_OVERLAPS = 1e-5
# Attribute of a record with the steps at which the training was resumed.
RESUMED = "resumed"


@dataclass
class _Records:
    """Values recorded at multiples of a stride; when full, every second one is dropped."""

    stride: int
    most: int
    steps: list[int]
    values: dict[str, list[np.ndarray]]

    def add(self, step: int, values: dict[str, Any]) -> None:
        self.steps.append(step)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        if len(self.steps) > self.most:
            self.stride *= 2
            self.keep([step % self.stride == 0 for step in self.steps])

    def keep(self, which: list[bool]) -> None:
        def every_second(entries: list[Any]) -> list[Any]:
            return [x for x, there in zip(entries, which, strict=True) if there]

        self.steps = every_second(self.steps)
        self.values = {name: every_second(entries) for name, entries in self.values.items()}


def _rate(learning_rate: float | None, optimizer: OptimizerSettings | None) -> Any:
    """Return the given learning rate, or else the optimizer's."""
    rates = () if optimizer is None else optimizer.rates
    if learning_rate is None:
        if len(rates) == 1:
            return rates[0]
        received = f"{len(rates)} rates of the optimizer" if optimizer is not None else "none"
        allowed = "one learning rate is needed: the rate of the first layer"
        raise InputError("learning_rate", received, allowed, "learning_rate=0.5 / N")
    finite_number("learning_rate", learning_rate, above=0.0, hint="0.5 / N")
    if optimizer is None or not rates or optimizer.includes_momentum(learning_rate):
        return learning_rate
    if not any(math.isclose(learning_rate, rate, rel_tol=SAME_RATE) for rate in rates):
        received, allowed = (
            f"{learning_rate:g}",
            f"the optimizer has {', '.join(f'{x:g}' for x in rates)}",
        )
        hint = "learning_rate=None for the rate of the optimizer"
        raise InputError("learning_rate", received, allowed, hint)
    return learning_rate


def numbers_by_label(blocks: dict[str, np.ndarray]) -> dict[str, float]:
    """Return every entry of a state under its label, such as R_12."""
    return {
        block.label(index, sizes): float(blocks[block.name][index])
        for block in BLOCKS
        if block.name in blocks
        for sizes in [dict(zip(block.dimensions, blocks[block.name].shape, strict=True))]
        for index in block.entries(sizes)
    }


class Recorder:
    """Records Q, R and derived quantities while a user's network learns.

        record = tl.bridge.Recorder(teacher, learning_rate)
        record(student)                # the start
        for step in range(steps):
            ...                        # one step of plain gradient descent, on new examples
            record(student)
        record.dataset()

    The Dataset is that of `tutelage.simulation.network`, with α = steps/N and the learning rates of
    the theory,

        η = f N · learning_rate,   or f · learning_rate where fields are w·ξ/√N,
        η_v = f N c² · readout_rate,

    with f = 1 for the error ½ Σ_c (σ_c - τ_c)² and f = 2/outputs for its mean over the outputs
    without the half, as PyTorch and Keras have it, and c a factor of the outputs in the code.

    Args:
        teacher: anything that `describe` reads.
        learning_rate: that of the optimizer for the first layer, a number. With momentum μ it may
            include the factor 1/(1 - μ) by which momentum increases it on-line. None reads it from
            the optimizer.
        every: steps between two records; by default about N/5.
        readout_rate: of the second layer, as the optimizer has it; 0 if that does not learn.
        batch: examples per step; a step uses the mean of their errors.
        loss: "half" for ½ Σ_c (σ_c - τ_c)², "mean" for the mean of (σ_c - τ_c)² over outputs.
        most: largest number of records; when there are more, every second one is dropped, and the
            steps between two are doubled.
        inputs: rows of the data, shape (examples, N).  If they have structure their covariance
            enters the overlaps; the kurtosis of the fields is measured on them at the start and at
            the end, for `predict`.
        activation, scaled: as for `tutelage.bridge.scenario`.
        optimizer: whose name, learning rate, momentum and weight decay are stored in the record,
            for `predict`: a PyTorch or Keras optimizer, or a mapping such as
            ``{"name": "sgd", "learning_rate": 0.01, "momentum": 0.9, "weight_decay": 0.0}``.
            The settings of Optax transformations cannot be read: pass them as a mapping.
        path: a file that ends in .nc or .csv, written twice a minute, by ``dataset`` and at the end
            of ``with Recorder(...) as record:``.  A training that is resumed from a step continues
            the file: ``record(student, step=5000)`` as its first call.  Weights that are not those
            of the record at this step are refused; steps that are missing in between are stored in
            the attribute ``resumed``, and a warning names them.
        log: a function that is called as ``log(numbers, step=...)`` at every recorded step, with a
            dict of alpha, the overlaps ("Q_11", "R_12", …) and the readouts: ``wandb.log``, or
            ``mlflow.log_metrics``.

    Raises:
        InputError: if an argument, or the first student, is not covered by the theory.
    """

    @validated
    def __init__(
        self,
        teacher: object,
        learning_rate: float | None = None,
        *,
        every: int | None = None,
        readout_rate: float = 0.0,
        batch: int = 1,
        loss: Literal["half", "mean"] = "half",
        most: int = 1000,
        inputs: ArrayLike | None = None,
        activation: object = None,
        scaled: bool | None = None,
        optimizer: object = None,
        path: FileName | None = None,
        log: Callable[..., Any] | None = None,
    ):
        self._teacher = units("teacher", read("teacher", teacher), scaled)
        self._activation, self._scaled = activation, scaled
        N = self.dimension
        self._optimizer, self._settings = optimizer, None
        self._rate_factors = (1.0, 1.0)
        if optimizer is not None:
            self._settings = read_optimizer(optimizer)
        rate = finite_number(
            "learning_rate", _rate(learning_rate, self._settings), above=0.0, hint="0.5 / N"
        )
        finite_number("readout_rate", readout_rate, at_least=0.0, hint="0.0")
        self._optimizer_rates = float(rate), float(readout_rate)
        self._resumed: list[list[int]] = []
        self._batch = positive_integer("batch", batch, "batch=1")
        self._loss = loss
        every = max(1, N // RECORDS) if every is None else positive_integer("every", every)
        if positive_integer("most", most, "most=1000") < 2:
            raise InputError("most", repr(most), "it has to have a start and an end", "most=1000")
        self._records = _Records(every, most, [], {})
        self._inputs = None if inputs is None else check_inputs(inputs, N)
        self._structure = None if self._inputs is None else structure(self._inputs)
        self._path = None if path is None else results.check_path(path)
        self._log = log
        self._saved = -np.inf
        self._pause = SECONDS
        self._known: dict[int, float] = {}
        self._next, self._ended = 0, -1
        self._student: HiddenLayer | None = None
        self._scenario: Scenario | None = None
        self._dropout: tuple[str, ...] = ()

    @property
    def dimension(self) -> int:
        """N."""
        return int(self._teacher.weights.shape[1])

    @property
    def scenario(self) -> Scenario:
        """The scenario of student and teacher, known after the first record."""
        if self._scenario is None:
            raise InputError("student", "none yet", "record(student) has to be called first")
        return self._scenario

    @property
    def stride(self) -> int:
        """Steps between two records at present."""
        return self._records.stride

    def __call__(self, student: object, step: int | None = None) -> None:
        """Record the student after ``step`` steps: 0 is the start; the default is one step after
        the last call.

        Returns at once unless this is a step to record.
        """
        step = self._next if step is None else int(step)
        self._next = step + 1
        if self._ended >= 0 or not self.wants(step):
            return
        self._note(student, step)
        if self._path is not None and time.monotonic() - self._saved > self._pause:
            self.save()

    def wants(self, step: int) -> bool:
        """Return whether a step would be recorded, for callers that need time to compute the
        weights.
        """
        return step % self._records.stride == 0 or self._scenario is None

    def _note(self, student: object, step: int) -> None:
        network = read_any("student", student)
        if self._scenario is None:
            check_finite("student", network)
            self._begin(network, step)
        if not network.is_finite:
            self._diverged()
            return
        assert self._student is not None
        J, v, b = self._weights(network)
        blocks = self._blocks(J, v)
        if not np.all(np.abs(blocks["Q"]) <= LARGEST_OVERLAP):
            self._diverged()
            return
        self._last = np.array(J), None if v is None else np.array(v)
        self._note_rates()
        biases = float(np.max(np.abs(b), initial=0.0))
        self._records.add(step, blocks | {"largest_bias": np.float64(biases)})
        if self._log is not None:
            self._log({"alpha": step / self.dimension, **numbers_by_label(blocks)}, step=step)

    def _diverged(self) -> None:
        """Record the end of the run, at the last step with finite overlaps."""
        self._ended = self._records.steps[-1] if self._records.steps else 0

    @property
    def knows_optimizer(self) -> bool:
        """Whether the settings of the optimizer are stored."""
        return self._settings is not None

    def watch(self, optimizer: object) -> None:
        """Store the settings of an optimizer that was created after the recorder."""
        self._optimizer, self._settings = optimizer, read_optimizer(optimizer)

    def _note_rates(self) -> None:
        """Store the smallest and the largest learning rate so far, in units of the first."""
        if self._settings is None or not self._settings.rates:
            return
        now = read_optimizer(self._optimizer).rates
        factor = now[0] / self._settings.rates[0] if now and self._settings.rates[0] else 1.0
        self._rate_factors = min(self._rate_factors[0], factor), max(self._rate_factors[1], factor)

    def _begin(self, network: Description, step: int) -> None:
        """Check the first student in full, and fix the scenario."""
        self._dropout = network.dropout
        self._student = units("student", network, self._scaled)
        J, B = self._student, self._teacher
        if J.weights.shape[1] != B.weights.shape[1]:
            received = f"units with {J.weights.shape[1]} inputs"
            raise InputError("student", received, f"the teacher's have {B.weights.shape[1]}")
        _, _, T = self._overlaps(J.weights)
        self._scenario = of_units(J, B, self._activation, T)
        self._first = np.array(J.weights), None if J.readout is None else np.array(J.readout)
        if self._path is not None and self._path.exists():
            self._continue_file(step, network)

    def _weights(self, network: Description) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Return J, c v and biases of a student that has the structure of the first one."""
        first = self._student
        assert first is not None
        one, *second = network.layers
        scale = np.sqrt(one.weights.shape[1]) if first.scaled else 1.0
        J = one.weights / scale
        if J.shape != first.weights.shape:
            received, allowed = (
                f"weights of shape {J.shape}",
                f"the first had {first.weights.shape}",
            )
            raise InputError("student", received, allowed, "the same network at every step")
        v = first.factor * second[0].weights if second else first.readout
        biases = [layer.bias for layer in network.layers if layer.bias is not None]
        return J, v, np.concatenate(biases) if biases else np.zeros(1)

    def _blocks(self, J: np.ndarray, v: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the state of a network as named blocks."""
        Q, R, _ = self._overlaps(J)
        return {"Q": Q, "R": R} | ({} if v is None else {"readout": np.array(v)})

    def _overlaps(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        B = self._teacher.weights
        if self._inputs is None or self._structure is None or not self._structure.words:
            return J @ J.T, J @ B.T, B @ B.T
        return fields.covariances(self._inputs, J, B)

    @property
    def rates(self) -> tuple[float, float]:
        """η and η_v in the units of the theory."""
        student, N = self._student, self.dimension
        assert student is not None
        f = 1.0 if self._loss == "half" else 2.0 / self.scenario.outputs
        rate, readout_rate = self._optimizer_rates
        return f * rate * (1 if student.scaled else N), f * N * student.factor**2 * readout_rate

    def dataset(self) -> xr.Dataset:
        """Return the records so far: Q, R, generalization_error, ``largest_bias``.

        With ``inputs``, at the start and at the end (``moment``): ``measured_error``, the mean
        error on them, and ``field_kurtosis``, the excess kurtosis of the student's fields, each
        with its standard error.  If the second layer moves it is there as ``readout``.  With
        ``path`` it is written there too.
        """
        record = self._dataset()
        if self._path is not None:
            self._write(record)
        return record

    def _dataset(self) -> xr.Dataset:
        scenario, N = self.scenario, self.dimension
        recorded = np.array(self._records.steps)
        observed = {n: np.array(x)[None] for n, x in self._records.values.items()}
        biases = observed.pop("largest_bias")
        if "readout" in observed and not self._moves(observed["readout"]):
            del observed["readout"]
        ensemble = Ensemble(N, recorded, max(int(recorded[-1]), 1), 1, 0)
        observed["generalization_error"] = self._errors(observed)
        record = dataset(scenario, ensemble, Observations(observed, np.array([self._ended])))
        record["generalization_error"].attrs["inputs"] = GAUSSIAN
        record["largest_bias"] = ("run", "time"), biases
        record = record.assign(self._on_inputs())
        return record.assign_attrs(self._attributes())

    def _errors(self, observed: dict[str, np.ndarray]) -> Float[np.ndarray, "1 time"]:
        """ε_g of every record, each computed once: one may take longer than thousands of steps."""
        steps = self._records.steps
        new = np.array([step not in self._known for step in steps])
        if np.any(new):
            T = np.broadcast_to(self.scenario.T, (1, len(steps), *self.scenario.T.shape))
            new_errors = errors(self.scenario, observed, T, new[None])[0]
            computed = zip(steps, new_errors, new, strict=True)
            self._known |= {step: x for step, x, is_new in computed if is_new}
        self._known = {step: self._known[step] for step in steps}
        return np.array([list(self._known.values())])

    def _moves(self, v: Float[np.ndarray, "1 time outputs K"]) -> bool:
        change = np.max(np.abs(v - v[:, :1])) > 1e-6 * np.max(np.abs(v))
        return bool(self._optimizer_rates[1] > 0 or change)

    def _on_inputs(self) -> dict[str, Any]:
        if self._inputs is None:
            return {}
        weights = (self._first, self._last)
        return fields.measured(self.scenario, self._inputs, weights, self._teacher.weights)

    def _attributes(self) -> dict[str, Any]:
        η, η_v = self.rates
        given = {
            "scenario": self.scenario,
            "learning_rate": η,
            "readout_rate": η_v,
            "batch": self._batch,
            "dimension": self.dimension,
            "optimizer_rate": self._optimizer_rates[0],
            "optimizer_readout_rate": self._optimizer_rates[1],
            "loss": self._loss,
            "every": self._records.stride,
        }
        attributes = {name: attribute(value) for name, value in given.items()}
        if self._settings is not None:
            attributes[ATTRIBUTE] = self._settings.attribute
            if not np.allclose(self._rate_factors, 1.0, rtol=SAME_RATE):
                attributes["optimizer_rate_factors"] = json.dumps(self._rate_factors)
        if self._dropout:
            attributes["dropout"] = ", ".join(self._dropout)
        if self._resumed:
            attributes[RESUMED] = json.dumps(self._resumed)
        if isinstance(self._structure, Structure):
            attributes |= {f"inputs_{n}": x for n, x in vars(self._structure).items()}
        return {"computed_by": "bridge.Recorder", **attributes, **versions()}

    def save(self) -> None:
        """Write the file now; if writing fails, warn and continue the training."""
        if self._path is None:
            raise InputError("path", "none", "the recorder has no file", 'Recorder(path="run.nc")')
        begun = time.monotonic()
        self._write(self._dataset())
        self._pause = max(SECONDS, (self._saved - begun) / SHARE)

    def _write(self, dataset: xr.Dataset) -> None:
        assert isinstance(self._path, Path)
        try:
            results.save(dataset, self._path)
        except OSError as problem:
            words = f"record {str(self._path)!r} could not be written ({files.reason(problem)})"
            warnings.warn(f"{words}: the training continues", RuntimeWarning, stacklevel=3)
        self._saved = time.monotonic()

    def _continue_file(self, step: int, network: Description) -> None:
        """Continue from the records before this step in a file of the same training."""
        assert isinstance(self._path, Path)
        stored, current = results.load(self._path), self._attributes()
        for name in IDENTITY:
            if stored.attrs.get(name) != current[name]:
                received = f"{str(self._path)!r}, recorded with {name} = {stored.attrs.get(name)}"
                allowed = f"this training has {current[name]}; the file is left unchanged"
                raise InputError("path", received[:300], allowed[:300], "another file name")
        steps = np.rint(stored["time"].values * self.dimension).astype(int)
        known = self._check_resumed(stored, steps, step, network)
        earlier = steps < step
        self._resumed = json.loads(stored.attrs.get(RESUMED, "[]"))
        self._resumed = [pair for pair in self._resumed if pair[1] < step]
        if earlier.any() and not known:
            self._resumed.append([int(steps[earlier][-1]), step])
            self._warn_of_gap(step, int(stored.attrs["every"]))
        self._records.stride = max(self._records.stride, int(stored.attrs["every"]))
        self._records.steps = steps[earlier].tolist()
        names = [n for n in (*(b.name for b in BLOCKS), "largest_bias") if n in stored]
        values = {n: list(stored[n].isel(run=0).values[earlier]) for n in names}
        if "readout" not in values and self._student is not None:
            v = self._student.readout
            values |= {} if v is None else {"readout": [v] * int(earlier.sum())}
        self._records.values = values if earlier.any() else {}

    def _check_resumed(
        self, there: xr.Dataset, steps: np.ndarray, step: int, network: Description
    ) -> bool:
        """Refuse a network whose overlaps differ from those recorded in the file at this step.

        True if the file has this step, so that the record has no gap.
        """
        same = np.flatnonzero(steps == step)
        if not len(same):
            return False
        J, v, _ = self._weights(network)
        recorded = there.isel(run=0, time=int(same[0]))
        blocks = self._blocks(J, v).items()
        pairs = [(x, recorded[name].values) for name, x in blocks if name in recorded]
        if all(np.allclose(x, y, rtol=SAME_OVERLAPS, atol=SAME_OVERLAPS) for x, y in pairs):
            return True
        raise InputError(
            "student",
            f"weights at step {step} that differ from those of the record {str(self._path)!r}",
            f"the file has steps {steps[0]} to {steps[-1]}, and is left unchanged",
            "record(student, step=...) with the number of steps that made these weights, "
            "or another file name for another training",
        )

    def _warn_of_gap(self, step: int, stride: int) -> None:
        last = self._resumed[-1][0]
        if step - last <= stride:
            return
        warnings.warn(
            f"the record {str(self._path)!r} ends at step {last}, and the training is resumed at "
            f"step {step}: the steps between are missing, as its attribute {RESUMED!r} says. "
            "To leave no gap, call record.save() whenever the weights are saved",
            RuntimeWarning,
            stacklevel=5,
        )

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        """Save the file when the block ends, also after an exception."""
        if self._path is not None and self._scenario is not None:
            self.save()

    def lightning(self) -> Any:
        """Return a callback for the Trainer of PyTorch Lightning."""
        return callbacks.lightning(self)

    def keras(self, *, step: int = 0) -> Any:
        """Return a callback for ``model.fit``; steps_per_execution has to divide ``every``.

        step: the number of steps that a resumed training has behind it.
        """
        return callbacks.keras(self, step)

    def optax(self) -> Any:
        """Return a transformation for ``optax.chain(…, record.optax())`` that records the
        parameters.

        It works inside ``jit`` and ``scan``; the parameters have to be given to ``update``.
        """
        return callbacks.optax(self)
