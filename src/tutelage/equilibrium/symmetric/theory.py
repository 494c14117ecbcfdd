"""One interface for every number of units: K = 1, finite K and K → ∞.

A theory knows its unspecialized state at a load, a curve of specialized states parametrised by
V, and what a state is worth.  States, learning curves and transitions are written against it.
"""

import abc
import math
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from tutelage._checks import InputError
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import Kernel, kernel_of
from tutelage.equilibrium.symmetric import branch, stability
from tutelage.equilibrium.symmetric.branch import Trace
from tutelage.equilibrium.symmetric.site import Point, Site
from tutelage.equilibrium.symmetric.stability import Block
from tutelage.equilibrium.symmetric.unspecialized import unspecialized_point, unspecialized_points

MOST_UNITS = 10**15  # beyond, K and K - 1 are the same float64


class Order(NamedTuple):
    """The order parameters R, S and C."""

    R: Any
    S: Any
    C: Any


class Theory(abc.ABC):
    """Stationary states of βf for one activation and one number of units."""

    kernel: Kernel
    units: float

    @abc.abstractmethod
    def unspecialized(self, load: float) -> Point:
        """The state with R = S at a load."""

    @abc.abstractmethod
    def unspecialized_many(self, loads: np.ndarray) -> Point:
        """The same at many loads."""

    @abc.abstractmethod
    def trace(self) -> Trace:
        """The specialized curve, at increasing V."""

    @abc.abstractmethod
    def at(self, V: float, guess: Point) -> Point | None:
        """The state of the specialized curve at V, next to a guess."""

    @abc.abstractmethod
    def at_many(self, V: np.ndarray, guess: Point) -> Point:
        """The same at many V next to one guess; NaN where there is no way."""

    @abc.abstractmethod
    def slope(self, point: Point) -> tuple[Any, Any]:
        """α and dα/dV on the specialized curve."""

    @abc.abstractmethod
    def order(self, point: Point) -> Order:
        """R, S and C of a point."""

    @abc.abstractmethod
    def error(self, point: Point) -> Any:
        """ε_g."""

    @abc.abstractmethod
    def free_energy(self, load: Any, point: Point) -> Any:
        """βf/K."""

    @abc.abstractmethod
    def hessian(self, load: float, point: Point) -> np.ndarray:
        """Second derivatives in the order parameters."""

    @abc.abstractmethod
    def stable(self, load: Any, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """True for minima in all overlaps, and for minima among site-symmetric states."""

    @abc.abstractmethod
    def blocks(self, load: float, point: Point) -> list[Block]:
        """Eigenvalues of the full Hessian, by representation."""


class FiniteTheory(Theory):
    """2 ≤ K < ∞."""

    def __init__(self, kernel: Kernel, units: int):
        self.kernel, self.units, self.site = kernel, float(units), Site(kernel, units)

    def unspecialized(self, load: float) -> Point:
        return unspecialized_point(self.site, load)

    def unspecialized_many(self, loads: np.ndarray) -> Point:
        return unspecialized_points(self.site, loads)

    def trace(self) -> Trace:
        return branch.trace(self.site)

    def at(self, V: float, guess: Point) -> Point | None:
        return branch.specialized_point(self.site, V, guess)

    def at_many(self, V: np.ndarray, guess: Point) -> Point:
        same = np.ones_like(V)
        return branch.specialized_points(self.site, V, guess.d * same, guess.c * same)

    def slope(self, point: Point) -> tuple[Any, Any]:
        return branch.slope(self.site, point)

    def order(self, point: Point) -> Order:
        at = self.site.overlap(point)
        return Order(at.R, at.S, at.C)

    def error(self, point: Point) -> Any:
        return self.site.error(point)

    def free_energy(self, load: Any, point: Point) -> Any:
        return self.site.free_energy(load, point)

    def hessian(self, load: float, point: Point) -> np.ndarray:
        return stability.hessian(self.site, load, point)

    def stable(self, load: Any, point: Point) -> tuple[np.ndarray, np.ndarray]:
        matrices = stability.block_matrices(self.site, load, point)
        positive = [stability.is_positive(H) for H in matrices.values()]
        return np.all(positive, axis=0), positive[0]

    def blocks(self, load: float, point: Point) -> list[Block]:
        return stability.blocks(self.site, load, point)


def theory_of(activation: Activation, units: Any) -> Theory:
    """The theory for an activation and K = 1, 2, …, or ``math.inf``."""
    from tutelage.equilibrium.symmetric.large_k import InfiniteTheory
    from tutelage.equilibrium.symmetric.single import SingleTheory

    infinite = isinstance(units, float) and units == math.inf
    whole = isinstance(units, Integral) and not isinstance(units, bool)
    if not infinite and (not whole or not 1 <= int(units) <= MOST_UNITS):
        raise InputError(
            "units",
            repr(units),
            "it has to be a whole number from 1 to 10¹⁵, or infinite",
            "units=5 or units=math.inf",
        )
    kernel = kernel_of(activation)
    if infinite:
        return InfiniteTheory(kernel)
    return SingleTheory(kernel) if units == 1 else FiniteTheory(kernel, int(units))
