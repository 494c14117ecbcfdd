"""Published numbers: verdicts follow from the numbers; papers and their sections are found."""

import math
import re
from pathlib import Path

import equinox as eqx
import pytest
from hypothesis import given, strategies as st
from quotations import PRINTED, columns, quoted_numbers
from scenarios import GRADED, GRADED_START, PERCEPTRON_START

import tutelage as tl
from tutelage import papers
from tutelage._checks import InputError
from tutelage.online.stationary import critical_rates
from tutelage.papers import PAPERS, reproduce, sections
from tutelage.papers.beyond import rates
from tutelage.papers.citton2025 import runs as citton2025
from tutelage.papers.citton2025.states import CRITICAL
from tutelage.papers.row import closed_form, compare, correct, digits, method
from tutelage.papers.straat2019 import runs as straat2019

DOCS = Path(__file__).parents[2] / "docs"


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


@pytest.mark.parametrize("uncertainty", [0.0, 0.25, 8.0])
@pytest.mark.parametrize("side", [-1, 1])
def test_the_printed_digits_and_one_uncertainty_are_allowed_and_nothing_more(uncertainty, side):
    """Binary fractions, so that the edge itself is a number: it is still within."""
    edge = 2.0 + side * (0.5 + uncertainty)
    step = side * 2.0**-40
    printed, exact = digits("2"), method("exact", 64.0, 0.5)
    for computed, verdict in ((edge, "agrees"), (edge + step, "differs")):
        assert compare("p", "i", printed, computed, uncertainty).verdict == verdict
        assert correct("p", "i", printed, exact, computed, "", uncertainty).verdict == verdict
    edge += 62
    for computed, verdict in ((edge, "corrected"), (edge + step, "differs")):
        assert correct("p", "i", printed, exact, computed, "", uncertainty).verdict == verdict


def test_four_standard_errors_differ():
    assert compare("p", "i", digits("0.341"), 0.345, 0.001).verdict == "differs"


def test_what_is_not_finite_becomes_none_for_json():
    row = compare("p", "i", digits("0.341"), math.nan)
    assert row.as_dict()["computed"] is None
    assert row.as_dict()["error"] is None


@pytest.mark.parametrize("paper", PRINTED)
def test_every_number_quoted_from_a_paper_is_printed_there(paper):
    """The sources against `tests/quotations.py`, both read from the paper, one after the other."""
    modules = sorted((Path(papers.__file__).parent / paper).glob("*.py"))
    results = [group for module in modules for group in quoted_numbers(module.read_text("utf-8"))]
    assert sorted(results) == sorted(PRINTED[paper].values())


def test_every_paper_has_its_quotations():
    assert set(PRINTED) == set(PAPERS) - {"beyond"}


def test_the_critical_learning_rates_are_quoted_equally_everywhere():
    printed = next(group for group in PRINTED["citton2025"].values() if len(group) == 3)
    names = ("non_monotonic", "plateau_vanishes", "diverges")
    assert tuple(CRITICAL[name][1] for name in names) == printed
    assert tuple(f"{rates.PRINTED[name]:.4f}" for name in names) == printed
    match = re.search(r"citton2025 .* has ([\d.]+), ([\d.]+) and ([\d.]+)\.", _docstring())
    assert match and match.groups() == printed
    (column,) = columns((DOCS / "online.md").read_text("utf-8"), "printed")
    assert tuple(column) == (*printed, "–")


def _docstring() -> str:
    return critical_rates.critical_learning_rates.__doc__ or ""


def test_pages_quote_what_the_papers_print():
    (column,) = columns((DOCS / "equilibrium.md").read_text("utf-8"), "printed in `oostwal2019`")
    sigmoidal, rectified = (
        next(numbers for place, numbers in PRINTED["oostwal2019"].items() if place.startswith(name))
        for name in ("Fig. 2", "Fig. 3")
    )
    assert [cell.split(" ")[0] for cell in column[:3]] == [*sigmoidal[2:], rectified[1]]
    (column, *_) = columns((DOCS / "cifar10.md").read_text("utf-8"), "tian2020")
    numbers = next(n for place, n in PRINTED["tian2020"].items() if place.startswith("Fig. 8"))
    assert [number for cell in column for number in re.findall(r"[\d.]+", cell)] == list(numbers)


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        (citton2025.start(), GRADED_START),
        (citton2025.scenario().T, GRADED.T),
        (citton2025.sigmoidal_scenario().T, GRADED.T),
        (straat2019.single_start(), PERCEPTRON_START),
        # Fig. 2: R_in = 10⁻³ δ_in, Q_11 = 0.2, Q_12 = 0, Q_22 = 0.3.
        (
            straat2019.start_2(),
            tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[0.001, 0], [0, 0.001]], T=[[1, 0], [0, 1]]),
        ),
        ((citton2025.RUNS, citton2025.DIMENSION, citton2025.ORDER), (10, 1000, 10)),
        (straat2019.RATE_2, 0.1),
    ],
)
def test_settings_are_those_of_the_papers(found, printed):
    assert eqx.tree_equal(found, printed)


FIGURES = {  # of the papers; those of tian2020 that show data
    "oostwal2019": range(1, 6),
    "straat2019": range(1, 5),
    "citton2025": range(1, 3),
    "tian2020": (*range(2, 9), 11, 12),
    "milletari2019": range(1, 3),
}


@pytest.mark.parametrize("paper", PAPERS)
def test_sections_have_titles_and_captions(paper):
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


def test_sizes_of_pictures_follow_the_style():
    """`new_grid` and `size_in_style` shrink pictures on paper; fixed sizes would be too wide."""
    fixed = re.compile(r"figsize=(?!size_in_style)")
    for source in Path(papers.__file__).parent.rglob("*.py"):
        assert not fixed.search(source.read_text(encoding="utf-8")), source.name
