"""Averages by conditioning: what is known of opposite fields saves half of the nodes."""

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import hardly_used
from tutelage.averages.conditional.kernel import Units, quadratic
from tutelage.averages.conditional.rules import Lattice

UNITS = {
    "odd": tl.Tanh(),
    "odd and a constant": tl.Sigmoid(2.0),
    "linear plus even": tl.GELU(),
    "even": tl.Activation.from_function(jnp.cos, parity="even"),
}


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("given", [1, 2])
def test_half_of_the_nodes_gives_what_all_of_them_give(kind, given):
    g = UNITS[kind]
    unknown = tl.Activation.from_function(lambda x: g(x), name="the same")
    rng = np.random.default_rng(given)
    A, c = rng.normal(size=(4, 6)) / np.sqrt(6), rng.normal(size=4)

    def average(g, rule):
        units = Units(((g, 4),))
        assert (units.mirror is None) == (g is unknown)

        def weight(x):
            return g.derivative(x[0]) * g.derivative(x[-1])

        return hardly_used(lambda C: quadratic(weight, units, C, np.outer(c, c), 0.3, given, rule))(
            A @ A.T
        )

    rule = Lattice(0.6, 0.6, 6)  # coarse: the sums are the same, whatever they are worth
    both = average(g, rule), average(unknown, rule)
    # Sums over some hundred nodes of numbers of order one.
    np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-14)
