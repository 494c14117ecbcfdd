"""Interface of the averages in the equations of motion."""

import abc
from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage._jax import jnp, numbers_to_arrays
from tutelage._module import PlainModule
from tutelage.averages import pairs
from tutelage.averages.generalization import couplings, generalization_error, products
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario

# Tested accuracy of closed forms, which lose some digits where fields nearly coincide.
EXACT = 1e-10
# Rounding of a sum over products of closed forms, relative to its largest term.
SUM_ROUNDING = 16 * float(np.finfo(float).eps)


class Moments(PlainModule):
    """⟨δ_i v⟩ and ⟨δ_i δ_k⟩ of a scenario.

    scenario: with its numbers as arrays (`tutelage._jax.numbers_to_arrays`).
    method: how single averages are computed.
    """

    scenario: Scenario
    method: Method
    # Whether states are computed serially, each with as many nodes as it needs.
    one_by_one: ClassVar[bool] = False

    def __init__(self, scenario: Scenario, method: Method):
        self._set_fields(scenario=numbers_to_arrays(scenario), method=method)

    @staticmethod
    @abc.abstractmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        """Return whether this class can compute the averages of the scenario with the method."""

    def without_shared_activation(self) -> "Moments":
        """Return averages that do not assume equal units of student and teacher."""
        scenario = self.scenario.without_shared_activation()
        return eqx.tree_at(lambda moments: moments.scenario, self, scenario)

    @property
    def fits_one_kernel(self) -> bool:
        """Return whether a step of a run is compiled into one kernel
        (`tutelage._jax.one_kernel`).
        """
        return False

    @property
    def fits_large_kernel(self) -> bool:
        """Return whether a step of a single run is one kernel, which takes seconds to optimize."""
        return False

    @property
    def uses_wide_vectors(self) -> bool:
        """Return whether vector instructions of 512 bits make a step of a run faster."""
        return False

    @property
    def is_faster_serially(self) -> bool:
        """Return whether runs take less time one after the other than in parallel, if a step of
        a run is compiled into one kernel.
        """
        return False

    @property
    def has_long_loops(self) -> bool:
        """Return whether most of the time is spent in loops that the newer code generator makes
        faster.
        """
        return False

    @property
    def terms(self) -> int:
        """The number of terms of a right-hand side, in units of one average of four fields."""
        return (self.scenario.K + self.scenario.M) ** 4

    @abc.abstractmethod
    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """Return ⟨δ_i v⟩ for all fields v, students first."""

    def first_orders(
        self, overlaps: Overlaps
    ) -> tuple[Float[Array, "... K n"], Float[Array, "... K n"]]:
        """Return ⟨δ_i v⟩, and ⟨g(x_i) g_a(f_a)⟩, which a learning second layer needs."""
        method = None if self.method.exact else self.method
        return self.first_order(overlaps), products(self.scenario, overlaps, method)

    def with_readout(self, v: Float[Array, "outputs K"]) -> "Moments":
        """Return the averages for another readout of the student."""
        scenario = self.scenario.with_readout(v)
        return eqx.tree_at(lambda moments: moments.scenario, self, scenario)

    def jacobian(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        """Return A_ia = ⟨∂δ_i/∂f_a⟩; ⟨δ_i v⟩ is A C."""
        units, _ = _coefficients(self.scenario)
        return pairs.mean_jacobian(units, overlaps.covariance, couplings(self.scenario))

    @abc.abstractmethod
    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        """Return ⟨δ_i δ_k⟩, with the term of label noise."""

    def generalization_error(self, overlaps: Overlaps) -> Float[Array, "..."]:
        """Return ε_g of states, by the requested method or else the best exact one."""
        method = None if self.method.exact else self.method
        return generalization_error(self.scenario, overlaps, method=method)

    def coarse(self) -> "Moments":
        """Return averages with fewer rules to compile; `resolves` tests where they are accurate."""
        return self

    def resolves(self, overlaps: Overlaps) -> Bool[Array, "..."]:
        """Return whether the averages are accurate at these states."""
        return jnp.ones(overlaps.leading, dtype=bool)

    @abc.abstractmethod
    def error(self, overlaps: Overlaps) -> float:
        """Return a bound on the error of the entries of ⟨δ_i v⟩ and ⟨δ_i δ_k⟩ at a state."""

    def derivative_error(self, overlaps: Overlaps) -> float:
        """Return the relative error of derivatives where student and teacher fields coincide."""
        return SUM_ROUNDING if self.method.exact else self.error(overlaps)


def exact_first_order(scenario: Scenario, overlaps: Overlaps) -> Float[Array, "... K n"]:
    """Return ⟨δ_i v⟩ of piecewise linear units and error functions."""
    units, kinks = _coefficients(scenario)
    return pairs.first_order(units, overlaps.covariance, couplings(scenario), kinks=kinks)


def _coefficients(scenario: Scenario) -> tuple[pairs.UnitCoefficients, bool]:
    """Return the coefficients of all units, and whether the students' have kinks."""
    g, h = scenario.student.activation, scenario.teacher.activation
    return pairs.unit_coefficients([(g, scenario.K), (h, scenario.M)]), bool(g.kinks)
