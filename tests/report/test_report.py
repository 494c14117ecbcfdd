"""The report: computed once, stored completely, equal after an interruption, one file."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import made_up_paper
import pytest
import xarray as xr
from browser import complaints, needs_chromium, widest
from page import Page

from tutelage import report
from tutelage._checks import InputError
from tutelage.report import version


def content(folder):
    """Return the contents of all files by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_second_run_computes_nothing_and_gives_the_same_bytes(paper, tmp_path):
    report.build(folder=tmp_path)
    first = content(tmp_path)
    assert paper.computed == ["fig1", "text", "new"]
    report.build(folder=tmp_path)
    assert paper.computed == ["fig1", "text", "new"]
    assert content(tmp_path) == first


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_report(paper, tmp_path):
    report.build(folder=tmp_path / "whole")
    paper.computed.clear()
    paper.stop_at = "text"
    with pytest.raises(KeyboardInterrupt):
        report.build(folder=tmp_path / "stopped")
    paper.stop_at = ""
    report.build(folder=tmp_path / "stopped")
    assert paper.computed == ["fig1", "text", "new"], "the figure was not computed twice"
    assert content(tmp_path / "stopped") == content(tmp_path / "whole")


PART, PICTURE = "parts/made_fig1.json", "figures/made_fig1.pdf"
DAMAGE = {
    "no part": lambda folder: (folder / PART).unlink(),
    "half a part": lambda folder: os.truncate(folder / PART, 100),
    "no object": lambda folder: (folder / PART).write_text("null"),
    "another object": lambda folder: (folder / PART).write_text('{"key": 5}'),
    "no picture": lambda folder: (folder / PICTURE).unlink(),
    "half a picture": lambda folder: os.truncate(folder / PICTURE, 100),
}


@pytest.mark.parametrize(
    "damage",
    [pytest.param(d, marks=[pytest.mark.slow] * (not d.startswith("half"))) for d in DAMAGE],
)
def test_a_part_that_is_not_whole_is_computed_again(paper, tmp_path, damage):
    report.build(folder=tmp_path)
    whole = content(tmp_path)
    DAMAGE[damage](tmp_path)
    report.build(folder=tmp_path)
    assert paper.computed == ["fig1", "text", "new", "fig1"]
    assert content(tmp_path) == whole


def test_what_a_killed_run_has_written_is_not_computed_again(paper, tmp_path, monkeypatch):
    """A copy of the folder, in the middle of the second section, is what SIGKILL leaves of it."""

    def copied(full):
        yield from made_up_paper.curve(full)
        if not (tmp_path / "killed").exists():
            shutil.copytree(tmp_path / "whole", tmp_path / "killed")

    monkeypatch.setattr(made_up_paper, "text", copied)
    paper = made_up_paper.install(monkeypatch)
    report.build(folder=tmp_path / "whole")
    paper.computed.clear()
    report.build(folder=tmp_path / "killed")
    assert paper.computed == ["text", "new"]
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


