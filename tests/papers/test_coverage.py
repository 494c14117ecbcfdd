"""Every statement of a paper has its rows, or a reason; every row cites the place of its
statement.
"""

from pathlib import Path

import pytest
import verdicts

from tutelage.papers import PAPERS
from tutelage.papers.coverage import contents, covered, leading, names, numbers

KEYS = [key for key in PAPERS if key != "beyond"]
# What each paper has, counted in the papers: sections, last equation, and the other numbered parts.
SECTIONS = {
    "oostwal2019": [
        *("Abstract", "Sec. I", "Sec. II A", "Sec. II B", "Sec. II C", "Sec. II D", "Sec. III A"),
        *("Sec. III B", "Sec. III C", "Sec. III D", "Sec. IV"),
        *("App. A", "App. B", "App. C", "App. D"),
    ],
    "straat2019": ["Abstract", "Sec. 1", "Sec. 2", "Sec. 3", "Sec. 4"],
    "citton2025": ["Abstract", "Sec. 1", "Sec. 2", "Sec. 2.1", "Sec. 2.2", "Sec. 3", "Sec. 4"],
    "milletari2019": [
        *("Abstract", "Sec. 1", "Sec. 2.1", "Sec. 2.2", "Sec. 2.3", "Sec. 2.4", "Sec. 3"),
        *("Sec. 4", "App. A", "App. B"),
    ],
    "tian2020": [
        *("Abstract", "Sec. 1", "Sec. 2", "Sec. 3", "Sec. 4", "Sec. 4.1", "Sec. 4.2", "Sec. 4.3"),
        *("Sec. 5", "Sec. 5.1", "Sec. 5.2", "Sec. 5.3", "Sec. 6", "Sec. 7"),
        *(f"Sec. 8.{n}" for n in range(1, 18)),
    ],
}
EQUATIONS = {
    "oostwal2019": 33,
    "straat2019": 6,
    "citton2025": 1,
    "milletari2019": 16,
    "tian2020": 69,
}
NUMBERED = {
    "oostwal2019": {"Fig.": 5},
    "straat2019": {"Fig.": 4},
    "citton2025": {"Fig.": 2},
    "milletari2019": {"Fig.": 2},
    "tian2020": {
        "Fig.": 12,
        "Theorem": 7,
        "Lemma": 6,
        "Corollary": 2,
        "Definition": 3,
        "Assumption": 2,
    },
}


def items(key: str) -> dict[str, str]:
    """Verdicts of a paper's rows, by item."""
    return {item: verdict for paper, _, item, verdict, _ in verdicts.expected() if paper == key}


@pytest.mark.parametrize("key", KEYS)
def test_every_numbered_part_of_a_paper_has_its_line(key):
    lines = contents(key)
    sections = list(dict.fromkeys(line.section for line in lines))
    assert [one for one in sections if one != "Sec. III"] == SECTIONS[key]  # III: one sentence
    equations = [n for line in lines if line.place.startswith("eq") for n in numbers(line.place)]
    assert sorted(equations) == list(range(1, EQUATIONS[key] + 1))
    for kind, last in NUMBERED[key].items():
        results = [line.place for line in lines if line.place.startswith(f"{kind} ")]
        assert sorted(results, key=lambda place: int(place.split()[1])) == [
            f"{kind} {n}" for n in range(1, last + 1)
        ]


@pytest.mark.parametrize("key", KEYS)
def test_every_line_has_rows_or_a_reason_and_every_row_a_line(key):
    lines = contents(key)
    for line in lines:
        assert line.says and bool(line.rows) != bool(line.reason), line
        for pattern in line.rows:
            one = line._replace(rows=(pattern,))
            assert any(one.has(item) for item in items(key)), (line.name, pattern)
    without = [item for item in items(key) if not any(line.has(item) for line in lines)]
    assert without == []


@pytest.mark.parametrize("key", KEYS)
def test_every_citation_of_a_row_is_a_place_of_its_lines(key):
    """Sec. 4 for a sentence of Sec. 3, or a theorem that is a lemma, is found here."""
    wrong = {}
    for item in items(key):
        lines = [line for line in contents(key) if line.has(item)]
        for place in leading(item):
            if not any(names(line, place) for line in lines):
                wrong[item] = place
    assert wrong == {}


def test_a_wrong_citation_is_found():
    row = {"paper": "straat2019", "item": "Sec. 3, ReLU, Q_22(∞), in the text"}
    assert verdicts.wrong_citations([{**row, "note": "straat2019, Sec. 4, has 0.25."}])
    assert not verdicts.wrong_citations([{**row, "note": "straat2019, Sec. 3, has 0.25."}])


def test_uncomputed_rows_are_listed_as_such():
    outcomes = dict((line.name, words) for line, words in covered("citton2025", {}))
    assert outcomes["Sec. 3, Fig. 1"] == "not computed yet"
    assert outcomes["Sec. 1"] == "an introduction"


def test_the_page_of_the_documentation_is_that_of_the_table():
    page = Path(__file__).parents[2] / "docs" / "coverage.md"
    assert page.read_text(encoding="utf-8") == verdicts.coverage_page()
