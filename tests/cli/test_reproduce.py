"""``tutelage reproduce``: output for people and programs, and refusals."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from tutelage import results
from tutelage.cli import reproduce
from tutelage.papers import PAPERS, Row
from tutelage.runs import files

KEYS = ["paper", "item", "published", "computed", "error", "verdict"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_printed_are_counts_what_differs_and_where_the_report_is(
    run, paper, folder, monkeypatch
):
    monkeypatch.setattr(
        reproduce, "ANNOUNCE_SECONDS", 1000.0
    )  # no section is slow, however busy the machine
    code, out, err = run("reproduce")
    assert (code, err) == (1, ""), "π is not 3.2, and no note says why"
    lines = [line.split() for line in out.splitlines()]
    assert ["differs", "made", "π", "3.2", "3.14159"] in lines
    assert ["corrected", "made", *["a", "<", "b", "&", "c"], "0.94", "0.946"] in lines
    assert ["made", "5", "1", "1", "1", "1", "1", "0"] in lines
    assert ["beyond", "1", "0", "0", "0", "0", "0", "1"] in lines
    assert "6 rows: 1 agrees, 1 corrected, 1 differs, 1 not comparable, 1 missing, 1 new" in out
    assert "report: report/index.html" in out
    assert (folder / "report" / "index.html").is_file()
    assert "one third" not in out and "a slip" not in out
    assert "\x1b" not in out, "no colours where there is no terminal"


def test_what_is_too_long_is_cut_and_still_has_its_verdict_and_its_number(run, monkeypatch):
    long = Row("p", 40 * "item ", 1.0, 2.5, 1.5, "differs", "why", printed=20 * "words ").as_dict()
    monkeypatch.setattr(reproduce, "_build", lambda *arguments: [long])
    (line,) = [line for line in run("reproduce")[1].splitlines() if "item item" in line]
    assert line.split()[:2] == ["differs", "p"] and line.split()[-1] == "2.5"
    assert line.count("…") == 2


def test_rows_prints_all_of_them_with_the_notes_below(run, paper, folder):
    _, out, _ = run("reproduce", "--rows")
    assert all(item in out for item in ("one third", "a < b & c", "a rate", "π"))
    assert "corrected: a slip <b>" in out and "missing: not our field" in out
    assert "6 rows: " in out


def test_json_is_a_list_of_rows_and_nothing_else(run, paper, folder):
    code, out, err = run("reproduce", "made", "--figure", "1", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert all(set(KEYS) <= set(row) for row in rows)
    assert [row["verdict"] for row in rows] == ["agrees", "corrected", "not comparable"]
    assert rows[2]["published"] is None, "JSON has no NaN"


def test_an_interrupted_run_prints_what_is_saved_and_continues(run, paper, folder):
    paper.stop_at = "text"
    code, _, err = run("reproduce")
    assert code == 130
    assert "saved in report" in err and "Traceback" not in err
    paper.stop_at = ""
    run("reproduce")
    assert paper.computed == ["fig1", "text", "new"]


def test_full_again_and_out_are_passed_on(run, paper, folder):
    _, _, err = run("reproduce", "made", "--figure", "1", "--full", "--out", "elsewhere")
    assert "made, fig1, at full size: more points" in err
    _, _, err = run("reproduce", "made", "--figure", "1", "--again", "--out", "elsewhere")
    assert "at full size" not in err
    assert paper.computed == ["fig1", "fig1"]
    assert results.load(folder / "elsewhere" / "figures" / "made_fig1.nc").sizes["x"] == 11


def test_an_unknown_paper_is_named_with_what_is_allowed(run, folder):
    code, out, err = run("reproduce", "saad1995")
    assert (code, out) == (2, "")
    assert "PAPER: got 'saad1995'" in err
    assert all(key in err for key in PAPERS)
    assert "Traceback" not in err
    assert not list(folder.iterdir())


def test_a_report_that_is_a_file_is_refused_before_anything_is_computed(run, paper, folder):
    (folder / "rows.csv").touch()
    code, _, err = run("reproduce", "--out", "rows.csv")
    assert code == 2 and not paper.computed
    assert "folder of the report: got 'rows.csv'" in err and "Try: --out" in err


def test_a_claim_that_is_known_not_to_hold_is_named_and_does_not_fail(run, monkeypatch):
    finding = Row("p", "i", 1.0, 2.0, 1.0, "differs", "why it is so", printed="1").as_dict()
    monkeypatch.setattr(reproduce, "_build", lambda *arguments: [finding])
    code, out, _ = run("reproduce", "--rows")
    assert code == 0
    assert "differs: why it is so" in out


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """Writing files with this ending fails in the folder of the report, and works elsewhere."""
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    replacing = files.replacing

    def fill(ending):
        def tried(path, **options):
            if "report" in Path(path).parts and str(path).endswith(ending):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return replacing(path, **options)

        monkeypatch.setattr(files, "replacing", tried)

    return fill


def test_a_section_that_cannot_be_written_is_saved_elsewhere(run, paper, folder, full_disk):
    full_disk(".svg")
    code, out, err = run("reproduce", "made", "--figure", "1")
    assert (code, out) == (1, "")
    (stored,) = folder.glob("tutelage-*/made_fig1")
    words = "'report' could not be written to (No space left on device); made_fig1 is"
    assert f"{words} saved in {stored}" in err
    assert "the same command continues from there" in err
    assert {path.suffix for path in (stored / "figures").iterdir()} == {
        ".png",
        ".svg",
        ".pdf",
        ".nc",
    }
    assert len(json.loads((stored / "parts" / "made_fig1.json").read_text())["rows"]) == 3


def test_rows_are_printed_also_if_the_page_cannot_be_written(run, paper, folder, full_disk):
    full_disk("index.html")
    code, out, err = run("reproduce", "made", "--figure", "1", "--json")
    assert code == 1 and len(json.loads(out)) == 3
    assert "the page in 'report' could not be written (No space left on device)" in err
    full_disk("nothing")
    assert run("reproduce", "made", "--figure", "1", "--json") == (0, out, "")
    assert paper.computed == ["fig1"]


def test_a_log_names_the_sections_that_take_their_time(monkeypatch, capsys):
    """It also prints the memory before it starts; sections that are loaded at once have no line."""
    monkeypatch.setattr(reproduce, "ANNOUNCE_SECONDS", 0.05)
    with reproduce.Sections() as sections:
        sections.show(0, 3, "kept")
        sections.show(1, 3, "a long one")
        time.sleep(0.3)
        sections.show(2, 3, "kept, too")
    assert capsys.readouterr().err.splitlines() == [
        "tutelage: this takes up to 4 GB of memory; finished sections are saved",
        "tutelage: 1 of 3 done; a long one",
    ]
