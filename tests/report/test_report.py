"""The report: computed once, kept whole, the same after an interruption, complete in one file."""

import json
import re

import matplotlib
import pytest
import xarray as xr
from browser import complaints, needs_chromium
from page import Page

from tutelage import report
from tutelage.checks import InputError
from tutelage.report import version

matplotlib.use("Agg")


def content(folder):
    """All files, by their names, without those that only a stopped run leaves."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_second_run_computes_nothing_and_gives_the_same_bytes(made, tmp_path):
    report.build(folder=tmp_path)
    first = content(tmp_path)
    assert made.computed == ["fig1", "text", "new"]
    report.build(folder=tmp_path)
    assert made.computed == ["fig1", "text", "new"]
    assert content(tmp_path) == first


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_report(made, tmp_path):
    report.build(folder=tmp_path / "whole")
    made.computed.clear()
    made.stop_at = "text"
    with pytest.raises(KeyboardInterrupt):
        report.build(folder=tmp_path / "stopped")
    made.stop_at = ""
    report.build(folder=tmp_path / "stopped")
    assert made.computed == ["fig1", "text", "new"], "the figure was not computed twice"
    assert content(tmp_path / "stopped") == content(tmp_path / "whole")


@pytest.mark.parametrize("damage", ["unlink", "truncate", "picture"])
def test_a_part_that_is_not_whole_is_computed_again(made, tmp_path, damage):
    report.build(folder=tmp_path)
    whole = content(tmp_path)
    part = tmp_path / "parts" / "made_fig1.json"
    if damage == "picture":
        (tmp_path / "figures" / "made_fig1.pdf").unlink()
    elif damage == "unlink":
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[:100])
    report.build(folder=tmp_path)
    assert made.computed == ["fig1", "text", "new", "fig1"]
    assert content(tmp_path) == whole


def test_other_code_computes_again(made, tmp_path, monkeypatch):
    report.build(folder=tmp_path)
    other = {**version.versions(), "code": "another"}
    monkeypatch.setattr(version, "versions", lambda: other)
    report.build(folder=tmp_path)
    assert made.computed == 2 * ["fig1", "text", "new"]


def test_a_full_part_serves_for_a_quick_one_and_not_the_other_way_round(made, tmp_path):
    report.build(folder=tmp_path)
    report.build(full=True, folder=tmp_path)
    assert made.computed == ["fig1", "text", "new", "fig1"], "only one section has a full size"
    report.build(folder=tmp_path)
    assert len(made.computed) == 4
    with xr.open_dataset(tmp_path / "figures" / "made_fig1.nc", engine="scipy") as data:
        assert data.sizes["x"] == 11


def test_one_figure_is_computed_alone_and_the_rest_of_the_report_stays(made, tmp_path):
    rows = report.build(["made"], "1", folder=tmp_path)
    assert made.computed == ["fig1"]
    assert {row["section"] for row in rows} == {"fig1"}
    report.build(folder=tmp_path)
    report.build(["made"], "fig1", again=True, folder=tmp_path)
    assert made.computed == ["fig1", "text", "new", "fig1"]
    assert len(shown(tmp_path)) == 6


def test_rows_say_how_to_recompute_them(made, tmp_path):
    row = report.build(["made"], "1", folder=tmp_path)[0]
    assert row["command"] == "tutelage reproduce made --figure 1 --again"


def test_an_unknown_figure_is_refused_with_what_there_is(made, tmp_path):
    with pytest.raises(InputError, match=r"--figure: got '7'.*fig1, text"):
        report.build(["made"], "7", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def shown(folder):
    return Page((folder / "index.html").read_text(encoding="utf-8")).rows


def test_every_record_is_on_the_page_exactly_once(made, tmp_path):
    rows = report.build(folder=tmp_path)
    assert shown(tmp_path) == [f"{row['paper']}: {row['item']}" for row in rows]
    assert len(set(shown(tmp_path))) == len(rows) == 6
    assert json.loads((tmp_path / "records.json").read_text(encoding="utf-8")) == rows


def test_the_page_counts_what_it_shows(made, tmp_path):
    report.build(folder=tmp_path)
    page = " ".join((tmp_path / "index.html").read_text(encoding="utf-8").split())
    assert "5 published numbers and statements" in page
    assert "1 agree, 2 differ (1 of them meet the exact form of what is misprinted)" in page
    assert "1 cannot be compared, 1 are missing" in page


def test_the_page_needs_nothing_but_itself_and_its_links_lead_somewhere(made, tmp_path):
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


def test_text_of_records_is_escaped(made, tmp_path):
    report.build(folder=tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "a &lt; b &amp; c" in text and "a slip &lt;b&gt;" in text


def test_data_stand_beside_the_picture(made, tmp_path):
    report.build(folder=tmp_path)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {f"made_fig1.{suffix}" for suffix in ("png", "svg", "pdf", "nc")}


@needs_chromium
def test_the_page_opens_without_an_error_or_a_request(made, tmp_path):
    report.build(folder=tmp_path / "report")
    assert complaints(tmp_path / "report" / "index.html", tmp_path) == []
