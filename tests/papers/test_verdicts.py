"""Verdicts do not change unnoticed: every row is compared with ``verdicts.csv``.

Sections that take seconds are computed here; all of them by `tests/report/test_whole_report.py`.
"""

from pathlib import Path

import pytest
import verdicts

from tutelage.papers import reproduce, sections

LONG = {  # seconds of one core, the first of them with what it compiles
    "oostwal2019": {"eq11", "eq20", "eq32", "text3a", "fig2", "fig3", "fig4", "fig5"},
    "straat2019": {
        "eq5",
        "perceptron",
        "averaging",
        "fig1",
        "fig2",
        "table",
        "fig3",
        "fig4",
        "abstract",
    },
    "citton2025": {"sums", "eq1", "fig1", "fig2", "critical", "equilibria", "sigmoidal"},
    "tian2020": {
        *(f"fig{n}" for n in (2, 4, 5, 6, 8, 11, 12)),
        "lemma1",
        "theorem1",
        "theorem2",
        "theorem7",
    },
    "milletari2019": {"text3", "fig1", "fig2"},
    "beyond": {
        "relu",
        "rates",
        "noise",
        "activations",
        "plateaus",
        "escape",
        "schedules",
        "starts",
        "readouts",
        "layers",
        "drift",
        "temperature",
        "landscape",
    },
}
SHORT = [entry for entry in sections() if entry.section.name not in LONG.get(entry.paper.key, ())]


@pytest.mark.parametrize("entry", SHORT, ids=lambda entry: entry.stem)
def test_rows_of_a_short_section_have_the_verdicts_of_the_table(entry, tmp_path, monkeypatch):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))  # no images of CIFAR-10
    key, name = entry.paper.key, entry.section.name
    rows = reproduce([key], name)
    result = verdicts.of_rows([{**row.as_dict(), "section": name} for row in rows])
    assert result == [line for line in verdicts.expected() if line[:2] == (key, name)]
    assert all(row.note for row in rows if row.verdict != "agrees")
    assert verdicts.wrong_citations([row.as_dict() for row in rows]) == []


def test_the_table_has_every_item_once_and_only_existing_sections():
    table = verdicts.expected()
    items = [(paper, item) for paper, _, item, *_ in table]
    assert len(items) == len(set(items))
    there = {(entry.paper.key, entry.section.name) for entry in sections()}
    assert {line[:2] for line in table} == there - {("tian2020", "sketches")}
    assert all(verdict == "new" or paper != "beyond" for paper, *_, verdict, _ in table)


def test_the_readme_has_the_counts_of_the_table():
    readme = Path(__file__).parents[2] / "README.md"
    assert verdicts.summary() in readme.read_text(encoding="utf-8")