KILLED = """
import os, signal, sys
import pytest, made_up_paper
from tutelage import report

def killed(full):
    yield from made_up_paper.curve(full)
    os.kill(os.getpid(), signal.SIGKILL)

made_up_paper.text = killed
made_up_paper.install(pytest.MonkeyPatch())
report.build(folder=sys.argv[1])
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_gives_the_same_report(paper, tmp_path):
    """SIGKILL in the middle of the second section, whose picture is already written."""
    report.build(folder=tmp_path / "whole")
    paper.computed.clear()
    path = os.pathsep.join([str(Path(made_up_paper.__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed")]
    assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    report.build(folder=tmp_path / "killed")
    assert paper.computed == ["text", "new"]
    killed = content(tmp_path / "killed")
    assert content(tmp_path / "whole").items() <= killed.items()


def test_another_library_computes_again(paper, tmp_path, monkeypatch):
    report.build(folder=tmp_path)
    other = {**version.versions(), "jax": "another"}
    monkeypatch.setattr(version, "versions", lambda: other)
    report.build(folder=tmp_path)
    assert paper.computed == 2 * ["fig1", "text", "new"]


def test_a_full_part_serves_for_a_quick_one_and_not_the_other_way_round(paper, tmp_path):
    report.build(folder=tmp_path)
    report.build(full=True, folder=tmp_path)
    assert paper.computed == ["fig1", "text", "new", "fig1"], "only one section has a full size"
    report.build(folder=tmp_path)
    assert len(paper.computed) == 4
    with xr.open_dataset(tmp_path / "figures" / "made_fig1.nc", engine="scipy") as data:
        assert data.sizes["x"] == 11


def test_what_is_recomputed_keeps_its_size(paper, tmp_path):
    report.build(["made"], "1", full=True, folder=tmp_path)
    row = report.build(["made"], "1", again=True, folder=tmp_path)[0]
    assert row["command"] == "tutelage reproduce made --figure 1 --again --full"
    with xr.open_dataset(tmp_path / "figures" / "made_fig1.nc", engine="scipy") as data:
        assert data.sizes["x"] == 11


def test_one_figure_is_computed_alone_and_the_rest_of_the_report_stays(paper, tmp_path):
    rows = report.build(["made"], "1", folder=tmp_path)
    assert paper.computed == ["fig1"]
    assert {row["section"] for row in rows} == {"fig1"}
    report.build(folder=tmp_path)
    report.build(["made"], "fig1", again=True, folder=tmp_path)
    assert paper.computed == ["fig1", "text", "new", "fig1"]
    assert len(shown(tmp_path)) == 6


def test_rows_have_the_command_that_recomputes_them(paper, tmp_path):
    row = report.build(["made"], "1", folder=tmp_path)[0]
    assert row["command"] == "tutelage reproduce made --figure 1 --again"


def test_an_unknown_figure_is_refused_with_what_there_is(paper, tmp_path):
    with pytest.raises(InputError, match=r"--figure: got '7'.*fig1, text"):
        report.build(["made"], "7", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def shown(folder):
    return Page((folder / "index.html").read_text(encoding="utf-8")).rows


def test_every_row_is_on_the_page_exactly_once(paper, tmp_path):
    rows = report.build(folder=tmp_path)
    assert shown(tmp_path) == [f"{row['paper']}: {row['item']}" for row in rows]
    assert len(set(shown(tmp_path))) == len(rows) == 6
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == rows


def test_page_and_command_count_the_same_rows_with_the_same_words(paper, tmp_path, run):
    _, out, _ = run("reproduce", "--out", str(tmp_path))
    page = " ".join((tmp_path / "index.html").read_text(encoding="utf-8").split())
    counts = "6 rows: 1 agrees, 1 corrected, 1 differs, 1 not comparable, 1 missing, 1 new"
    assert f"{counts}. Rows that do not agree" in page and counts in out.splitlines()
    assert '<td data-label="rows">5</td>' in page and '<td data-label="new">1</td>' in page


def test_the_page_needs_nothing_but_itself_and_its_links_lead_somewhere(paper, tmp_path):
    report.build(folder=tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not re.findall(r"(?:https?:)?//\w", re.sub(r"data:[^\"]*", "", text))
    assert "<script" not in text
    for address in page.addresses:
        if address.startswith("#"):
            assert address[1:] in page.anchors
        elif not address.startswith("data:"):
            assert (tmp_path / address).is_file(), address


def test_text_of_rows_is_escaped(paper, tmp_path):
    report.build(folder=tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "a &lt; b &amp; c" in text and "a slip &lt;b&gt;" in text


def test_data_are_linked_next_to_the_picture(paper, tmp_path):
    report.build(folder=tmp_path)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {f"made_fig1.{suffix}" for suffix in ("png", "svg", "pdf", "nc")}


@needs_chromium
def test_the_page_opens_without_an_error_or_a_request(paper, tmp_path):
    report.build(folder=tmp_path / "report")
    assert complaints(tmp_path / "report" / "index.html", tmp_path) == []


@needs_chromium
def test_the_page_fits_on_a_telephone(paper, tmp_path):
    """At 400 pixels the summary and pictures were cut, and a path in a note widened the page."""
    report.build(folder=tmp_path / "report")
    page = tmp_path / "report" / "index.html"
    assert widest(page, tmp_path, ".summary, html, figure a", 400) <= 400


def test_recorded_rows_are_counted_and_name_their_command(paper, tmp_path, run):
    _, out, _ = run("reproduce", "--out", str(tmp_path))
    assert "1 of them from recorded results; --full recomputes them" in out.splitlines()
    page = " ".join((tmp_path / "index.html").read_text(encoding="utf-8").split())
    assert "1 rows were" in page
    assert page.count("<code>python far.py (far away)</code>") == 1
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert [row["recorded"] for row in rows if row["recorded"]] == ["python far.py (far away)"]
