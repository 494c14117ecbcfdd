"""Additional observables of a system are recorded, stored, averaged and relabelled."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.model.layout import Block
from tutelage.simulation.chain import Chain
from tutelage.simulation.ensemble import Ensemble
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.observables import OBSERVABLES, _error
from tutelage.simulation.simulate import simulate
from tutelage.simulation.statistics import components

TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(TWO, tl.Committee(1, tl.ReLU()))
START = tl.Overlaps(Q=[[0.2, 0.1], [0.1, 0.3]], R=[[0.1], [0.2]], T=[[1.0]])


class WithCosines(Chain):
    """A chain that observes the cosines of the angles between students, too."""

    def observe(self, state):
        observed = super().observe(state)
        norm = jnp.sqrt(jnp.diagonal(observed["Q"], axis1=-2, axis2=-1))
        return observed | {"cosine": observed["Q"] / norm[:, :, None] / norm[:, None, :]}


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    cosine = Block("cosine", "cosine", ("student", "student_2"), symmetric=True)
    monkeypatch.setitem(OBSERVABLES, "cosine", cosine)
    ensemble = Ensemble.checked(SCENARIO, 20, 2.0, 4, 0, [0.0, 1.0, 2.0])
    system = WithCosines(GradientDescent(SCENARIO, ensemble.rate(0.5)), START, 20)
    file = tmp_path / "runs.npz"
    result = simulate(system, ensemble, checkpoint=file)
    assert simulate(system, ensemble, checkpoint=file).identical(result)
    return result.assign_attrs(scenario='{"teacher_overlaps": [[1]]}')


@pytest.mark.slow
def test_one_more_observable_needs_no_more_than_its_name_and_its_axes(simulated):
    assert simulated["cosine"].dims == ("run", "time", "student", "student_2")
    norm = np.sqrt(simulated["Q"].values[..., [0, 1], [0, 1]])
    cosine = simulated["Q"].values[..., 0, 1] / norm[..., 0] / norm[..., 1]
    np.testing.assert_allclose(simulated["cosine"][..., 0, 1], cosine, rtol=1e-14)
    assert {"cosine", "cosine_spread", "cosine_quantile"} <= set(tl.simulation.summary(simulated))
    names, values = components(simulated)
    np.testing.assert_array_equal(
        values[..., names.index("cosine_12")], simulated["cosine"][..., 0, 1]
    )
    theory = simulated.isel(run=0).drop_vars("cosine")
    assert not tl.simulation.compare(theory, simulated, level=0.5).raw.quantity.startswith("cosine")


def test_it_is_relabelled_with_its_units(simulated):
    reference = simulated.isel(run=0, student=[1, 0], student_2=[1, 0])
    result = tl.simulation.aligned(simulated.isel(run=[0]), reference)
    assert result["student_order"].values.tolist() == [[2, 1]]
    expected = simulated["cosine"].values[:1, :, ::-1, ::-1]
    np.testing.assert_array_equal(result["cosine"], expected)


def branches(jaxpr):
    """Numbers of branches of every conditional in a traced function."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name == "cond":
            yield len(equation.params["branches"])
        for inner in jax.tree.leaves(list(equation.params.values())):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield from branches(inner)


def test_a_state_with_a_second_layer_that_learns_computes_one_integration_rule():
    """The rules are branches of a conditional; side by side every state would compute them all."""
    one = tl.Committee(1, tl.Tanh())
    scenario, x = tl.Scenario(one, one), np.ones((3, 1, 1))
    state = dict.fromkeys(("Q", "R", "readout"), x), x
    traced = jax.make_jaxpr(lambda *state: _error.__wrapped__(scenario, *state))(*state)
    assert max(branches(traced)) > 2
