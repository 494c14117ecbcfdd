"""The equations in units of η equal those of the flow, and derivatives equal differences."""

import equinox as eqx
import numpy as np
import pytest
from scenarios import to_vector

import tutelage as tl
from tutelage._jax import jnp
from tutelage.model.timing import rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import linearized, rates_and_jacobian, system
from tutelage.online.stationary.identical import embedding, flow_of_one, merged

ETA, Y = 0.8, np.array([0.4, 0.7])
H = 1e-5  # central differences err by h² and 1e-16/h


@pytest.fixture(scope="module")
def flow():
    one = tl.Committee(1, tl.Erf())
    return Flow(tl.Scenario(one, one, label_noise=0.3, weight_decay=0.02))


@pytest.mark.parametrize("eta", [0, ETA])
def test_the_rates_are_those_of_the_flow(flow, eta):
    state = flow.overlaps(jnp.asarray(Y), flow.scenario.T)
    rates = eqx.filter_jit(flow)(state, 0 if eta == 0 else jnp.asarray(eta))
    rate = rate_of(eta)
    ours = rate.unit * rates_and_jacobian(flow, rate, Y)[0]
    np.testing.assert_allclose(ours, to_vector(rates), atol=1e-15)


def test_derivatives_are_those_of_the_rates(flow):
    here = linearized(flow, Y, ETA)
    for k, e in enumerate(H * np.eye(2)):
        difference = linearized(flow, Y + e, ETA).rates - linearized(flow, Y - e, ETA).rates
        np.testing.assert_allclose(here.jacobian[:, k], difference / (2 * H), atol=1e-9)
    difference = linearized(flow, Y, ETA + H).rates - linearized(flow, Y, ETA - H).rates
    np.testing.assert_allclose(here.by_rate, difference / (2 * H), atol=1e-9)


@pytest.mark.parametrize("readout_rate", [pytest.param(0.0, marks=pytest.mark.slow), 0.7])
def test_identical_students_move_like_one_that_shares_the_learning_rate(readout_rate):
    two, one = tl.Committee(2, tl.Erf()), tl.Committee(1, tl.Erf())
    numbers = {"label_noise": 0.2, "weight_decay": 0.03, "readout_decay": 0.02}
    scenario = tl.Scenario(two, one, **numbers)
    flow = Flow(scenario, readout_rate=readout_rate)
    E, single = embedding(flow.layout), flow_of_one(flow, merged(scenario, rate_of(ETA))[0])
    z = np.append(Y, 1.7)[: single.layout.size]
    rates, derivatives = system(single, share=2)(z, ETA)
    pair = linearized(flow, E @ z, ETA)
    np.testing.assert_allclose(pair.rates, E @ rates, atol=1e-14)
    np.testing.assert_allclose(pair.jacobian @ E, E @ derivatives[:, :-1], atol=1e-13)
    np.testing.assert_allclose(pair.by_rate, E @ derivatives[:, -1], atol=1e-14)
