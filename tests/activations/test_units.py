"""The table of named units: complete, and each row is recovered from its values at three points."""

import dataclasses
import math

import pytest

from tutelage import activations
from tutelage.activations.units import UNITS

# Values of a parameter other than its default: offset, slope, steepness.
PARAMETER = 0.7
FACTOR = 2.5
# Of a logarithm and some quotients.
ROUNDING = 1e-14


def unit(name):
    kind = getattr(activations, UNITS[name].kind)
    return kind(PARAMETER) if dataclasses.fields(kind) else kind()


def test_the_table_has_every_activation_once():
    kinds = [row.kind for row in UNITS.values()]
    assert sorted([*kinds, "Activation"]) == sorted(dir(activations))


@pytest.mark.parametrize("name", UNITS)
def test_three_values_give_factor_and_parameter(name):
    g = unit(name)
    fit = UNITS[name].fit(*(FACTOR * float(g(x)) for x in (1.0, 0.0, -1.0)))
    expected = [FACTOR, *(PARAMETER for _ in dataclasses.fields(g))]
    assert len(fit) == len(expected)
    assert all(math.isclose(x, y, rel_tol=ROUNDING) for x, y in zip(fit, expected, strict=True))


@pytest.mark.parametrize("name", UNITS)
def test_values_that_are_all_zero_give_no_parameter(name):
    factor, *parameters = UNITS[name].fit(0.0, 0.0, 0.0)
    assert factor == 0 and all(math.isnan(x) for x in parameters)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("leaky", (1.0, 0.0, 1.0)),  # |x|: a slope of -1
        ("swish", (0.2, 0.0, -0.8)),  # x σ(-βx)
        ("sigmoid", (0.2, 0.5, 0.8)),  # σ(-βx)
        ("sigmoid", (0.5, 0.5, 0.5)),  # a constant: β = 0
    ],
)
def test_values_of_a_parameter_that_no_unit_has_give_none(name, values):
    assert math.isnan(UNITS[name].fit(*values)[1])


@pytest.mark.parametrize("name", [name for name, row in UNITS.items() if row.parameter])
def test_a_slider_has_values_that_the_activation_takes(name):
    row = UNITS[name]
    (field,) = dataclasses.fields(getattr(activations, row.kind))
    assert field.name == row.parameter.name
    for value in (row.parameter.low, row.parameter.default, row.parameter.high):
        assert getattr(getattr(activations, row.kind)(value), field.name) == value
