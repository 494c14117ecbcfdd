"""The equations in units of the learning rate, with their derivatives.

With f_1 = (⟨δ_i y_n⟩, ⟨δ_i x_k + δ_k x_i⟩), f_2 = (0, ⟨δ_i δ_k⟩ and what label noise adds, over
the batch b) and D = γ + δ for R_in and 2γ for Q_ik, the vector y of R and Q moves by dy/dα = η f,

    f(y, η) = f_1(y) + η f_2(y) - D y/η
    ∂f/∂η = f_2(y) + D y/η²,

which without decay and drift is regular as η → 0.  In the limit time is αη and f = f_1 - D y.
A second layer that learns at η_v = κη adds κ ⟨(τ_c - σ_c) g(x_i)⟩ to f_1, and D = γ_v for v_ci.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.model.numbers import NUMBERS
from tutelage.model.timing import Rate
from tutelage.online.flow import Flow
from tutelage.runs.stored_jit import stored_jit
from tutelage.solve.continuation import System


class Linearization(NamedTuple):
    """The values f, ∂f/∂y and ∂f/∂η at (y, η)."""

    rates: Float[np.ndarray, " d"]
    jacobian: Float[np.ndarray, "d d"]
    by_rate: Float[np.ndarray, " d"]


def linearized(flow: Flow, y: Float[np.ndarray, " d"], eta: float) -> Linearization:
    """Return f and its derivatives; η = 0 is allowed without weight decay and drift."""
    (f, F), (g, G) = first_order(flow, y), second_order(flow, y)
    decay = decays(flow) / (eta or 1.0)
    return Linearization(
        f + eta * g - decay * y, F + eta * G - np.diag(decay), g + decay * y / (eta or 1.0)
    )


def system(flow: Flow, share: int = 1) -> System:
    """Return the function (y, η) -> f and [∂f/∂y, ∂f/∂η], for a curve of fixed points.

    One student in place of ``share`` identical ones learns at η/share; time stays in units of 1/η.
    """

    def equations(y: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
        f, J, slope = linearized(flow, y, eta / share)
        return f / share, np.column_stack([J, slope / share]) / share

    return equations


def rates_and_jacobian(
    flow: Flow, rate: Rate, y: Float[np.ndarray, " d"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d d"]]:
    """Return f and ∂f/∂y; in the limit η → 0 the second order is not computed."""
    if not rate.limit:
        return linearized(flow, y, rate.first)[:2]
    (f, F), decay = first_order(flow, y), decays(flow)
    return f - decay * y, F - np.diag(decay)


def decays(flow: Flow) -> Float[np.ndarray, " d"]:
    """Return D, the decay rate of every entry of a state."""
    rates = [number for number in NUMBERS if number.is_rate]
    terms = [float(getattr(flow.scenario, n.name)) * flow.layout.factors(n.acts_on) for n in rates]
    return np.sum(terms, axis=0)


def first_order(flow: Flow, y: Float[AnyArray, " d"]) -> tuple[np.ndarray, np.ndarray]:
    """Return f_1 and its derivative."""
    f, J = _first(flow, jnp.asarray(y))
    return np.asarray(f), np.asarray(J)


def second_order(flow: Flow, y: Float[AnyArray, " d"]) -> tuple[np.ndarray, np.ndarray]:
    """Return f_2 and its derivative."""
    f, J = _second(flow, jnp.asarray(y))
    return np.asarray(f) / flow.batch, np.asarray(J) / flow.batch


# Compiled separately: the limit η → 0 does not need the second order, which compiles longer, and
# the derivative with respect to η needs no further compilation.
@stored_jit
def _first(flow: Flow, y: Float[Array, " d"]):
    unit = Rate(1.0, limit=True, readout=flow.readout_rate)

    def one(moments, state):
        return flow.layout.vector(flow.first_order(moments, state, unit))

    return _with_derivative(flow, one, y)


@stored_jit
def _second(flow: Flow, y: Float[Array, " d"]):
    zero = flow.layout.arrays(jnp.zeros_like(y))

    def one(moments, state):
        return flow.layout.vector(zero | flow.second_order(moments, state, 1.0))

    return _with_derivative(flow, one, y)


def _with_derivative(flow: Flow, one, y: Float[Array, " d"]):
    def rates(y):
        return flow.at_states(one, y, flow.scenario.T)

    return rates(y), jax.jacfwd(rates)(y)
