"""What the equations of motion ask of a way to compute their averages."""

import abc
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from tutelage._jax import as_data, jnp
from tutelage.averages import pairs
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario

# Closed forms lose some digits where fields nearly coincide, and are tested to be right to this.
EXACT = 1e-10


class Moments(eqx.Module):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩ of a scenario, by one way.

    scenario: who learns from whom, with its numbers as arrays (`tutelage._jax.as_data`).
    method: how single averages are computed.
    """

    scenario: Scenario
    method: Method
    # Whether states are worked on one after the other, each with as many nodes as it needs.
    one_by_one: ClassVar[bool] = False

    def __init__(self, scenario: Scenario, method: Method):
        self.scenario, self.method = as_data(scenario), method

    @staticmethod
    @abc.abstractmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        """Whether this way is right for the scenario and the method."""

    def apart(self) -> "Moments":
        """The same, without what holds only if student and teacher have the same units."""
        return self

    @abc.abstractmethod
    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """⟨δ_i v⟩ for all fields v, students first."""

    @abc.abstractmethod
    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        """⟨δ_i δ_k⟩ and what label noise adds to it."""

    @abc.abstractmethod
    def error(self, overlaps: Overlaps) -> float:
        """A bound on the error of both at a state, in the largest entry."""


def coefficients(scenario: Scenario) -> Float[Array, " n"]:
    """c_a of the fields in τ - σ = Σ_a c_a g_a(f_a): -s_K for students, s_M for teachers."""
    s_K, s_M = (jnp.asarray(s, dtype=jnp.float64) for s in scenario.output_scale)
    return jnp.concatenate([jnp.full(scenario.K, -s_K), jnp.full(scenario.M, s_M)])


def exact_first_order(scenario: Scenario, overlaps: Overlaps) -> Float[Array, "... K n"]:
    """⟨δ_i v⟩ of piecewise linear units and error functions."""
    g, h = scenario.student.activation, scenario.teacher.activation
    c = coefficients(scenario)
    G = jnp.broadcast_to(-c[0] * c, (scenario.K, c.size))
    units = pairs.straight([(g, scenario.K), (h, scenario.M)])
    return pairs.first_order(units, overlaps.covariance, G)
