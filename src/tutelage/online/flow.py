"""The order-parameter equations of on-line learning, exact in the learning rate.

    dR_in/dα = η ⟨δ_i y_n⟩ - (γ + δ) R_in
    dQ_ik/dα = η ⟨δ_i x_k + δ_k x_i⟩ + (η²/b) [⟨δ_i δ_k⟩ + ς² s_K² ⟨g'(x_i) g'(x_k)⟩] - 2γ Q_ik
    δ_i = s_K g'(x_i) (τ - σ)

(straat2019 eq. (5), citton2025 section 2.1; Saad and Solla 1995), with weight decay γ, label noise
ς, teachers that drift at the rate δ (Biehl and Schwarze 1993), and steps with the mean gradient of
b examples, α = steps/N: it has the same mean, and a variance b times smaller.  In the limit η → 0
time is measured in units of 1/η and the terms in η² are left out.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array

from tutelage._checks import positive_integer
from tutelage._door import door
from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method, chosen
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import unchecked
from tutelage.model.scenario import check_scenario
from tutelage.model.timing import Rate, rate_of
from tutelage.online.moments.base import Moments
from tutelage.online.moments.conditional import ConditionalMoments
from tutelage.online.moments.erf import ErfMoments
from tutelage.online.moments.first import FirstMoments
from tutelage.online.moments.signs import SignMoments
from tutelage.online.moments.single import SingleMoments

# The first one that serves computes the averages.
WAYS: tuple[type[Moments], ...] = (ErfMoments, SignMoments, ConditionalMoments, SingleMoments)


def moments(scenario: Scenario, method: Method | str | None = None, limit: bool = False) -> Moments:
    """How the averages of a scenario are computed: the best exact way by default.

    limit: whether the terms in η² are left out.
    """
    method = chosen(method, (scenario.student.activation, scenario.teacher.activation))
    ways: tuple[type[Moments], ...] = (FirstMoments, *WAYS) if limit else WAYS
    return next(way(scenario, method) for way in ways if way.serve(scenario, method))


class Flow(eqx.Module):
    """The right-hand side of the equations for a scenario.

    scenario: who learns from whom.
    method: how averages are computed; the best exact one by default.
    limit: whether it serves the limit η → 0 only, which takes less to prepare.
    batch: b, examples for each step.

    Its ``moments`` give ⟨δ_i v⟩ and ⟨δ_i δ_k⟩ alone (``first_order``, ``second_order``) and a bound
    on their error (``error``).
    """

    moments: Moments
    batch: Any

    @door
    def __init__(
        self,
        scenario: Scenario,
        method: Method | str | None = None,
        *,
        limit: bool = False,
        batch: int = 1,
    ):
        check_scenario(scenario)
        # As an array the number is data: another one needs no other program.
        self.batch = np.asarray(positive_integer("batch", batch, "batch=1"), dtype=np.float64)
        self.moments = moments(scenario, method, limit)

    @property
    def scenario(self) -> Scenario:
        """Who learns from whom."""
        return self.moments.scenario

    @property
    def method(self) -> Method:
        """How single averages are computed."""
        return self.moments.method

    def coarse(self) -> "Flow":
        """With fewer rules for averages to compile, where ``moments.resolves`` the state."""
        return eqx.tree_at(lambda flow: flow.moments, self, self.moments.coarse())

    def __call__(self, overlaps: Overlaps, learning_rate: Any) -> Overlaps:
        """dQ/dα, dR/dα and dT/dα = 0 as `Overlaps`.

        learning_rate: a number, one for each entry of the leading axes, or a `Rate`; the number 0
            (not an array) is the limit η → 0.
        """
        rate, gamma, K = rate_of(learning_rate), self.scenario.weight_decay, self.scenario.K
        delta = self.scenario.drift
        first = self.moments.first_order(overlaps)
        x, y = jnp.split(_over_units(rate.first) * first, [K], axis=-1)
        dR = y - (gamma + delta) * overlaps.R
        dQ = x + jnp.swapaxes(x, -1, -2) - 2 * gamma * overlaps.Q
        if rate.second is not None:
            dQ = dQ + _over_units(rate.second / self.batch) * self.moments.second_order(overlaps)
        return unchecked(dQ, dR, jnp.zeros_like(overlaps.T))


class Flows(eqx.Module):
    """The right-hand sides of several runs whose scenarios differ in numbers.

    each: a `Flow` with a leading axis of runs on all of its arrays.
    """

    each: Flow

    def __init__(self, flows: list[Flow]):
        if len({jax.tree.structure(flow) for flow in flows}) > 1:  # alike in some runs only
            flows = [eqx.tree_at(lambda f: f.moments, f, f.moments.apart()) for f in flows]
        self.each = jax.tree.map(lambda *x: np.stack(x), *flows)

    def coarse(self) -> "Flows":
        """As `Flow.coarse`."""
        return eqx.tree_at(lambda flows: flows.each, self, self.each.coarse())

    @property
    def scenario(self) -> Scenario:
        """Who learns from whom, with the numbers of all runs."""
        return self.each.scenario

    def __call__(self, overlaps: Overlaps, learning_rate: Any) -> Overlaps:
        """As `Flow`, with one entry of the leading axis for each run."""
        rate, runs = rate_of(learning_rate), overlaps.Q.shape[:1]
        first = jnp.broadcast_to(jnp.asarray(rate.first, dtype=jnp.float64), runs)

        def one(flow: Flow, state: tuple[Array, Array, Array], eta: Array) -> Overlaps:
            return flow(unchecked(*state), Rate(eta, rate.limit))

        return self.over_runs(one, (overlaps.Q, overlaps.R, overlaps.T), first)

    def over_runs(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(flow, …)`` of every run."""
        arrays, static = eqx.partition(self.each, eqx.is_array_like)

        def one(parts: tuple[Any, ...]) -> Any:
            return function(eqx.combine(parts[0], static), *parts[1:])

        every = (arrays, *arguments)
        return jax.lax.map(one, every) if self.each.moments.one_by_one else jax.vmap(one)(every)


def _over_units(x: Any) -> Any:
    """A number for each state, as a factor of its overlaps."""
    return x[..., None, None] if np.ndim(x) else x
