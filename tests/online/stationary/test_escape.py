"""Escape from a saddle: the law of the time against drawn numbers, rates against known ones."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

import tutelage as tl
from tutelage.online.stationary.escape import (
    MEDIAN_OF_Z,
    MIDDLE_HALF,
    erf_readout_factor,
    escape_probability,
    relu_readout_factor,
)
from tutelage.online.stationary.stability import solution_loses_stability


def test_the_law_is_that_of_a_normal_number():
    """A Kolmogorov-Smirnov test at the level 0.001 of made-up times, at the exact median."""
    Z = np.abs(np.random.default_rng(4).standard_normal(4000))
    times = (math.log(MEDIAN_OF_Z) - np.log(Z)) / 0.2
    assert kstest(times, lambda t: escape_probability(t, 0.2)).pvalue > 0.001
    assert escape_probability(np.array(0.0), 0.2) == pytest.approx(0.5, abs=1e-15)


def test_the_middle_half_lies_between_the_quartiles_of_the_law():
    low, high = (math.log(MEDIAN_OF_Z / norm.isf(share / 2)) / 0.2 for share in (0.25, 0.75))
    assert escape_probability(np.array([low, high]), 0.2) == pytest.approx([0.25, 0.75], rel=1e-14)
    assert 0.2 * (high - low) == pytest.approx(MIDDLE_HALF, rel=1e-14)


def test_equal_readouts_leave_faster_and_unequal_ones_slower_than_their_mean():
    assert relu_readout_factor(np.array([3.0, 3.0])) == pytest.approx(9.0, rel=1e-15)
    for unequal in ([0.5, 1.5], [0.1, 1.9]):
        assert erf_readout_factor(np.array(unequal)) < erf_readout_factor(np.ones(2)) == 1.0
        assert relu_readout_factor(np.array(unequal)) < 1.0


def test_the_solution_of_a_single_relu_loses_its_stability_at_two():
    """λ = η²/2 - η (straat2019, section 3)."""
    one = tl.Committee(1, tl.ReLU())
    result = solution_loses_stability(tl.Scenario(one, one))
    assert abs(result.value - 2.0) <= result.error < 1e-9
