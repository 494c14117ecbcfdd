"""The report of all papers, made by the command."""

from collections import Counter

import pytest
import verdicts
from browser import complaints, needs_chromium
from page import Page

from tutelage import report
from tutelage.papers import PAPERS, sections
from tutelage.report import building

# Sections of every paper that take less than a second.
SHORT = (
    *(("oostwal2019", "eq26"), ("straat2019", "eq6"), ("citton2025", "singular")),
    *(("tian2020", "theorem4"), ("milletari2019", "eq5"), ("beyond", "optimizers")),
)


def test_short_sections_of_every_paper_make_one_report(tmp_path):
    folder = tmp_path / "report"
    rows = [row for paper, name in SHORT for row in report.build([paper], name, folder=folder)]
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert Counter(page.rows) == Counter(f"{row['paper']}: {row['item']}" for row in rows)
    assert {row["paper"] for row in rows} == set(PAPERS)
    assert {f"{paper}_{name}" for paper, name in SHORT} <= set(page.anchors)
    # Every statement of each paper, computed or not.
    assert {f"{paper}_contents" for paper in PAPERS if paper != "beyond"} <= set(page.anchors)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as without:
        without.setenv("TUTELAGE_DATA", str(folder / "no images"))
        return folder, report.build(folder=folder)


@pytest.mark.slow
def test_every_row_has_the_verdict_of_the_table(whole):
    """Changed, new and missing rows fail; tests/verdicts.py updates the table."""
    assert verdicts.of_rows(whole[1]) == verdicts.expected()
    assert all(row["note"] for row in whole[1] if row["verdict"] != "agrees")
    assert verdicts.wrong_citations(whole[1]) == []


@pytest.mark.slow
def test_every_published_number_appears_exactly_once(whole):
    folder, rows = whole
    shown = Counter(Page((folder / "index.html").read_text(encoding="utf-8")).rows)
    assert shown == Counter(f"{row['paper']}: {row['item']}" for row in rows)
    assert set(shown.values()) == {1}
    assert {row["paper"] for row in rows} == set(PAPERS)


@pytest.mark.slow
def test_every_section_is_on_the_page_with_its_pictures(whole):
    folder, _ = whole
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert {entry.stem for entry in sections()} <= set(page.anchors)
    for address in page.addresses:
        if not address.startswith(("#", "data:")):
            assert (folder / address).stat().st_size > 0


@needs_chromium
@pytest.mark.slow
def test_it_opens_without_an_error_or_a_request(whole, tmp_path):
    assert complaints(whole[0] / "index.html", tmp_path) == []


@pytest.mark.slow
def test_two_processes_give_the_rows_of_one(tmp_path, monkeypatch):
    some = [entry for entry in sections() if (entry.paper.key, entry.section.name) in SHORT]
    monkeypatch.setattr(building, "sections", lambda *_: some)
    one, two = (report.build(folder=tmp_path / str(workers), workers=workers) for workers in (1, 2))
    assert one == two and len(one) > 7
