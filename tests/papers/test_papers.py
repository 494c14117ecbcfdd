"""Published numbers: the verdict is earned; papers and their sections are found."""

import math
import re

import pytest
from hypothesis import given, strategies as st

from tutelage._checks import InputError
from tutelage.papers import PAPERS, reproduce, sections
from tutelage.papers.row import closed_form, compare, correct, digits


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


@pytest.mark.parametrize("text", ["1e-3", "1/3", ".5", "about 2", ""])
def test_what_is_not_digits_has_no_last_digit(text):
    with pytest.raises(InputError, match="text: got"):
        digits(text)


@pytest.mark.parametrize("uncertainty", [math.inf, math.nan, -1.0])
def test_an_uncertainty_that_is_none_is_refused(uncertainty):
    with pytest.raises(InputError, match="uncertainty"):
        compare("p", "i", digits("0.341"), 0.341, uncertainty)


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
    row = compare("p", "i", digits("0.341"), math.nan)
    assert row.as_dict()["computed"] is None
    assert row.as_dict()["error"] is None


FIGURES = {  # of the papers; those of tian2020 that show data
    "oostwal2019": range(1, 6),
    "straat2019": range(1, 5),
    "citton2025": range(1, 3),
    "tian2020": (*range(2, 9), 11, 12),
    "milletari2019": range(1, 3),
}


@pytest.mark.parametrize("paper", PAPERS)
def test_sections_say_what_they_are(paper):
    entries = sections([paper])
    names = [entry.section.name for entry in entries]
    assert len(names) == len(set(names))
    assert all(entry.section.title and entry.section.caption.endswith(".") for entry in entries)
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names), "they are parts of file names"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_has_its_section(paper):
    names = " ".join(entry.section.name for entry in sections([paper]))
    for number in FIGURES.get(paper, ()):
        assert re.search(rf"\bfig{number}(?!\d)", names), number


def test_papers_come_in_the_order_named_and_once():
    papers = [entry.paper.key for entry in sections(["tian2020", "oostwal2019", "tian2020"])]
    assert list(dict.fromkeys(papers)) == ["tian2020", "oostwal2019"]
    assert len(papers) == len(sections(["tian2020"])) + len(sections(["oostwal2019"]))


def test_an_unknown_paper_is_refused_with_what_is_known():
    with pytest.raises(InputError, match=r"PAPER: got 'saad1995'.*oostwal2019"):
        reproduce(["saad1995"])
