"""Training of many networks at once, with spectra of their Hessians."""

import time
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Int, PyTree

from tutelage._checks import InputError, epochs_to_record, positive_integer
from tutelage._given import ArrayLike
from tutelage._jax import jax, jit_unoptimized, jnp
from tutelage._memory import check_memory
from tutelage.runs import provenance
from tutelage.runs.progress import Progress
from tutelage.runs.seed import check_seed
from tutelage.runs.stored_jit import stored_jit
from tutelage.spectra.classifier import Classifier, Parameters, Start, check_beta_start
from tutelage.spectra.cross_entropy import Output, accuracy, residuals
from tutelage.spectra.examples import Examples, examples as check_examples
from tutelage.spectra.hessian import DENSE_MEMORY, check_dense, eigenvalues_of
from tutelage.spectra.indices import check_tolerance
from tutelage.spectra.layered import classifier_hessian
from tutelage.spectra.objective import Adam, ClassifierOptimizer, Loss
from tutelage.spectra.record import Measured, as_dataset

RECORDS = 60
# A column of a Hessian costs as much as two gradients, forward over reverse.
COLUMN = 2
# The number of epochs per call is doubled while a call takes less than this many seconds.
DOUBLE_BELOW_SECONDS = 0.5
# Up to this many parameters the Hessians of all networks are in memory at the same time.
MAX_BATCHED_PARAMETERS = 500


def _examples_of(run: xr.Dataset) -> Examples:
    return check_examples(run["inputs"].values, run["labels"].values, str(run.attrs["examples"]))


@provenance.recorded(from_variables={"examples": _examples_of})
def train(
    classifier: Classifier,
    examples: Examples,
    *,
    epochs: int = 2300,
    recorded: ArrayLike | None = None,
    spectra: ArrayLike | None = None,
    optimizer: ClassifierOptimizer | None = None,
    beta_start: Start = None,
    output: Output = "softmax",
    runs: int = 1,
    seed: int = 0,
    tolerance: float = 1e-12,
    residual_tolerance: float = 1e-5,
    memory: float = DENSE_MEMORY,
    progress: bool = False,
) -> xr.Dataset:
    """Train networks from random starts; record loss, residuals and Hessian spectra during
    training.

    An epoch is one step with the gradient of all examples.  Eigenvalues are those of the exact
    Hessian of the mean cross-entropy over all parameters; for ReLU units that of the smooth
    parts (see `hessian_eigenvalues`).

    Args:
        classifier: sizes, activation, and what happens to β.
        examples: as many features and classes as the classifier has inputs and outputs.
        epochs: how many steps; 2300 is about where the curves of milletari2019, Fig. 1, end.
        recorded: those at which to record, increasing, 0 for the start; 60 when left out, every
            one at first and fewer later.
        spectra: those of them at which to compute eigenvalues; all when left out, () for none.
        optimizer: `Adam` with the learning rate 0.01 when left out, or `SGD`; both can let it
            decay.
        beta_start: where trainable β begin: one number for all, or the mean and the standard
            deviation of Gaussian ones; the β of the activation when left out.
        output: what several outputs are: "softmax", or "sigmoid" for a probability each, of the
            label 1, 2, … in turn; label 0 is then the one that no output claims.
        runs: how many networks, all in one batch.
        seed: of the starts; what a run does depends on it and on the number of the run alone.
        tolerance: what counts as zero, in units of the largest |λ| of the same spectrum; rounding
            alone makes some n · 10⁻¹⁶ of it, for n parameters.
        residual_tolerance: what counts as a zero residual |ŷ − y|/m, with m examples.
        memory: how many bytes a dense Hessian may take.
        progress: whether to print progress and remaining time.

    Returns:
        A Dataset with the dimensions run, epoch and eigenvalue: loss, accuracy, gradient_norm,
        zero_residuals, eigenvalues (ascending; missing where there is no spectrum),
        negative_fraction (α), zero_fraction (γ), the final_parameters, outcome ("reached" or
        "diverged"), inputs and labels.

    Raises:
        InputError: if an argument cannot be used, before any work.

    >>> import tutelage as tl
    >>> line = tl.spectra.linear_examples()
    >>> network = tl.spectra.Classifier((2, 10, 1), tl.Swish())
    >>> run = tl.spectra.train(network, line, epochs=300, recorded=[0, 300])
    >>> run.eigenvalues.dims, bool(run.loss[0, 1] < run.loss[0, 0])
    (('run', 'epoch', 'eigenvalue'), True)
    """
    _fits(classifier, examples, output)
    beta_start = check_beta_start(classifier, beta_start)
    optimizer = Adam() if optimizer is None else optimizer
    epochs, runs = positive_integer("epochs", epochs), positive_integer("runs", runs)
    seed = check_seed(seed)
    times = default_epochs(epochs) if recorded is None else recorded
    times = epochs_to_record("recorded", times, epochs)
    watched = times if spectra is None else spectra
    watched = epochs_to_record("spectra", watched, epochs, at_least_one=False)
    if not np.isin(watched, times).all():
        allowed = "spectra need recorded epochs"
        raise InputError("spectra", f"{np.setdiff1d(watched, times)[:3].tolist()}", allowed)
    for name, value in (("tolerance", tolerance), ("residual_tolerance", residual_tolerance)):
        check_tolerance(name, value)
    if len(watched):
        check_dense(classifier.count, memory)
    arrays = 2 * len(watched) + len(times) + 5  # spectra, records, weights and the moments of Adam
    size = 8 * classifier.count * arrays
    check_memory("runs", runs, lambda runs: runs * size, "their weights and spectra")
    near = float(residual_tolerance)
    system = TrainingSystem(classifier, examples, optimizer, near, beta_start, output)
    work = epochs + COLUMN * classifier.count * len(watched)
    with Progress(progress, work, "gradients") as bar:
        measured = _run(system, runs, seed, times, set(watched.tolist()), epochs, bar)
    return as_dataset(examples, measured, times, float(tolerance))


