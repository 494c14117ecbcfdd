"""What the equations of motion ask of a way to compute their averages."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario

# Closed forms lose some digits where fields nearly coincide, and are tested to be right to this.
EXACT = 1e-10


class Moments(eqx.Module):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩ of a scenario, by one way.

    scenario: who learns from whom.
    method: how single averages are computed.
    """

    scenario: Scenario
    method: Method

    @staticmethod
    @abc.abstractmethod
    def serve(scenario: Scenario, method: Method) -> bool:
        """Whether this way is right for the scenario and the method."""

    @abc.abstractmethod
    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """⟨δ_i v⟩ for all fields v, students first."""

    @abc.abstractmethod
    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        """⟨δ_i δ_k⟩ and what label noise adds to it."""

    def both(self, overlaps: Overlaps) -> tuple[Float[Array, "... K n"], Float[Array, "... K K"]]:
        """First and second order, with what they share computed once."""
        return self.first_order(overlaps), self.second_order(overlaps)

    @abc.abstractmethod
    def error(self, overlaps: Overlaps) -> float:
        """A bound on the error of both at a state, in the largest entry."""
