"""Functions that cannot be units are refused by name; unusual units are averaged with a large
error.
"""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp

from_function = tl.Activation.from_function


def through_numpy(x):
    return jax.pure_callback(np.tanh, jax.ShapeDtypeStruct((), jnp.float64), x)


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


# Objects that are no real functions of one number that JAX can differentiate.
NO_FUNCTIONS = {
    "a number": (3, "got 3, .*function"),
    "of two numbers": (lambda x, y: x, "fails on a number"),
    "for one float": (lambda x: float(x), "fails on a number .*JAX has to be able to trace it"),
    "for one float, with an if": (lambda x: x if x > 0 else 0 * x, "fails on a number"),
    "of NumPy": (np.tanh, "fails on a number .*jax.numpy"),
    "not differentiable": (through_numpy, "cannot differentiate .*twice"),
    "two numbers": (lambda x: jnp.array([x, x]), r"returns shape \(2,\)"),
    "an array of one number": (jnp.atleast_1d, r"returns shape \(1,\)"),
    "a list": (lambda x: [x], "returns a list"),
    "nothing": (lambda x: None, "returns a NoneType"),
    "true or false": (lambda x: x > 0, "type bool"),
    "whole numbers": (lambda x: x.astype(int), "type int"),
    "complex": (lambda x: jnp.exp(1j * x.astype(complex)), "type complex.*one real number"),
    "float32": (lambda x: jnp.tanh(x.astype(jnp.float32)), "returns float32, but half"),
}

# Functions that are not finite, not continuous, bend without a declared kink, or grow too fast.
NO_UNITS = {
    "1/x": slow(lambda x: 1 / x, "values are not finite, for example at x = 0"),
    "sin(x)/x": (lambda x: jnp.sin(x) / x, "values are not finite, for example at x = 0"),
    "log": (jnp.log, "values are not finite"),
    "NaN far out": slow(
        lambda x: jnp.where(x > 10, jnp.nan, x), "not finite, for example at x = 10"
    ),
    "tan": (jnp.tan, r"not finite, for example near x = -?1\.5708, .*without poles"),
    "tan²": slow(lambda x: jnp.tan(x) ** 2, "not finite, for example near .*without poles"),
    "√|x|": slow(
        lambda x: jnp.sqrt(jnp.abs(x)), "derivatives are not finite, for example at x = 0"
    ),
    "√max(x, 0)": slow(lambda x: jnp.sqrt(jnp.maximum(x, 0.0)), "derivatives are not finite"),
    "sign": slow(jnp.sign, "value jumps at x = 0, .*continuous"),
    "step": (lambda x: jnp.where(x > 1, 1.0, 0.0), "value jumps at x = 1, .*continuous"),
    "floor": slow(jnp.floor, "value jumps at x = -?[0-9],"),
    "fine steps": (lambda x: jnp.round(1e3 * x) / 1e3, "value jumps at x = .*by 0.000"),
    "small step": slow(lambda x: x + 1e-5 * jnp.sign(x - 0.3), "value jumps at x = 0.3"),
    "|x|": (jnp.abs, r"slope jumps at x = 0, .*kinks=\(0.0,\)"),
    "bend": slow(lambda x: jnp.maximum(3 * x - 1, 0), "slope jumps at x = 0.333333"),
    "exp(x²)": (lambda x: jnp.exp(x**2), "grows too fast"),
    "exp(x²) on one side": slow(lambda x: jnp.exp(jnp.where(x > 0, x, 0.0) ** 2), "grows too fast"),
    "exp(exp(x))": slow(lambda x: jnp.exp(jnp.exp(x)), "values are not finite"),
}


@pytest.mark.parametrize(("f", "message"), NO_FUNCTIONS.values(), ids=NO_FUNCTIONS)
def test_what_is_no_function_is_refused(f, message):
    with pytest.raises(tl.InputError, match=f"^f: .*{message}"):
        from_function(f)


@pytest.mark.parametrize(("f", "message"), NO_UNITS.values(), ids=NO_UNITS)
def test_what_is_no_unit_is_refused(f, message):
    with pytest.raises(tl.InputError, match=f"^f: .*{message}") as refusal:
        from_function(f)
    assert "Try: " in str(refusal.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "f",
    [
        lambda x: 0 * x,
        lambda x: x**50,
        lambda x: jnp.exp(5 * x),
        lambda x: jnp.tanh(1e5 * (x - 0.2)),
        lambda x: x * jnp.abs(x),
        lambda x: jnp.maximum(x - 9.0, 0.0),
        jax.nn.softplus,
    ],
)
def test_what_is_a_unit_is_not_refused(f):
    """Units that are not refused: constant, large, steep, with a jump in the second derivative,
    zero where fields are.
    """
    assert from_function(f).kinks == ()


def exponential(C):
    """⟨exp(Σ x_i)⟩, which is I2 and I4."""
    return math.exp(np.sum(C) / 2)


def gaussian(C):
    """I2 or I4 of g = exp(x²/10): averages of 1 or uv/25 with the covariance (C⁻¹ - 1/5)⁻¹."""
    inverse = np.linalg.inv(C) - np.eye(len(C)) / 5
    norm = 1 / math.sqrt(np.linalg.det(C) * np.linalg.det(inverse))
    return norm * (np.linalg.inv(inverse)[0, 1] / 25 if len(C) == 4 else 1.0)


# Unusual functions with known averages.
UNITS = {
    "exp(x)": (jnp.exp, exponential),
    "exp(x²/10)": (lambda x: jnp.exp(x**2 / 10), gaussian),
}


AVERAGES = [
    (tl.averages.i2, 2, 1.0),
    (tl.averages.i2, 2, 0.05),
    (tl.averages.i4, 4, 1.0),
    (tl.averages.i4, 4, 0.05),
]


def cases():
    for name, (f, exact) in UNITS.items():
        for average, n, variance in AVERAGES:
            # exp moves the weight of two given fields outwards by 2.4 standard deviations: of what
            # is beyond the nodes, which reach to 7, the share is then 3e-6.
            grows = name == "exp(x)" and (n, variance) == (4, 1.0)
            label = f"{name}, {average.__name__}, {variance}"
            within = 1e-5 if grows else 1e-7
            yield pytest.param(f, exact, average, n, variance, within, id=label)


@pytest.mark.slow
@pytest.mark.parametrize(("f", "exact", "average", "n", "variance", "within"), list(cases()))
def test_unusual_units_are_averaged_within_the_error(f, exact, average, n, variance, within):
    """Beyond what is claimed 1e-11 is allowed for rounding, in sums of thousands of terms."""
    C = variance * (0.7 * np.eye(n) + 0.3)
    result = average(from_function(f), C, return_error=True)
    size = max(1.0, abs(exact(C)))
    assert abs(result.value - exact(C)) <= result.error + 1e-11 * size
    assert result.error < within * size


def evolved(f):
    one = tl.Committee(1, from_function(f))
    start = tl.Overlaps(Q=[[0.2]], R=[[0.1]], T=[[1.0]])
    return tl.online.evolve(tl.Scenario(one, one), start, 0.1, until=0.5, times=[0, 0.5])


@pytest.mark.slow
def test_unusual_units_have_curves_with_honest_errors():
    curve = evolved(jnp.exp)
    assert curve.attrs["outcome"] == "reached"
    assert 0 < curve.attrs["averages_error"] < 1e-7


@pytest.mark.slow
def test_units_too_large_for_any_digit_have_no_curve():
    with pytest.raises(
        tl.InputError, match=r"^scenario and start: .* an error of .*, but at most .* is allowed"
    ):
        evolved(lambda x: jnp.exp(5 * x))
