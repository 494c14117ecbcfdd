"""Random numbers by address: their laws, their independence, and that nothing but the address
matters.

Levels: every p-value has to exceed 10⁻³/n for n tests in a group, with fixed seeds.
"""

import math

import jax.extend
import numpy as np
import pytest
from scipy import stats

from tutelage._jax import jax, jnp
from tutelage.simulation import draws
from tutelage.simulation.draws import Address, bits, chi_squared, two_normals, uniform
from tutelage.simulation.ensemble import run_keys

normals = jax.jit(draws.normals, static_argnums=1)
draw_chi = jax.jit(lambda at, freedom, few: chi_squared(at, 4, freedom, few), static_argnums=2)

LEVEL = 1e-3
EXAMPLES, RUNS = 400, 500


def addresses(runs=RUNS, examples=EXAMPLES, first=0, seed=3):
    return Address.of(run_keys(seed, 0, runs), first + jnp.arange(examples)[:, None])


def flat(x):
    return np.asarray(x).ravel()


def test_threefry_is_that_of_jax():
    rng = np.random.default_rng(0)
    key, counter = rng.integers(0, 2**32, 2, np.uint32), rng.integers(0, 2**32, 64, np.uint32)
    theirs = jax.extend.random.threefry_2x32(jnp.asarray(key), jnp.asarray(counter))
    ours = draws.threefry(tuple(jnp.asarray(key)), (jnp.asarray(counter[:32]), counter[32:]))
    np.testing.assert_array_equal(np.concatenate(ours), theirs)


def test_example_numbers_beyond_32_bits_and_slots_have_different_bits():
    at = Address.of(run_keys(0, 0, 2), jnp.array([0, 1, 2**32, 2**32 + 1, 2**47])[:, None])
    words = np.concatenate([flat(bits(at, slot)) for slot in (0, 1, 2, 40_000)])
    assert len(np.unique(words)) == 4 * 5 * 2


def test_uniform_numbers_are_uniform_and_never_zero():
    u = flat(uniform(addresses(), 5))
    assert u.min() > 0 and u.max() <= 1
    assert stats.kstest(u, "uniform").pvalue > LEVEL
    # The lowest of the 64 bits are as fair as the highest.
    words = flat(bits(addresses(), 5))
    ones = np.array([np.count_nonzero((words >> np.uint64(k)) & np.uint64(1)) for k in range(64)])
    p = stats.binomtest(int(abs(ones - len(words) / 2).max() + len(words) / 2), len(words)).pvalue
    assert p > LEVEL / 64


def test_points_on_the_circle_are_sines_and_cosines():
    """Two bits choose the quarter, 62 the angle in it; errors of the polynomials: 2⁻⁵² at most."""
    rng = np.random.default_rng(1)
    corners = np.arange(8, dtype=np.uint64) << np.uint64(61)
    words = np.concatenate([rng.integers(0, 2**64, 10_000, np.uint64), corners])
    x, y = (np.asarray(c) for c in draws._on_circle(jnp.asarray(words)))
    fraction = (words << np.uint64(2)).astype(np.int64).astype(float) * 2.0**-64
    s, c = np.sin(np.pi / 2 * fraction), np.cos(np.pi / 2 * fraction)
    swapped, sign = words >> np.uint64(63) == 1, 1 - 2.0 * (words >> np.uint64(62) & np.uint64(1))
    np.testing.assert_allclose(x, sign * np.where(swapped, s, c), rtol=0, atol=2.0**-52)
    np.testing.assert_allclose(y, sign * np.where(swapped, c, s), rtol=0, atol=2.0**-52)


def test_normal_numbers_are_normal_into_the_tails():
    z = np.stack([flat(x) for x in normals(addresses(), 5)])
    n = z.size
    for row in z:
        assert stats.kstest(row, "norm").pvalue > LEVEL / 5
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(z**power) - moment) < 4 * math.sqrt(variance / n)  # level 6e-5 each
    for bound in (2, 3, 4, 4.5):
        beyond = int(np.count_nonzero(np.abs(z) > bound))
        assert stats.binomtest(beyond, n, 2 * stats.norm.sf(bound)).pvalue > LEVEL / 4


def test_the_smallest_uniform_number_gives_the_tail_that_is_stated():
    assert math.sqrt(-2 * math.log(0.5 * 2.0**-64)) == pytest.approx(9.49, abs=0.01)


def test_normals_of_neighbouring_addresses_are_independent():
    """Correlations of z and of z² between slots, runs and examples: standard error 1/√n."""
    z = np.stack([np.asarray(x) for x in normals(addresses(), 4)])
    for w in (z, (z**2 - 1) / math.sqrt(2)):
        neighbours = [
            w[0] * w[1],  # the two of a pair
            w[1] * w[2],
            w[0, 1:] * w[0, :-1],  # examples
            w[0, :, 1:] * w[0, :, :-1],  # runs
        ]
        for product in neighbours:
            assert abs(product.mean()) < 4.5 / math.sqrt(product.size)  # level 7e-6 each


def test_what_is_drawn_depends_on_the_address_alone():
    everything = normals(addresses(6, 40), 3)
    later = normals(addresses(6, 10, first=25), 3)
    for all_, some in zip(everything, later, strict=True):
        np.testing.assert_array_equal(all_[25:35], some)
    few = normals(Address.of(run_keys(3, 4, 2), jnp.arange(40)[:, None]), 3)
    for all_, some in zip(everything, few, strict=True):
        np.testing.assert_array_equal(all_[:, 4:], some)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 997, 10**5, 10**7])
def test_chi_squared_has_its_law(freedom):
    x = flat(draw_chi(addresses(), jnp.float64(freedom), min(freedom, 2)))
    assert stats.kstest(x, stats.chi2(freedom).cdf).pvalue > LEVEL / 7
    n = x.size
    assert abs(x.mean() - freedom) < 4 * math.sqrt(2 * freedom / n)
    fourth = 12 * freedom * (freedom + 4)
    assert abs(x.var() - 2 * freedom) < 4 * math.sqrt((fourth - 4 * freedom**2) / n)


def test_no_degree_of_freedom_leaves_nothing():
    assert not np.any(draw_chi(addresses(3, 4), jnp.float64(0), 0))


def test_a_rejected_try_changes_no_other_lane():
    """With ν = 2 one in twenty tries is rejected."""
    everything = draw_chi(addresses(64, 50), jnp.float64(2), 2)
    for run in (0, 17):
        one = draw_chi(Address.of(run_keys(3, run, 1), jnp.arange(50)[:, None]), jnp.float64(2), 2)
        np.testing.assert_array_equal(everything[:, run], one[:, 0])


@pytest.mark.parametrize("freedom", [2, 5, 100, 10**4, 10**7])
def test_the_test_without_logarithms_accepts_only_what_the_exact_one_does(freedom):
    d = freedom / 2 - 1 / 3
    x = jnp.linspace(-9, 9, 2001)[:, None]
    u = jnp.concatenate([jnp.linspace(1e-3, 0.999, 500), 1 - np.geomspace(1e-11, 1e-3, 500)])[None]
    quick, exact = draws._surely_accepted(d, x, u), draws._accepted(d, x, u)
    assert not np.any(quick & ~exact)


@pytest.mark.slow
def test_tries_are_rejected_as_rarely_as_stated():
    freedom = 20
    z, _ = two_normals(addresses(), 0)
    accepted = draws._accepted(freedom / 2 - 1 / 3, z, uniform(addresses(), 2))
    rejected = 1 - np.mean(accepted)
    assert rejected == pytest.approx(1 / (18 * freedom), rel=0.25)  # first order in 1/ν
