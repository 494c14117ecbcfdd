"""Piecewise linear units: ⟨δ_i δ_k⟩ as a sum of moments of signs, each computed once."""

import copy
import math
from functools import cache, lru_cache
from itertools import combinations_with_replacement
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._checks import is_traced
from tutelage._jax import (
    MAX_SUM_OF_PRODUCTS,
    has_wide_vectors,
    jax,
    jnp,
    match_rank,
    ordered_sum,
    rows_times_vectors,
)
from tutelage._types import AnyArray, ArrayModule
from tutelage.activations import Activation, LeakyReLU
from tutelage.activations.base import form_of
from tutelage.activations.closed import ClosedForm
from tutelage.averages.generalization import couplings
from tutelage.averages.methods import Method, Orthant
from tutelage.averages.orthant import sums
from tutelage.averages.orthant.sums import Sums
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import upper_triangle
from tutelage.online.moments.base import EXACT, Moments, exact_first_order

# With more fields the kernel takes seconds longer to compile.
MAX_FIELDS_OF_ONE_KERNEL = 12
# From this many fields on most of the time of a step is spent in the integrals of four fields.
MIN_FIELDS_OF_LOOPS = 8
# XLA copies more coefficients of a run in several threads, which one kernel cannot start.  Those of
# all runs, if the runs differ, are read as well.
MAX_COPIED = 2**16
# A single run of up to this many fields is one large kernel; more fields take twice as long in it.
MAX_FIELDS_OF_LARGE_KERNEL = 16
# The ReLU, in programs that it shares with leaky ReLUs.
LEAKY = LeakyReLU(0.0)
# Coefficients in the cache: those of the last networks.
MAX_CACHED_WEIGHTS = 16


class SignMoments(Moments):
    """Exact, for piecewise linear units whose slopes are numbers.

    sums: I4(x_i, x_k, a, b) for i <= k and a <= b, then ⟨g'(x_i) g'(x_k)⟩, pair by pair.
    weights: of all moments in every ⟨δ_i δ_k⟩, if the readouts are known and stay.
    """

    sums: Sums
    weights: Float[np.ndarray, "pairs moments"] | None

    def __init__(self, scenario: Scenario, method: Method):
        super().__init__(_with_leaky_units(scenario), method)
        g, h = scenario.student.activation, scenario.teacher.activation
        self._set_fields(sums=_written_out(scenario.K, scenario.M, form_of(g), form_of(h)))
        self._set_fields(weights=None if is_traced(self.scenario) else self._weights())

    def with_readout(self, v: Float[Array, "outputs K"]) -> "SignMoments":
        moments = super().with_readout(v)
        return eqx.tree_at(lambda m: m.weights, moments, None, is_leaf=lambda x: x is None)

    @staticmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        units = (scenario.student.activation, scenario.teacher.activation)
        return isinstance(method, Orthant) and has_known_slopes(*units)

    @property
    def fits_one_kernel(self) -> bool:
        return self.scenario.K + self.scenario.M <= MAX_FIELDS_OF_ONE_KERNEL

    @property
    def fits_large_kernel(self) -> bool:
        K, n = self.scenario.K, self.scenario.K + self.scenario.M
        is_large = MAX_FIELDS_OF_ONE_KERNEL < n <= MAX_FIELDS_OF_LARGE_KERNEL
        return is_large and K * n**2 <= MAX_SUM_OF_PRODUCTS

    @property
    def uses_wide_vectors(self) -> bool:
        return self._has_loops and has_wide_vectors()

    @property
    def is_faster_serially(self) -> bool:
        # Sixteen runs of K = M = 4 take 4 instead of 8 ms each, of K = M = 6 19 instead of 56.
        if self.weights is None:
            return False
        copied = math.prod(self.weights.shape[-2:]) * (self.weights.ndim - 1)
        return self._has_loops and copied <= MAX_COPIED

    @property
    def _has_loops(self) -> bool:
        return self.scenario.K + self.scenario.M >= MIN_FIELDS_OF_LOOPS

    @property
    def has_long_loops(self) -> bool:
        return not self.fits_one_kernel

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return exact_first_order(self.scenario, overlaps)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        if self.weights is not None:
            sums = rows_times_vectors(self.weights, self.sums.values(overlaps.covariance))
        else:
            parts = self._parts(couplings(self.scenario), jnp)
            sums = self.sums(overlaps.covariance)
            sums = sums.reshape(*sums.shape[:-1], *parts.shape)
            sums = ordered_sum(match_rank(parts, sums) * sums, axis=-1)
        return sums[..., upper_triangle(self.scenario.K)]

    def _parts(self, G: Float[AnyArray, "K n"], xp: ArrayModule) -> Any:
        """Return the coefficients of all sums, shape (pairs, quadruples + 1).

        G: the couplings;  xp: their array module, NumPy or JAX.
        """
        (i, k), (a, b) = np.triu_indices(self.scenario.K), np.triu_indices(G.shape[-1])
        one, other = G[i], G[k]
        both = one[:, a] * other[:, b] + one[:, b] * other[:, a]
        both = both * np.where(a == b, 0.5, 1.0)[None]
        noise = -(self.scenario.label_noise**2) * G[i, k]
        return xp.concatenate([both, noise[:, None]], axis=-1)

    def _weights(self) -> Float[np.ndarray, "pairs moments"]:
        """Return the coefficients of all moments, by NumPy: JAX takes milliseconds for them."""
        with jax.ensure_compile_time_eval():  # NumPy also while JAX compiles a user's function
            G = couplings(self.scenario, np)
        parts, units = self._parts(G, np), (self.scenario.student, self.scenario.teacher)
        forms = (form_of(committee.activation) for committee in units)
        return _weights_of(self.scenario.K, self.scenario.M, *forms, parts.tobytes(), len(parts))

    def error(self, overlaps: Overlaps) -> float:
        return EXACT


