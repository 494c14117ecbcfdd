"""Findings print a few lines with their numbers, and the reason of a missing number."""

import dataclasses
import math

import numpy as np
import pytest
from scenarios import PERCEPTRON, PERCEPTRON_START

import tutelage as tl
from tutelage._findings import Finding, formatted
from tutelage.averages import Estimate
from tutelage.online.best.schedules import BestLearningRate, BestSchedule
from tutelage.spectra.extremes import Extremes

BEST = BestLearningRate(Estimate(0.926, 1e-4), Estimate(92.6, 1e-3))
FINDINGS = {
    "fixed point": lambda: tl.online.fixed_point(
        PERCEPTRON, tl.Overlaps(Q=[[0.9]], R=[[0.9]], T=[[1.0]]), 1.0
    ),
    "transitions": lambda: tl.equilibrium.transitions(tl.Erf(), 5),
    "for K → ∞": lambda: tl.equilibrium.transitions(tl.Erf(), math.inf),
    "continuous": lambda: tl.equilibrium.transitions(tl.ReLU(), 2),
    "nothing specializes": lambda: tl.equilibrium.transitions(tl.Linear(), 3),
    "one unit": lambda: tl.equilibrium.transitions(tl.Erf(), 1),
    "kind": lambda: tl.equilibrium.transition_kind(tl.Erf()),
    "state": lambda: tl.equilibrium.states(tl.Erf(), 5, 46.0)[0],
    "thermodynamics": lambda: tl.gates.thermodynamics(tl.gates.Gate([0, 1]), 2.0, 0.3),
    "saddle point": lambda: tl.gates.saddle_point(2, [0.5] * 4),
    "learning rate": lambda: BEST,
    "schedule": lambda: BestSchedule(
        tl.online.Schedule([0.2223456789, 0.9], [4.8]), BEST.time, BEST
    ),
    "eigenvalues": lambda: Extremes(*2 * [Estimate(np.arange(3.0), np.full(3, 1e-9))]),
}


@pytest.mark.parametrize("make", FINDINGS.values(), ids=FINDINGS)
def test_a_finding_is_a_frozen_record_of_a_few_lines(make):
    result = make()
    assert isinstance(result, Finding)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.anything = 1
    lines = repr(result).splitlines()
    assert lines[0] == type(result).__name__ and 2 < len(lines) <= 14
    assert max(map(len, lines)) <= 120
    assert (
        "object at" not in repr(result) and "f64[" not in repr(result) and "nan" not in repr(result)
    )


@pytest.mark.parametrize("make", FINDINGS.values(), ids=FINDINGS)
def test_what_is_missing_has_a_reason(make):
    result = make()
    missing = [f.name for f in dataclasses.fields(result) if getattr(result, f.name) is None]
    for name in missing:
        assert result.reasons[name] in repr(result)


def test_numbers_have_the_digits_that_their_error_leaves_certain():
    assert formatted(Estimate(44.3378029642712, 6e-13)) == "44.3378029642712 ± 6e-13"
    assert formatted(Estimate(0.0, 1e-3)) == "0 ± 0.001"
    assert formatted(Estimate(2.0, 0.0)) == "2 ± 0"
    assert formatted(np.zeros((30, 30))) == "an array of shape (30, 30)"


def test_overlaps_show_their_numbers_and_can_be_made_of_what_they_show():
    start = tl.Overlaps(Q=[[0.1, 0], [0, 0.2]], R=[[1e-3, 0], [0, 1e-3]], T=[[1, 0], [0, 2]])
    text = "Overlaps(Q=[[0.1, 0], [0, 0.2]], R=[[0.001, 0], [0, 0.001]], T=[[1, 0], [0, 2]])"
    assert repr(start) == text
    assert np.array_equal(eval(text, {"Overlaps": tl.Overlaps}).covariance, start.covariance)
    large = repr(tl.Overlaps(Q=np.eye(30), R=np.zeros((30, 20)), T=np.eye(20)))
    assert "..." in large and len(large.splitlines()) <= 15
    assert repr(tl.Overlaps(Q=np.ones((3, 1, 1)), R=np.zeros((3, 1, 1)), T=np.ones((3, 1, 1)))) == (
        "Overlaps(Q: (3, 1, 1), R: (3, 1, 1), T: (3, 1, 1))"
    )


@pytest.mark.slow
def test_critical_rates_and_plateaus_are_findings_too():
    for result in (
        tl.online.critical_learning_rates(PERCEPTRON, PERCEPTRON_START),
        tl.online.plateau(PERCEPTRON, PERCEPTRON_START, 0.5),
    ):
        test_a_finding_is_a_frozen_record_of_a_few_lines(lambda result=result: result)
        test_what_is_missing_has_a_reason(lambda result=result: result)
