"""The order-parameter equations of on-line learning, exact in the learning rate.

    dR_in/dα = η ⟨δ_i y_n⟩ - (γ + δ) R_in
    dQ_ik/dα = η ⟨δ_i x_k + δ_k x_i⟩ + (η²/b) [⟨δ_i δ_k⟩ + ς² (vᵀv)_ik ⟨g'(x_i) g'(x_k)⟩] - 2γ Q_ik
    δ_i = g'(x_i) Σ_c v_ci (τ_c - σ_c)

(straat2019 eq. (5), citton2025 section 2.1; Saad and Solla 1995), with weight decay γ, label noise
ς, teachers that drift at the rate δ (Biehl and Schwarze 1993; `tutelage.model.teachers`), and steps
with the mean gradient of b examples, α = steps/N: it has the same mean, and a variance b times
smaller.  In the limit η → 0 time is measured in units of 1/η and the terms in η² are left out.

A second layer that learns, at the rate η_v/N, joins the state (Goldt et al. 2019),

    dv_ci/dα = η_v ⟨(τ_c - σ_c) g(x_i)⟩ - γ_v v_ci,

both times the scale of the outputs; label noise does not enter.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from tutelage._arguments import validated
from tutelage._checks import finite_number, positive_integer
from tutelage._jax import jax, jnp, small_product
from tutelage._module import Module, PlainModule
from tutelage._types import AnyArray, FloatOrArray
from tutelage.averages.generalization import coefficients
from tutelage.averages.methods import Method, chosen
from tutelage.averages.recorded_errors import errors_inside_a_program
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import Block, Layout, layout_of, unchecked
from tutelage.model.scenario import check_scenario
from tutelage.model.teachers import scale_off_diagonal
from tutelage.model.timing import Rate, rate_of
from tutelage.online.moments.base import Moments
from tutelage.online.moments.conditional import ConditionalMoments
from tutelage.online.moments.erf import ErfMoments
from tutelage.online.moments.first import FirstMoments
from tutelage.online.moments.signs import SignMoments
from tutelage.online.moments.single import SingleMoments
from tutelage.runs.stored_jit import stored_jit

# Up to this many runs with per-run numbers are computed by one program for this number of runs: in
# parallel, each in a lane of vector instructions, or one after the other where that is faster.
# A sweep has many runs: those of two ReLUs take a seventh less time in twice as many lanes.
LANES, SWEEP_LANES = 16, 32
# The averages are computed by the first class that supports the scenario and its method.
IMPLEMENTATIONS: tuple[type[Moments], ...] = (
    ErfMoments,
    SignMoments,
    ConditionalMoments,
    SingleMoments,
)


def moments(scenario: Scenario, method: Method | str | None = None, limit: bool = False) -> Moments:
    """Choose how the averages of a scenario are computed; by default the best exact method.

    limit: whether the terms in η² are left out.
    """
    method = chosen(method, (scenario.student.activation, scenario.teacher.activation))
    ways: tuple[type[Moments], ...] = (FirstMoments, *IMPLEMENTATIONS) if limit else IMPLEMENTATIONS
    return next(way(scenario, method) for way in ways if way.supports(scenario, method))


class Flow(PlainModule):
    """The right-hand side of the equations for a scenario.

    scenario: student and teacher.
    method: how averages are computed; the best exact one by default.
    limit: whether only the limit η → 0 is needed, which takes less preparation.
    batch: b, examples for each step.
    readout_rate: η_v in units of η, at which the second layer learns; 0 keeps it fixed, and the
        state is Q and R.

    Its ``moments`` give ⟨δ_i v⟩ and ⟨δ_i δ_k⟩ alone (``first_order``, ``second_order``) and a bound
    on their error (``error``).
    """

    moments: Moments
    batch: Any
    readout_rate: Any
    trained: bool = eqx.field(static=True)

    @validated
    def __init__(
        self,
        scenario: Scenario,
        method: Method | str | None = None,
        *,
        limit: bool = False,
        batch: int = 1,
        readout_rate: float = 0.0,
    ):
        check_scenario(scenario, time_dependent_T=True)
        finite_number("readout_rate", readout_rate, at_least=0.0, hint="readout_rate=1.0")
        # Arrays are inputs of a program, so other values use the same program.
        self._set_fields(
            trained=bool(readout_rate),
            readout_rate=np.asarray(readout_rate, dtype=np.float64),
            batch=np.asarray(positive_integer("batch", batch, "batch=1"), dtype=np.float64),
            moments=moments(scenario, method, limit),
        )

    @property
    def scenario(self) -> Scenario:
        """The scenario, with its numbers as arrays."""
        return self.moments.scenario

    @property
    def method(self) -> Method:
        """The method of single averages."""
        return self.moments.method

    @property
    def layout(self) -> Layout:
        """The blocks of a state vector."""
        scenario = self.scenario
        return layout_of(scenario.K, scenario.M, scenario.outputs if self.trained else 0)

    def vector(self, start: Overlaps) -> Float[np.ndarray, "... d"]:
        """Return the state vector of a start, with the readout of the scenario."""
        blocks = {"Q": start.Q, "R": start.R}
        if self.trained:
            blocks["readout"] = self.scenario.student.weights
        return self.layout.vector({name: np.asarray(x) for name, x in blocks.items()})

    def overlaps(self, y: Float[AnyArray, "... d"], T: Float[AnyArray, "... M M"]) -> Overlaps:
        """Return the overlaps of state vectors."""
        return self.layout.overlaps(y, T)

    def readout(self, y: Float[np.ndarray, " d"]) -> Float[np.ndarray, "outputs K"]:
        """Return v of a state; that of the scenario if the second layer does not learn."""
        return self.layout.arrays(y).get("readout", np.asarray(self.scenario.student.weights))

    def coarse(self) -> "Flow":
        """Return a flow that compiles fewer rules, for states that `resolves` accepts."""
        moments = self.moments.coarse()
        if moments is self.moments:
            return self
        return eqx.tree_at(lambda flow: flow.moments, self, moments)

    def __call__(self, overlaps: Overlaps, learning_rate: FloatOrArray | Rate) -> Overlaps:
        """Return dQ/dα, dR/dα and dT/dα as `Overlaps`.

        learning_rate: a number, one for each entry of the leading axes, or a `Rate`; the number 0
            (not an array) is the limit η → 0.
        """
        rate, T = rate_of(learning_rate), overlaps.T
        blocks = {"Q": overlaps.Q, "R": overlaps.R}
        change = self._change(self.moments, overlaps, blocks, rate)
        turning = 2 * self.scenario.drift * (scale_off_diagonal(T, 0.0) - T)
        return unchecked(change["Q"], change["R"], turning)

    def rates(
        self, y: Float[AnyArray, "... d"], T: Float[AnyArray, "... M M"], rate: Rate
    ) -> Float[Array, "... d"]:
        """Return dy/dα of state vectors (`Layout`)."""

        def one(moments: Moments, overlaps: Overlaps, y: Array, rate: Rate) -> Array:
            change = self._change(moments, overlaps, self.layout.arrays(y), rate)
            return self.layout.vector(change)

        if rate.decay is not None:
            decay = jnp.broadcast_to(jnp.asarray(rate.decay, dtype=jnp.float64), y.shape[:-1])
            rate = Rate(rate.first, rate.limit, rate.readout, decay)
        if self.trained:
            eta_v = self.readout_rate * rate.first if rate.readout is None else rate.readout
            numbers = (jnp.asarray(x, dtype=jnp.float64) for x in (rate.first, eta_v))
            first, eta_v = (jnp.broadcast_to(x, y.shape[:-1]) for x in numbers)
            rate = Rate(first, rate.limit, eta_v, rate.decay)
        return self.at_states(one, y, T, y, rate)

    def errors(self, y: Float[Array, "... d"], T: Float[Array, "... M M"]) -> Float[Array, "..."]:
        """Return ε_g of state vectors."""
        return self.at_states(lambda moments, state: moments.generalization_error(state), y, T)

    def plain_errors(
        self, y: Float[Array, "... d"], T: Float[Array, "... M M"]
    ) -> Float[Array, "..."]:
        """Return ε_g of state vectors; closed forms in plain arithmetic, which are compiled in
        less time but have infinite derivatives where fields coincide.

        Not with a second layer that learns: XLA 0.10 ends the process while it compiles them into
        one kernel, "All or none of the slices should have an explicit index".
        """
        if self.trained or not self.method.exact:
            return self.errors(y, T)
        return errors_inside_a_program(self.scenario, self.layout, y, T)

    def resolves(self, y: Float[Array, "... d"], T: Float[Array, "... M M"]) -> Bool[Array, "..."]:
        """Return whether the averages are accurate at these states."""
        return self.at_states(lambda moments, state: moments.resolves(state), y, T)

    def at_states(
        self,
        function: Callable[..., PyTree],
        y: Float[Array, "... d"],
        T: Float[AnyArray, "... M M"],
        *more: PyTree,
    ) -> Any:
        """Return ``function(moments, overlaps, …)``; state by state if the second layer learns."""
        if not self.trained:
            return function(self.moments, self.overlaps(y, T), *more)
        batch = y.shape[:-1]

        def one(parts: tuple[PyTree, ...]) -> Any:
            y, T, *rest = parts
            moments = self.moments.with_readout(self.layout.arrays(y)["readout"])
            return function(moments, self.overlaps(y, T), *rest)

        def flat(x: Array) -> Array:
            return x.reshape(-1, *x.shape[len(batch) :])

        T = jnp.broadcast_to(T, (*batch, *T.shape[-2:]))
        if not batch:
            return one((y, T, *more))
        every = jax.tree.map(flat, (y, T, *more))
        values = jax.lax.map(one, every) if self.moments.one_by_one else jax.vmap(one)(every)
        return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), values)

    def first_order(self, moments: Moments, overlaps: Overlaps, rate: Rate) -> dict[str, Array]:
        """Return η ⟨δ_i y_n⟩, η ⟨δ_i x_k + δ_k x_i⟩ and, if v learns, η_v ⟨(τ_c - σ_c) g(x_i)⟩."""
        learned = {}
        if self.trained and rate.readout is not None:
            first, products = moments.first_orders(overlaps)
            learned["readout"] = rate.readout * readout_gradient(moments.scenario, products)
        else:
            first = moments.first_order(overlaps)
        x, y = jnp.split(_over_units(rate.first) * first, [overlaps.K], axis=-1)
        return {"R": y, "Q": x + jnp.swapaxes(x, -1, -2), **learned}

    def second_order(
        self, moments: Moments, overlaps: Overlaps, factor: FloatOrArray
    ) -> dict[str, Array]:
        """Return ⟨δ_i δ_k⟩ and the term of label noise, times a factor."""
        return {"Q": _over_units(factor) * moments.second_order(overlaps)}

    def _change(
        self, moments: Moments, overlaps: Overlaps, blocks: dict[str, Array], rate: Rate
    ) -> dict[str, Array]:
        """Return the rate of change of every block."""
        first = self.first_order(moments, overlaps, rate)
        decay = {block.name: self._decay(block, rate) for block in self.layout.blocks}
        change = {name: term - decay[name] * blocks[name] for name, term in first.items()}
        if rate.second is not None:
            second = self.second_order(moments, overlaps, rate.second / self.batch)
            change |= {name: change[name] + term for name, term in second.items()}
        return change

    def _decay(self, block: Block, rate: Rate) -> Any:
        """The rate at which a block decays, with the weight decay of a schedule if there is one."""
        decay = block.decay(self.scenario)
        if rate.decay is None or "first layer" not in block.factors:
            return decay
        more = _over_units(rate.decay) - self.scenario.weight_decay
        return decay + block.factors.count("first layer") * more


def readout_gradient(
    scenario: Scenario, products: Float[Array, "K n"]
) -> Float[Array, "outputs K"]:
    """Return s_K ⟨(τ_c - σ_c) g(x_i)⟩ = s_K Σ_a r_ca ⟨g(x_i) g_a(f_a)⟩."""
    return scenario.output_scale[0] * small_product(coefficients(scenario), products.T)


@stored_jit
def errors_of(
    flow: "Flow | Flows", y: Float[AnyArray, "... d"], T: Float[AnyArray, "... M M"]
) -> Float[Array, "..."]:
    """Return ε_g of state vectors; compiled."""
    return flow.errors(y, T)


class Flows(Module):
    """The right-hand side of several runs whose scenarios differ in numbers.

    batched: a `Flow` with a leading axis of runs on all of its arrays.
    lanes: up to this many runs are one program for this number of runs.

    Runs are computed in parallel, with vector instructions; with averages by conditioning, which
    take as many nodes as each run needs, one by one.  In the program of up to ``lanes`` runs
    the digits of a run depend neither on its position nor on the other runs.
    """

    batched: Flow
    lanes: int = eqx.field(static=True)

    def __init__(self, flows: list[Flow], lanes: int = LANES):
        self.lanes = lanes
        distinct = {id(flow): flow for flow in flows}.values()
        if len(set(map(jax.tree.structure, distinct))) > 1:  # some runs may have equal units
            flows = [
                eqx.tree_at(lambda f: f.moments, f, f.moments.without_shared_activation())
                for f in flows
            ]
        self.batched = jax.tree.map(lambda *x: np.stack(x), *flows)

    def coarse(self) -> "Flows":
        """As `Flow.coarse`."""
        coarse = self.batched.coarse()
        same = coarse is self.batched
        return self if same else eqx.tree_at(lambda flows: flows.batched, self, coarse)

    @property
    def scenario(self) -> Scenario:
        """The scenario, with the numbers of all runs."""
        return self.batched.scenario

    @property
    def layout(self) -> Layout:
        """The blocks of a state vector."""
        return self.batched.layout

    def vector(self, start: Overlaps) -> Float[np.ndarray, "runs d"]:
        """As `Flow.vector`."""
        return self.batched.vector(start)

    @property
    def uses_lanes(self) -> bool:
        """Return whether the runs are computed by the program for a fixed number of runs."""
        return len(self.batched.batch) <= self.lanes

    @property
    def serial(self) -> bool:
        """Return whether the runs are computed serially."""
        return self.batched.moments.one_by_one

    def rates(
        self, y: Float[AnyArray, "runs d"], T: Float[AnyArray, "... M M"], rate: Rate
    ) -> Float[Array, "runs d"]:
        """As `Flow.rates`, with a leading axis of runs."""

        def every(x: FloatOrArray) -> Array:
            return jnp.broadcast_to(jnp.asarray(x, dtype=jnp.float64), y.shape[:1])

        return self.over_runs(Flow.rates, y, T, jax.tree.map(every, rate))

    def errors(
        self, y: Float[Array, "runs d"], T: Float[Array, "... M M"]
    ) -> Float[Array, " runs"]:
        """As `Flow.errors`."""
        return self.over_runs(Flow.errors, y, T)

    def plain_errors(
        self, y: Float[Array, "runs d"], T: Float[Array, "... M M"]
    ) -> Float[Array, " runs"]:
        """As `Flow.plain_errors`."""
        return self.over_runs(Flow.plain_errors, y, T)

    def resolves(
        self, y: Float[Array, "runs d"], T: Float[Array, "... M M"]
    ) -> Bool[Array, " runs"]:
        """Return whether the averages are accurate at these states, as `Flow.resolves`."""
        return self.over_runs(Flow.resolves, y, T)

    def over_runs(self, function: Callable[..., PyTree], *arguments: PyTree) -> Any:
        """Return ``function(flow, …)`` of every run."""
        arrays, static = eqx.partition(self.batched, eqx.is_array_like)

        def one(parts: tuple[PyTree, ...]) -> Any:
            return function(eqx.combine(parts[0], static), *parts[1:])

        every = (arrays, *arguments)
        return jax.lax.map(one, every) if self.serial else jax.vmap(one)(every)


def _over_units(x: Any) -> Any:
    """Reshape one number per state to a factor of its overlaps."""
    return x[..., None, None] if np.ndim(x) else x
