"""Learning in large batches: a map from one step to the next.

A step takes the mean gradient of bN new examples, J_i ← (1 - γ) J_i + η (1/bN) Σ_μ δ_i ξ.  Its mean
is Σ_a A_ia w_a, with the mean Jacobian A of the signals (`tutelage.averages.pairs`), and the rest
is random, of variance D/b with D_ik = ⟨δ_i δ_k⟩: overlaps change by

    R ← (1 - γ) R + η (A C)_xy
    Q ← (1 - γ)² Q + (1 - γ) η (A C + C Aᵀ)_xx + η² (A C Aᵀ + D/b)_xx

and by no small amounts; nothing is inverted.  As b → ∞ this is gradient descent on ε_g itself.
`tutelage.online.optimizer_steps` has the same map for steps with momentum and with normalized
or orthogonalized gradients.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._given import CheckedInside
from tutelage._jax import jax, jnp
from tutelage._memory import check_memory
from tutelage.model import Overlaps, Scenario, timing
from tutelage.model.layout import Layout, layout_of
from tutelage.model.optimizers import RELATIVE_EPSILON, Optimizer, Plain, check_optimizer
from tutelage.model.scenario import check_fits
from tutelage.model.timing import Scheduled, time_axis
from tutelage.online.flow import Flow, readout_gradient
from tutelage.online.moments.base import Moments
from tutelage.online.optimizer_steps import gradient_norm, step
from tutelage.runs.provenance import recorded
from tutelage.runs.stored_jit import stored_jit

# A run whose overlaps exceed this has diverged.
LARGEST_OVERLAP = 1e6
# Averages ⟨δ_i δ_k⟩ are sums with rounding errors of about this size.
GRADIENT_ROUNDING = 1e-14
PLAIN = Plain()


@recorded
def iterate(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float | Callable[[Any], Any],
    *,
    steps: int,
    batch: float = 1.0,
    readout_rate: float = 0.0,
    optimizer: CheckedInside[Optimizer] = PLAIN,
) -> xr.Dataset:
    """Learn in steps, each with the mean gradient of bN new examples.

    Args:
        scenario: student and teacher, with constant teachers; weight decay acts once in a step.
        start: Q, R and T before the first step.
        learning_rate: η > 0 of a whole step, or a schedule η(α) written with ``jax.numpy``.
        steps: the number of steps.
        batch: b > 0, examples for each step in units of N.
        readout_rate: η_v of a whole step, for a second layer that learns; 0 keeps it fixed.
        optimizer: a member of ``tl.optimizers``; all but ``Plain()`` need a fixed second layer.

    Returns:
        A Dataset with Q, R and generalization_error before the first and after every step, and
        ``readout`` if it learns; with momentum also the overlaps of the velocities V: V·V, V·W and
        V·w* as ``velocity_norm``, ``velocity_student`` and ``velocity_teacher``.  ``time`` is α,
        the number of examples over N, which a step increases by b.  ``attrs["outcome"]`` is
        "reached", or "diverged" if overlaps exceed 10⁶, which ends the run; ``attrs["epsilon"]``
        is the ε of an optimizer that has one.

    Raises:
        InputError: if an argument cannot be used, or if the optimizer does not close on overlaps.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Linear())
    >>> start = tl.Overlaps(Q=[[1.0]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.iterate(tl.Scenario(one, one), start, learning_rate=0.5, steps=2, batch=1)
    >>> run.R.values.ravel().tolist()  # 1 - R halves in every step
    [0.0, 0.5, 0.75]
    """
    check_fits("start", scenario, start, batches=((),))
    finite_number("batch", batch, above=0.0, hint="batch=1.0")
    finite_number("readout_rate", readout_rate, at_least=0.0, hint="readout_rate=0.5")
    count = positive_integer("steps", steps, "steps=100")
    check_optimizer(optimizer)
    _check_closes(scenario, readout_rate, optimizer)
    rates = _rates(learning_rate, count, float(batch))
    flow = Flow(scenario, readout_rate=float(bool(readout_rate)))
    batch_map = BatchMap(flow, optimizer, batch, readout_rate)
    check_memory("steps", count, lambda n: 16 * n * batch_map.layout.size, "their records")
    batch_map = batch_map.with_epsilon(start)
    y0 = jnp.asarray(batch_map.vector(start))
    states, errors = _iterated(batch_map, y0, jnp.asarray(rates))
    dataset = _dataset(batch_map.layout, np.asarray(states), np.asarray(errors), float(batch))
    if optimizer.normalizes:
        dataset.attrs["epsilon"] = float(batch_map.optimizer.epsilon)
    return dataset


def _check_closes(scenario: Scenario, readout_rate: float, optimizer: Optimizer) -> None:
    """Check that teachers are constant and, if the second layer learns, steps are plain."""
    if float(scenario.drift) > 0:
        allowed = "teachers must not drift in steps with large batches"
        raise InputError("scenario", f"drift = {scenario.drift}", allowed, "drift=0")
    if readout_rate > 0 and not isinstance(optimizer, Plain):
        allowed = f"steps of {type(optimizer).__name__} need a fixed second layer"
        raise InputError("readout_rate", f"{readout_rate:g}", allowed, "readout_rate=0")


def _rates(learning_rate: Any, steps: int, batch: float) -> Float[np.ndarray, " steps"]:
    """Return η of every step, and one more for recording the last state."""
    times = batch * np.arange(steps + 1.0)
    rate = timing.learning_rate(learning_rate, times, times[-1], limit=False, runs=False)
    if isinstance(rate, Scheduled):
        return np.array([float(learning_rate(np.float64(t))) for t in times])
    finite_number("learning_rate", learning_rate, above=0.0, hint="0.5")
    return np.full(steps + 1, float(learning_rate))


class BatchMap(eqx.Module):
    """The map of a state, as a vector, in one step.

    flow: the averages.
    optimizer: the optimizer with its numbers as arrays, and momentum None if it is 0.
    batch, readout_rate: b and η_v, as arrays.
    """

    flow: Flow
    optimizer: Optimizer
    batch: Any
    readout_rate: Any

    def __init__(self, flow: Flow, optimizer: Optimizer, batch: float, readout_rate: float = 0.0):
        self.flow = flow
        # As arrays these numbers are inputs of a program, so other values use the same program.
        numbers = (
            np.asarray(optimizer.momentum, np.float64) if optimizer.momentum else None,
            np.asarray(optimizer.epsilon or 0.0, np.float64),
        )
        self.optimizer = eqx.tree_at(
            lambda o: (o.momentum, o.epsilon), optimizer, numbers, is_leaf=lambda x: x is None
        )
        self.batch = np.asarray(batch, np.float64)
        self.readout_rate = np.asarray(readout_rate, np.float64)

    def with_epsilon(self, start: Overlaps) -> "BatchMap":
        """Return the map with the default ε, if the optimizer needs one and none was given."""
        if not self.optimizer.normalizes or self.optimizer.epsilon > 0:
            return self
        trace = float(np.trace(_gradient_norm(self.flow, start, self.batch)))
        if not trace > GRADIENT_ROUNDING:
            raise InputError(
                "optimizer",
                "no epsilon",
                "its default is a fraction of the gradient at the start, which is zero here",
                f"tl.optimizers.{type(self.optimizer).__name__}(epsilon=1e-12)",
            )
        epsilon = np.asarray(RELATIVE_EPSILON * trace)
        return eqx.tree_at(lambda m: m.optimizer.epsilon, self, epsilon)

    @property
    def layout(self) -> Layout:
        """The blocks of the state."""
        scenario = self.flow.scenario
        outputs = scenario.outputs if self.flow.trained else 0
        return layout_of(scenario.K, scenario.M, outputs, self.optimizer.momentum is not None)

    def vector(self, start: Overlaps) -> Float[np.ndarray, " d"]:
        """Return the state vector with these overlaps, the readouts of the scenario, and zero
        velocities.
        """
        y = self.flow.vector(start)
        return np.concatenate([y, np.zeros(self.layout.size - len(y))])

    def __call__(self, y: Float[Array, " d"], rate: Float[Array, ""]) -> Float[Array, " d"]:
        """Return the state after one step."""

        def after(moments: Moments, state: Overlaps) -> Array:
            blocks = self.layout.arrays(y)
            velocity = {name: x for name, x in blocks.items() if name.startswith("velocity")}
            changed = step(self.optimizer, moments, state, velocity, rate, self.batch)
            if self.flow.trained:
                changed["readout"] = self._readout(moments, state)
            return self.layout.vector(changed)

        return self.flow.at_states(after, y[: self.flow.layout.size], self.flow.scenario.T)

    def errors(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        """ε_g of a state."""
        return self.flow.errors(y[: self.flow.layout.size], self.flow.scenario.T)

    def _readout(self, moments: Moments, state: Overlaps) -> Array:
        """Return v after a plain step."""
        scenario = moments.scenario
        gradient = readout_gradient(scenario, moments.first_orders(state)[1])
        v = (1 - scenario.readout_decay) * scenario.student.weights
        return v + self.readout_rate * gradient


@stored_jit
def _gradient_norm(flow: Flow, start: Overlaps, batch: Float[Array, ""]) -> Float[Array, "K K"]:
    return gradient_norm(flow.moments, start, batch)


@stored_jit
def _iterated(
    batch_map: BatchMap, y: Float[Array, " d"], rates: Float[Array, " steps"]
) -> tuple[Array, Array]:
    """Return all states from the start on, and their errors."""

    def one(y: Array, rate: Float[Array, ""]) -> tuple[Array, tuple[Array, Array]]:
        is_bounded = jnp.all(jnp.abs(y) <= LARGEST_OVERLAP)  # False for NaN
        after = batch_map(y, rate)
        return jnp.where(is_bounded, after, y), (y, batch_map.errors(y))

    return jax.lax.scan(one, y, rates)[1]


def _dataset(layout: Layout, y: np.ndarray, errors: np.ndarray, batch: float) -> xr.Dataset:
    finite = np.all(np.abs(y) <= LARGEST_OVERLAP, axis=-1) & np.isfinite(errors)
    count = len(y) if np.all(finite) else int(np.argmin(finite))
    y, errors = y[:count], errors[:count]
    return xr.Dataset(
        {**layout.variables(y, ("time",)), "generalization_error": ("time", errors)},
        coords={"time": time_axis(batch * np.arange(count)), **layout.coordinates},
        attrs={"outcome": "reached" if np.all(finite) else "diverged"},
    )
