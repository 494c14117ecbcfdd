"""The work of an average depends on the state: more nodes where it is hard, few where it is easy.

`tutelage.averages.conditional.effort` chooses a rule for smooth units and for units with kinks; a
wrong choice costs time or digits, and no single value shows it.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jit_unoptimized
from tutelage.averages.conditional import effort
from tutelage.averages.conditional.kernel import FieldUnits, condition, own_kinks, width
from tutelage.averages.hermite.bounds import representative
from tutelage.averages.hermite.coefficients import Expansion


@pytest.fixture(scope="module")
def hard_tanh():
    def clip(x):
        return jnp.clip(x, -1.0, 1.0)

    return tl.Activation.from_function(clip, name="hard tanh", kinks=[-1.0, 1.0])


def level(g, C, given=1):
    units = FieldUnits(((g, len(C)),))
    choice = effort.Choice(units, given)
    return choice, jit_unoptimized(lambda C: choice.level(C, effort.survey(units, C)))(
        jnp.asarray(C)
    )


def equal_fields(variance, rho, count=4):
    return variance * (rho + (1 - rho) * np.eye(count))


def test_a_smooth_unit_is_resolved_at_small_norms_and_goes_to_panels_at_large_ones():
    choice, easy = level(tl.Tanh(), equal_fields(0.3, 0.2))
    _, hard = level(tl.Tanh(), equal_fields(400.0, 0.2))
    assert bool(easy.resolved) and int(easy.rule) < len(choice.series)
    assert not bool(hard.resolved) and int(hard.rule) == len(choice.series)


def test_finer_panels_are_for_kinked_fields_that_depend_on_the_given_ones(hard_tanh):
    assert int(level(hard_tanh, equal_fields(1.0, 0.0))[1].rule) == 0
    for rho in (0.2, 1 - 1e-6):
        assert int(level(hard_tanh, equal_fields(1.0, rho))[1].rule) == 1


@pytest.mark.parametrize(
    ("g", "exact"),
    [
        (tl.Tanh(), 2 / (4 / (3 * np.sqrt(3)))),  # g' rises to 1 and falls; |g''| at tanh² = 1/3
        (tl.Softplus(), 1 / 0.25),  # g' rises from 0 to 1; g'' = 1/4 at 0
    ],
    ids=["tanh", "softplus"],
)
def test_the_width_of_a_unit_is_the_area_of_its_curvature_over_its_largest(g, exact):
    assert abs(float(width(g)) - exact) < 0.02 * exact  # a grid of scales, by the trapezoid


def test_panels_begin_at_the_kinks_and_at_zero_without_any(hard_tanh):
    assert own_kinks(tl.Tanh()) == (0.0,)
    assert own_kinks(hard_tanh) == (-1.0, 1.0)


def left_out(share):
    """The bound for two sharp fields of equal correlation, by the share of their independent
    noise.
    """
    variance = 9.0
    noise = variance * share * np.array([[1.0, 0.5], [0.5, 1.0]])
    C = np.full((3, 3), variance * (1 - share))
    C[1:, 1:] += noise
    C[0, 0] = variance * (1 - share)
    units = FieldUnits(((tl.Tanh(), 3),))
    left_out = lambda C: effort._left_out(effort.survey(units, C), C, condition(C, 1))  # noqa: E731
    return np.asarray(jit_unoptimized(left_out)(jnp.asarray(C)))


def test_a_series_leaves_out_less_with_more_terms_and_where_little_noise_is_left():
    """Order n of a field contributes (share of its independent noise)ⁿ, so that a short series is
    enough for little noise.
    """
    noisy, explained = left_out(0.9), left_out(0.01)
    assert np.all(np.diff(noisy) < 0) and noisy[0] > 1e-9
    assert explained[0] < 1e-2 * noisy[0]


def test_the_last_orders_tell_of_the_rest_unless_they_vanish_by_chance():
    def expansion(last, tail):
        values = jnp.asarray([1.0, 0.5, 0.0, 0.0, 0.0, last])
        square = jnp.sum(values**2) + tail
        return Expansion(values, 0 * values, square, square**0.5, (True,) * 6)

    whole, chance, usual = expansion(0.0, 0.0), expansion(0.0, 0.1), expansion(0.2, 0.1)
    assert [bool(representative((e,) * 4)) for e in (whole, chance, usual)] == [True, False, True]
    assert not bool(representative((usual, usual, chance, usual)))
