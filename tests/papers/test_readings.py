"""Statements that are decided in several readings, and how many runs that takes."""

import math

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.papers.claim import LEVEL, claim
from tutelage.papers.readings import in_each_reading
from tutelage.papers.recorded import compare_with_recorded
from tutelage.papers.row import compare, digits, unpublished
from tutelage.papers.sequential import sequential_claim, until_decided

HOLDS = claim("p", "i", [1.0, 1.2, 0.9, 1.1])
FAILS = claim("p", "i", [-1.0, -1.2, -0.9, -1.1])
OPEN = claim("p", "i", [-1.0, 1.2, -0.9, 1.1])


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ((HOLDS, HOLDS), "agrees"),
        ((FAILS, FAILS), "differs"),
        ((HOLDS, FAILS), "depends"),
        ((FAILS, OPEN, HOLDS), "depends"),
        ((HOLDS, OPEN), "depends"),
        ((FAILS, OPEN), "undecided"),
        ((OPEN, OPEN), "undecided"),
    ],
)
def test_a_statement_differs_only_if_it_fails_in_every_reading(rows, verdict):
    readings = {f"reading {number}": row for number, row in enumerate(rows)}
    result = in_each_reading("it grows", "the start", readings)
    assert result.verdict == verdict
    assert result.computed == rows[0].computed and result.item == "it grows"
    for name, row in readings.items():
        assert f"{name}: " in result.note and row.verdict in result.note


def test_an_undecided_reading_does_not_give_depends():
    note = in_each_reading("it grows", "η", {"one": HOLDS, "other": OPEN}).note
    assert note.startswith("Decided in some readings only; not printed: η.")


@pytest.mark.parametrize(
    ("rows", "ours", "verdict"),
    [
        ((FAILS, HOLDS), ["1"], "in our reading"),
        ((FAILS, FAILS, HOLDS), ["2"], "in our reading"),
        ((FAILS, HOLDS, HOLDS), ["2"], "depends"),  # it holds in a reading of the authors, too
        ((HOLDS, FAILS), ["1"], "depends"),
        ((OPEN, HOLDS), ["1"], "depends"),
        ((FAILS, FAILS), ["1"], "differs"),
        ((HOLDS, HOLDS), ["1"], "agrees"),
        ((FAILS, OPEN), ["1"], "undecided"),
        ((FAILS, OPEN, HOLDS), ["1", "2"], "in our reading"),
        ((OPEN, FAILS), ["1"], "undecided"),
    ],
)
def test_a_row_that_holds_only_in_our_reading_is_marked(rows, ours, verdict):
    readings = {str(number): row for number, row in enumerate(rows)}
    row = in_each_reading("it grows", "the count", readings, ours=ours)
    assert row.verdict == verdict
    fails = row.note.startswith("Fails as the authors have it, holds in a reading of ours: ")
    assert fails == (verdict == "in our reading")


def test_numbers_have_readings_too():
    pair = {
        "text": compare("p", "i", digits("0.34"), 0.5),
        "code": compare("p", "i", digits("0.34"), 0.341),
    }
    result = in_each_reading("i", "σ", pair)
    assert result.verdict == "depends" and result.note.startswith(
        "Depends on σ. text: 0.5, differs."
    )


def test_one_reading_is_not_several():
    with pytest.raises(InputError, match="readings"):
        in_each_reading("i", "σ", {"text": HOLDS})


def test_looking_again_and_again_does_not_decide_wrongly_more_often_than_the_level():
    """400 claims that do not hold, tested four times each: at most Binomial(400, 0.01), 4 ± 2."""
    random = np.random.default_rng(5)
    rows = [
        sequential_claim("p", "i", lambda first, count: random.normal(size=count))
        for _ in range(400)
    ]
    agreed = sum(row.verdict == "agrees" for row in rows)
    # Beyond it with probability 2e-4.
    assert agreed < 400 * LEVEL + 4 * math.sqrt(400 * LEVEL)
    assert any(row.verdict == "undecided" for row in rows)


def test_runs_are_doubled_until_the_claim_is_decided_and_the_first_decision_is_final():
    drawn = []

    def draw(first, count):
        drawn.append((first, count))
        return np.full(count, 1.0)

    looked = []

    def claims(samples, level):
        looked.append((len(samples), level))
        # The second is decided at the first stage, and would be decided otherwise at a later one.
        sooner = HOLDS if len(samples) == 4 else FAILS
        return [claim("p", "i", samples, level=level), sooner]

    runs, (slow, quick) = until_decided(draw, claims, runs=4, stages=5)
    assert drawn == [(0, 4), (4, 4), (8, 8)] and len(runs) == 16  # 2⁻¹⁶ < 0.002 < 2⁻⁸
    assert looked == [(4, LEVEL / 5), (8, LEVEL / 5), (16, LEVEL / 5)]
    assert slow.verdict == "agrees" and quick is HOLDS


def test_claims_that_are_undecided_at_the_stated_cost_are_marked():
    row = sequential_claim(
        "p", "i", lambda first, count: np.tile([1.0, -1.0], count // 2), runs=4, stages=3
    )
    assert (
        row.verdict == "undecided" and row.note == "16 runs do not decide it at the level 0.0033."
    )


@pytest.mark.parametrize(("again", "words"), [(1.3, "still holds"), (1.5, "no longer holds")])
def test_a_new_number_still_holds_within_its_error(again, words):
    before, now = unpublished("a rate", 1.2, 0.03), unpublished("a rate", again, 0.03)
    (row,) = compare_with_recorded([now], [before])
    assert words in row.note and row.computed == again
