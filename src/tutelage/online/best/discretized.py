"""The equations with controls, in fixed steps, and the exact gradient of the final error.

A step of length h from the time t_j with controls u_j and u_(j+1) at its ends,

    y_(j+1) = Φ(y_j, u_j, u_(j+1), h),

is one of Dormand and Prince's method, with controls linear in time.  For an objective J(y_n) the
costates of the discretised equations, Λ_n = ∇J and Λ_j = (∂Φ/∂y_j)ᵀ Λ_(j+1), give the gradient

    ∂J/∂u_j = (∂Φ_j/∂u_j)ᵀ Λ_(j+1) + (∂Φ_(j-1)/∂u_j)ᵀ Λ_j

without any error but rounding.  The states need one step after the other; all Jacobians are then
computed at once, in vector instructions: a third of the time of reverse-mode differentiation.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.model.timing import Rate
from tutelage.online.flow import Flow
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve.stepping import LAST, NODES, STAGES

CONTROLS = ("learning_rate", "readout_rate", "weight_decay")
# Steps per compiled call; the last call is padded with steps of length zero.
STEPS_PER_BLOCK = 128
# Overlaps that exceed this belong to a diverging run.
LARGEST_OVERLAP = 1e6


class Controlled(eqx.Module):
    """The right-hand side as a function of a state and of the controls.

    names: those of the controls, in the order of the components of u.
    fixed: η and η_v that are not controls, by name.
    """

    flow: Flow
    fixed: dict[str, Any]
    names: tuple[str, ...] = eqx.field(static=True)

    def rates(self, y: Float[Array, " d"], u: Float[Array, " m"]) -> Float[Array, " d"]:
        """Return dy/dα."""
        values = self.fixed | {name: u[i] for i, name in enumerate(self.names)}
        rate = Rate(
            values["learning_rate"],
            readout=values.get("readout_rate"),
            decay=values.get("weight_decay"),
        )
        return self.flow.rates(y, self.flow.scenario.T, rate)

    def log_error(self, y: Float[Array, " d"]) -> Float[Array, ""]:
        """Return ln ε_g, the quantity to minimize."""
        error = self.flow.errors(y, self.flow.scenario.T)
        return jnp.log(jnp.maximum(error, np.finfo(float).tiny))

    def step(
        self,
        y: Float[Array, " d"],
        u: Float[Array, " m"],
        u_next: Float[Array, " m"],
        h: Float[Array, ""],
    ) -> Float[Array, " d"]:
        """Return Φ(y, u, u_next, h), the state after a step."""

        def stage(i: Array, k: Array) -> Array:
            at = y + h * jnp.sum(jnp.asarray(STAGES)[i, :, None] * k, axis=0)
            slope = self.rates(at, u + jnp.asarray(NODES)[i] * (u_next - u))
            updated: Array = jax.lax.dynamic_update_index_in_dim(k, slope, i, 0)
            return updated

        k: Array = jax.lax.fori_loop(0, LAST, stage, jnp.zeros((LAST + 1, len(y))))
        return y + h * jnp.sum(jnp.asarray(STAGES)[LAST, :, None] * k, axis=0)


class Path(NamedTuple):
    """A run in fixed steps, with the gradient of ln ε_g at its end.

    times: of the ends of steps, shape (n,);  states: shape (n, d);  controls: shape (n, m).
    costates: Λ, shape (n, d).
    value: ln ε_g of the last state.
    by_control: ∂value/∂u, shape (n, m).
    by_length: ∂value/∂h of every step, shape (n - 1,).
    """

    times: Float[np.ndarray, " n"]
    states: Float[np.ndarray, "n d"]
    controls: Float[np.ndarray, "n m"]
    costates: Float[np.ndarray, "n d"]
    value: float
    by_control: Float[np.ndarray, "n m"]
    by_length: Float[np.ndarray, " n-1"]

    @property
    def by_end(self) -> float:
        """d(ln ε_g)/d(end), where all steps are stretched by the same factor."""
        return float(np.sum(self.by_length * np.diff(self.times)) / self.times[-1])

    def hamiltonian(self, system: Controlled) -> Float[np.ndarray, " n"]:
        """Return Λ·dy/dα, which is constant along an optimum."""
        rates = in_blocks(lambda y, u: _rates(system, y, u), self.states, self.controls)
        return np.sum(self.costates * rates, axis=1)


def value_of(
    system: Controlled,
    y0: Float[np.ndarray, " d"],
    times: Float[np.ndarray, " n"],
    controls: Float[np.ndarray, "n m"],
) -> float:
    """Return ln ε_g at the last time; infinite for a run that diverges."""
    return _finite_value(system, _states(system, y0, times, controls))[0]


def path(
    system: Controlled,
    y0: Float[np.ndarray, " d"],
    times: Float[np.ndarray, " n"],
    controls: Float[np.ndarray, "n m"],
) -> Path | None:
    """Compute a run and its gradient; None for a run that diverges."""
    controls, h = np.asarray(controls, float), np.diff(np.asarray(times, float))
    states = _states(system, y0, times, controls)
    value, gradient = _finite_value(system, states)
    if not np.isfinite(value):
        return None
    by_state, by_first, by_second, by_h = in_blocks(
        lambda *ends: _jacobians(system, *ends), states[:-1], controls[:-1], controls[1:], h
    )
    costates = np.empty_like(states)
    costates[-1] = gradient
    for j in range(len(h) - 1, -1, -1):
        costates[j] = costates[j + 1] @ by_state[j]
    later = costates[1:]
    by_control = np.zeros_like(controls)
    by_control[:-1] += np.einsum("jd,jdm->jm", later, by_first)
    by_control[1:] += np.einsum("jd,jdm->jm", later, by_second)
    by_length = np.sum(later * by_h, axis=1)
    return Path(np.asarray(times), states, controls, costates, value, by_control, by_length)


def _states(
    system: Controlled,
    y0: Float[np.ndarray, " d"],
    times: Float[np.ndarray, " n"],
    controls: Float[np.ndarray, "n m"],
) -> Float[np.ndarray, "n d"]:
    """Return the states at all times."""
    u, h = np.asarray(controls, float), np.diff(np.asarray(times, float))
    y = np.asarray(y0, float)

    def block(
        first: Float[np.ndarray, "block m"],
        second: Float[np.ndarray, "block m"],
        h: Float[np.ndarray, " block"],
    ) -> Any:
        nonlocal y
        states = np.asarray(_compiled_steps(system, y, first, second, h))
        y = states[-1]
        return states

    return np.concatenate([np.asarray(y0, float)[None], in_blocks(block, u[:-1], u[1:], h)])


def in_blocks(function: Callable[..., PyTree], *arrays: np.ndarray) -> Any:
    """Apply a function to blocks of `STEPS_PER_BLOCK` rows, so that it is compiled once.

    The last block is filled up with its last row; of step lengths, which are the only arrays with
    one axis, with zeros.
    """
    count, results = len(arrays[0]), []
    for first in range(0, count, STEPS_PER_BLOCK):
        rows = [x[first : first + STEPS_PER_BLOCK] for x in arrays]
        more = STEPS_PER_BLOCK - len(rows[0])
        rows = [np.concatenate([x, np.repeat(x[-1:] * (x.ndim > 1), more, axis=0)]) for x in rows]
        results.append(jax.tree.map(np.asarray, function(*rows)))
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:count], *results)


def _finite_value(system: Controlled, states: np.ndarray) -> tuple[float, np.ndarray]:
    """Return ln ε_g of the last state with its gradient; infinite if a state is not bounded."""
    if not np.all(np.abs(states) <= LARGEST_OVERLAP):  # false for NaN
        return np.inf, np.zeros(states.shape[1])
    value, gradient = _objective(system, states[-1])
    return float(value), np.asarray(gradient)


@stored_jit
def _compiled_steps(
    system: Controlled,
    y0: Float[AnyArray, " d"],
    u: Float[AnyArray, "block m"],
    u_next: Float[AnyArray, "block m"],
    h: Float[AnyArray, " block"],
) -> Any:
    """Return the states after each step of a block."""

    def one(y: Array, ends: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        after = system.step(y, *ends)
        # A diverging run is frozen: numbers that overflow take longer.
        after = jnp.where(jnp.all(jnp.abs(y) <= LARGEST_OVERLAP), after, y)
        return after, after

    return jax.lax.scan(one, y0, (u, u_next, h))[1]


@stored_jit
def _jacobians(
    system: Controlled,
    states: Float[Array, "block d"],
    u: Float[Array, "block m"],
    u_next: Float[Array, "block m"],
    h: Float[Array, " block"],
) -> Any:
    """Return ∂Φ/∂y, ∂Φ/∂u_j, ∂Φ/∂u_(j+1) and ∂Φ/∂h of the steps of a block."""
    return _of_all(system, jax.jacfwd(system.step, argnums=(0, 1, 2, 3)), states, u, u_next, h)


@stored_jit
def _rates(system: Controlled, states: Float[Array, "block d"], u: Float[Array, "block m"]) -> Any:
    return _of_all(system, system.rates, states, u)


def _of_all(
    system: Controlled, function: Callable[..., PyTree], *arguments: Float[Array, "block ..."]
) -> Any:
    """Apply a function to all steps; serially where the nodes of averages depend on the state."""
    if system.flow.moments.one_by_one:
        return jax.lax.map(lambda one: function(*one), arguments)
    return jax.vmap(function)(*arguments)


@stored_jit
def _objective(system: Controlled, y: Float[Array, " d"]) -> tuple[Any, Any]:
    return jax.value_and_grad(system.log_error)(y)