def default_epochs(epochs: int) -> np.ndarray:
    """Up to 60 epochs from 0 on, with growing distances, because most changes happen early.

    >>> default_epochs(2300)[[0, 1, 2, 30, -1]].tolist(), len(default_epochs(2300))
    ([0, 1, 3, 595, 2300], 60)
    """
    return np.unique(np.round(epochs * np.linspace(0.0, 1.0, RECORDS) ** 2).astype(int))


class TrainingSystem(eqx.Module):
    """The networks of a training: start, step and measurements."""

    classifier: Classifier
    loss: Loss
    optimizer: ClassifierOptimizer
    residual_tolerance: Any
    beta_start: Any

    def __init__(
        self,
        classifier: Classifier,
        examples: Examples,
        optimizer: ClassifierOptimizer,
        tolerance: float,
        beta_start: Start,
        output: Output,
    ):
        X, y = jnp.asarray(examples.inputs), jnp.asarray(examples.labels)
        # Numbers are arrays, so that one compiled program serves all β and learning rates.
        self.classifier, self.optimizer, self.residual_tolerance, self.beta_start = jax.tree.map(
            jnp.asarray, (classifier, optimizer, tolerance, beta_start)
        )
        self.loss = Loss(self.classifier, X, y, output)

    def start(self, seed: int, runs: int) -> Any:
        """Return parameters and optimizer state of every run."""
        learned = self.classifier, self.optimizer, self.beta_start
        return _start(*learned, jnp.asarray(seed), jnp.arange(runs))

    def step(self, state: tuple[Parameters, PyTree]) -> tuple[Any, Any]:
        """Train for one epoch."""
        θ, memory = state
        slope = jax.grad(self.loss)(θ)
        with jax.numpy_dtype_promotion("standard"):  # optax multiplies counts of steps by floats
            change, memory = self.optimizer.transformation().update(slope, memory, θ)
        return jax.tree.map(jnp.add, θ, change), memory

    def measure(self, θ: Parameters) -> dict[str, Any]:
        """Measure loss, accuracy, norm of the gradient, fraction of residuals near zero."""
        z = self.classifier.logits(θ, self.loss.inputs)
        answers = (z, self.loss.labels, self.loss.output)
        value, slope = jax.value_and_grad(self.loss)(θ)
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(slope)]
        near = jnp.abs(residuals(*answers)) <= self.residual_tolerance
        return {
            "loss": value,
            "accuracy": accuracy(*answers),
            "gradient_norm": jnp.sqrt(jnp.sum(jnp.stack(squares))),
            "zero_residuals": jnp.mean(near.astype(float)),
        }


