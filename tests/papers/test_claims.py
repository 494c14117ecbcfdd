"""Claims without numbers: the verdict is that of a test with a known level."""

import math

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.papers.claim import LEVEL, claim, counterexample, in_every_run


def test_a_claim_that_is_not_so_agrees_no_more_often_than_the_level():
    """2000 sets of 20 Gaussian numbers of mean zero: Binomial(2000, 0.01), 20 ± 4.4."""
    samples = np.random.default_rng(0).normal(size=(2000, 20))
    agreed = sum(claim("p", "i", one).verdict == "agrees" for one in samples)
    # Beyond five standard deviations with probability 3e-7; exactly at the level, not below it.
    assert abs(agreed - 2000 * LEVEL) < 5 * math.sqrt(2000 * LEVEL)


def test_a_true_claim_agrees_with_enough_evidence():
    samples = np.random.default_rng(1).normal(1.0, 1.0, size=40)  # 6 standard errors from zero
    row = claim("p", "i", samples)
    assert row.verdict == "agrees"
    assert row.computed == pytest.approx(samples.mean())
    assert row.uncertainty == pytest.approx(samples.std(ddof=1) / math.sqrt(40))
    assert row.error == pytest.approx(samples.mean())
    assert claim("p", "i", samples, "<").verdict == "differs"
    assert claim("p", "i", samples, "<", 3.0).verdict == "agrees"


@pytest.mark.parametrize(
    ("samples", "relation", "limit", "verdict"),
    [
        ([0.0] * 7, "<", 0.5, "agrees"),
        ([0.0] * 7, ">", 0.0, "differs"),
        ([0.0] * 7, "<", 0.0, "differs"),
        ([0.0] * 6, "<", 0.5, "undecided"),  # 1/64 is no evidence at the level 0.01
        ([1.0, math.nan, 1.0], ">", 0.0, "undecided"),
        ([0.1, -0.1, 0.05], ">", 0.0, "undecided"),
        ([-1.0, -1.1, -0.9, -1.0], ">", 0.0, "differs"),
    ],
)
def test_equal_samples_decide_and_missing_samples_do_not(samples, relation, limit, verdict):
    row = claim("p", "i", samples, relation, limit)
    assert row.verdict == verdict and row.printed == f"{relation} {limit:g}"


def test_a_counterexample_is_no_run():
    row = counterexample("p", "i", "for all x", refuted=True, note="x = 0.")
    assert (row.verdict, row.words, row.note) == ("differs", "one counterexample", "x = 0.")
    assert counterexample("p", "i", "for all x", refuted=False, note="x = 0.").verdict == "agrees"


def test_every_run_means_every_run():
    assert in_every_run("p", "i", [True] * 20).verdict == "agrees"
    almost = in_every_run("p", "i", [True] * 19 + [False])
    assert almost.verdict == "differs" and almost.computed == 0.95
    assert almost.uncertainty == pytest.approx(math.sqrt(0.95 * 0.05 / 20))


@pytest.mark.parametrize("samples", [[1.0], [], [[1.0, 2.0]]])
def test_fewer_than_two_runs_are_refused(samples):
    with pytest.raises(InputError, match="samples"):
        claim("p", "i", samples)
