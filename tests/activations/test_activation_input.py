"""Bad input is refused with the name of the argument and something to try."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.activations import Activation, Erf, LeakyReLU, ReLU, Sigmoid, Swish, Tanh
from tutelage.activations.hermite import derivative_coefficients

from_function = Activation.from_function


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LeakyReLU(-0.1), r"^slope: got -0.1, .*at least 0.*from_function"),
        (lambda: LeakyReLU(np.nan), r"^slope: got nan"),
        (lambda: LeakyReLU("0.1"), r"^slope: got '0.1'"),
        (lambda: LeakyReLU(np.ones((2, 2))), r"^slope"),
        (lambda: Sigmoid(0.0), r"^beta: got 0.0, .*greater than 0"),
        (lambda: Sigmoid(-1.0), r"^beta: got -1.0"),
        (lambda: Swish(0.0), r"^beta: .*Linear"),
        (lambda: Swish(np.inf), r"^beta: got inf.*ReLU"),
        (lambda: Erf(np.nan), r"^offset: got nan"),
        (lambda: ReLU().hermite(-1), r"^order: got -1"),
        (lambda: ReLU().hermite(2.0), r"^order: got 2.0"),
        (lambda: Tanh().hermite(True), r"^order: got True"),
        (lambda: Tanh().hermite(3, -1e-3), r"^variance: got -0.001"),
        (lambda: Tanh().hermite(3, [1.0, np.nan]), r"^variance: got nan at index \(1,\)"),
        (lambda: derivative_coefficients(np.ones(1)), r"^values: got shape \(1,\)"),
        (lambda: derivative_coefficients(np.ones(3), -1.0), r"^variance: got -1"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parity": "even"}, r'^parity: got "even" for a function that violates f\(−x\) = f\(x\)'),
        ({"parity": "both"}, r"^parity: got 'both'"),
        ({"kinks": 0.0}, r"^kinks: got 0.0, .*sequence"),
        ({"kinks": (np.nan,)}, r"^kinks: got nan"),
        ({"kinks": ("left",)}, r"^kinks: got 'left'"),
    ],
)
def test_declarations_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        from_function(jnp.tanh, **options)


@pytest.mark.slow
def test_the_error_names_a_second_kink_and_the_first():
    def f(x):
        return jnp.maximum(x, 0) + jnp.abs(x - 1)

    with pytest.raises(InputError, match=r"kinks=\(0.0,\) .*x = 1, .*kinks=\(0.0, 1.0\)"):
        from_function(f, kinks=(0.0,))
    jumps = [float(jump) for _, jump in from_function(f, kinks=(0.0, 1.0)).kinks]
    assert np.allclose(jumps, [1.0, 2.0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("f", [jnp.exp, jax.nn.elu, lambda x: 2.0])
def test_smooth_functions_are_accepted(f):
    g = from_function(f)
    assert g.parity == "none" and g.kinks == ()
    assert np.array_equal(g(np.ones((2, 3))), np.full((2, 3), float(f(jnp.ones(())))))


def test_steep_functions_are_not_mistaken_for_steps():
    assert from_function(lambda x: jnp.tanh(1e4 * (x - 0.2)), parity="none").kinks == ()


def test_declared_parity_makes_exact_zeros():
    odd, even = from_function(jnp.tanh, parity="odd"), from_function(jnp.cos, parity="even")
    assert np.all(odd.hermite(6).values[0::2] == 0) and odd.parity == "odd"
    assert np.all(even.hermite(6).values[1::2] == 0) and even.parity == "even"
    assert np.allclose(odd.hermite(6).values, Tanh().hermite(6).values, rtol=0, atol=1e-14)


def test_cosine_has_the_coefficients_of_its_characteristic_function():
    """⟨h_n(z) cos(√q z)⟩ = (−1)^{n/2} q^{n/2} e^{−q/2}/√n! for even n."""
    q = 1.7
    c = from_function(jnp.cos).hermite(6, q)
    expected = np.zeros(7)
    expected[0::2] = np.exp(-q / 2) * q ** np.arange(4) * [1, -1, 1, -1]
    expected[0::2] /= np.sqrt([1, 2, 24, 720])
    assert np.all(np.abs(c.values - expected) <= c.error + 1e-16)


class Scaled(eqx.Module):
    beta: float

    def __call__(self, x):
        return x * jax.nn.sigmoid(self.beta * x)


def second_coefficient(g):
    return g.hermite(2, 1.0).values[2]


@pytest.mark.slow
def test_parameters_of_a_custom_function_can_be_differentiated():
    """As a module, as a closure over a traced number, and inside a jit."""
    expected = jax.grad(lambda b: second_coefficient(Swish(b)))(1.0)

    def closed_over(b):
        return second_coefficient(from_function(lambda x: x * jax.nn.sigmoid(b * x)))

    by_module = jax.grad(lambda b: second_coefficient(from_function(Scaled(b))))(1.0)
    for derivative in (by_module, jax.grad(closed_over)(1.0), jax.jit(jax.grad(closed_over))(1.0)):
        assert np.isclose(derivative, expected, rtol=1e-13)


def test_custom_activations_are_values():
    g = from_function(jnp.tanh, "mine")
    assert g.name == "mine" and from_function(jnp.tanh).name == "tanh"
    assert g == from_function(jnp.tanh, "mine") and g != from_function(jnp.tanh, "yours")
    assert hash(g) == hash(from_function(jnp.tanh, "mine"))
    assert jax.jit(lambda g, x: g(x))(g, 0.5) == jnp.tanh(0.5)