def _with_leaky_units(scenario: Scenario) -> Scenario:
    """Return the scenario with each ReLU as a leaky ReLU of slope 0, whose programs it shares."""
    other = copy.copy(scenario)
    for side in ("student", "teacher"):
        committee = getattr(scenario, side)
        form = form_of(committee.activation)
        if form.is_static and form.slopes == (0.0, 1.0):
            leaky = copy.copy(committee)
            object.__setattr__(leaky, "activation", LEAKY)
            object.__setattr__(other, side, leaky)
    return other


def has_known_slopes(*units: Activation) -> bool:
    """Whether units are piecewise linear with known slopes."""
    forms = (g.closed_form for g in units)
    return all(form is not None and form.is_homogeneous and form.is_static for form in forms)


@lru_cache(MAX_CACHED_WEIGHTS)
def _weights_of(
    K: int, M: int, g: ClosedForm, h: ClosedForm, parts: bytes, pairs: int
) -> Float[np.ndarray, "pairs moments"]:
    """Return `Sums.weights`, read-only, of the bytes of `SignMoments._parts`."""
    weights = _written_out(K, M, g, h).weights(np.frombuffer(parts).reshape(pairs, -1))
    weights.flags.writeable = False
    return weights


@cache
def _written_out(K: int, M: int, g: ClosedForm, h: ClosedForm) -> Sums:
    """Return, for i <= k, the sums I4(x_i, x_k, a, b) for a <= b, and ⟨g'(x_i) g'(x_k)⟩."""
    values = [sums.value(g, i) for i in range(K)] + [sums.value(h, K + n) for n in range(M)]
    slopes = [sums.slope(g, i) for i in range(K)]
    products = [
        sums.multiplied(one, other) for one, other in combinations_with_replacement(values, 2)
    ]
    nothing: sums.Expansion = {((), ()): 1.0}
    return Sums(
        [
            sums.multiplied(one, other, more)
            for one, other in combinations_with_replacement(slopes, 2)
            for more in [*products, nothing]
        ]
    )
