"""Published numbers: the verdict is earned, and every paper's rows are reproduced."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.checks import InputError
from tutelage.papers import TITLES, reproduce
from tutelage.papers.record import closed_form, compare, correct, digits

# The formulas with a known slip; see the notes in the modules of these papers.
KNOWN_SLIPS = {
    "oostwal2019": ("eq. (11)", "eq. (26)"),
    "citton2025": ("eq. (1) to order 10",),
    "milletari2019": ("eq. (7), factor g of Sigmoid, β = 2",),
}


@given(value=st.floats(-100, 100), places=st.integers(1, 8))
def test_a_number_rounded_to_the_printed_digits_agrees(value, places):
    published = digits(f"{value:.{places}f}")
    assert compare("p", "i", published, value).verdict == "agrees"


@pytest.mark.parametrize(
    ("text", "computed", "verdict"),
    [
        ("0.341", 0.34084, "agrees"),
        ("0.341", 0.3416, "differs"),
        ("0.0150", 0.01502, "agrees"),
        ("0.0150", 0.0151, "differs"),
        ("2", 2.4, "agrees"),
        ("0.341", math.nan, "differs"),
        ("0.341", math.inf, "differs"),
    ],
)
def test_the_last_printed_digit_decides(text, computed, verdict):
    assert compare("p", "i", digits(text), computed).verdict == verdict


def test_a_closed_form_is_met_to_rounding_and_no_less():
    third = closed_form("1/3", 1 / 3)
    assert compare("p", "i", third, 1 / 3 + 2.0**-52).verdict == "agrees"
    assert compare("p", "i", third, 1 / 3 + 1e-12).verdict == "differs"


@pytest.mark.parametrize(
    ("computed", "verdict"), [(1 / 3, "corrected"), (1 / 15, "agrees"), (0.2, "differs")]
)
def test_a_correction_has_to_be_right(computed, verdict):
    printed, exact = closed_form("1/15", 1 / 15), closed_form("1/3", 1 / 3)
    assert correct("p", "i", printed, exact, computed, "why").verdict == verdict


def test_what_is_not_finite_becomes_none_for_json():
    record = compare("p", "i", digits("0.341"), math.nan)
    assert record.as_dict()["computed"] is None
    assert record.as_dict()["error"] is None


@pytest.mark.parametrize("paper", TITLES)
def test_every_published_number_is_reproduced_or_has_a_known_slip(paper):
    for record in reproduce([paper]):
        assert record.paper == paper
        assert record.verdict in ("agrees", "corrected"), record
        if record.verdict == "corrected":
            assert record.item.startswith(KNOWN_SLIPS[paper]) and record.note


def test_items_are_told_apart():
    items = [(record.paper, record.item) for record in reproduce()]
    assert len(items) == len(set(items))


def test_papers_come_in_the_order_named_and_once():
    papers = [record.paper for record in reproduce(["straat2019", "citton2025", "straat2019"])]
    assert list(dict.fromkeys(papers)) == ["straat2019", "citton2025"]
    assert len(papers) == len(reproduce(["straat2019"])) + len(reproduce(["citton2025"]))


def test_an_unknown_paper_is_refused_with_what_is_known():
    with pytest.raises(InputError, match=r"PAPER: got 'saad1995'.*oostwal2019"):
        reproduce(["saad1995"])