def _run(
    system: TrainingSystem,
    runs: int,
    seed: int,
    times: np.ndarray,
    watched: set[int],
    epochs: int,
    bar: Progress,
) -> Measured:
    pace = EpochRunner(system, system.start(seed, runs), bar)
    scalars: list[dict[str, Any]] = []
    spectra = np.full((len(times), runs, system.classifier.count), np.nan)
    for number, epoch in enumerate(times.tolist()):
        state = pace.until(epoch)
        scalars.append(_measure(system, state[0]))
        if epoch in watched:
            spectra[number] = _spectra(system, state[0], runs)
            pace.done += COLUMN * system.classifier.count
            bar.show(pace.done)
    state = pace.until(epochs)
    columns = {name: np.array([one[name] for one in scalars]) for name in scalars[0]}
    return Measured(columns, spectra, np.asarray(_flat(state[0])))


class EpochRunner:
    """Train in calls short enough to show progress and to react to Ctrl-C."""

    def __init__(self, system: TrainingSystem, state: PyTree, bar: Progress):
        self._system, self._state, self._bar = system, state, bar
        self._epoch, self._most = 0, 1
        self.done = 0  # number of gradients

    def until(self, epoch: int) -> Any:
        """Return the state at a later epoch."""
        while self._epoch < epoch:
            count, begun = min(epoch - self._epoch, self._most), time.perf_counter()
            state = _advance(self._system, self._state, jnp.asarray(count))
            self._state = jax.block_until_ready(state)
            self._epoch, self.done = self._epoch + count, self.done + count
            self._bar.show(self.done)
            if time.perf_counter() - begun < DOUBLE_BELOW_SECONDS:
                self._most *= 2
        return self._state


@jit_unoptimized
def _start(
    classifier: Classifier,
    optimizer: ClassifierOptimizer,
    beta_start: PyTree,
    seed: Int[Array, ""],
    numbers: Int[Array, " runs"],
) -> Any:
    """Make the start; the examples are a constant of the program, which is compiled once."""
    key = jax.random.key(seed)

    def one(run: Int[Array, ""]) -> tuple[Any, Any]:
        θ = classifier.initial(jax.random.fold_in(key, run), beta_start)
        return θ, optimizer.transformation().init(θ)

    return jax.vmap(one)(numbers)


@stored_jit
def _advance(system: TrainingSystem, state: PyTree, count: Int[Array, ""]) -> Any:
    batch = jax.vmap(system.step)
    return jax.lax.fori_loop(0, count, lambda _, state: batch(state), state)


@jit_unoptimized
def _measure(system: TrainingSystem, θ: PyTree) -> Any:
    return jax.vmap(system.measure)(θ)


def _spectra(system: TrainingSystem, θ: PyTree, runs: int) -> np.ndarray:
    """Compute the eigenvalues of every network that has not diverged."""
    parts = (
        [slice(0, runs)]
        if system.classifier.count <= MAX_BATCHED_PARAMETERS
        else [slice(r, r + 1) for r in range(runs)]
    )
    eigenvalues = []
    for part in parts:
        H = np.asarray(_hessians(system, jax.tree.map(lambda x, part=part: x[part], θ)))
        finite = np.isfinite(H).all(axis=(1, 2))
        λ = eigenvalues_of(np.where(finite[:, None, None], H, 0.0))
        eigenvalues.append(np.where(finite[:, None], λ, np.nan))
    return np.concatenate(eigenvalues)


@stored_jit
def _hessians(system: TrainingSystem, θ: PyTree) -> Any:
    """Compute Hessians serially, each with its columns in batches."""

    def one(θ: PyTree) -> Any:
        flat, shape = ravel_pytree(θ)
        return classifier_hessian(system.loss, shape, flat)

    return jax.lax.map(one, θ)


@stored_jit
def _flat(θ: PyTree) -> Any:
    return jax.vmap(lambda one: ravel_pytree(one)[0])(θ)


def _fits(classifier: Classifier, examples: Examples, output: Output) -> None:
    check_examples(examples.inputs, examples.labels)  # Examples may be made without checks
    sizes = examples.sizes(*classifier.hidden)
    fewer = examples.classes == 2 or output == "sigmoid"
    outputs = {examples.classes - fewer, examples.classes}
    if classifier.sizes[0] != sizes[0] or classifier.sizes[-1] not in outputs:
        allowed = f"{examples.name} have {sizes[0]} features and {examples.classes} classes"
        hint = "Classifier(examples.sizes(10), …)"
        raise InputError("classifier", f"sizes {classifier.sizes}", allowed, hint)
