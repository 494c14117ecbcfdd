"""The page in a browser: drawings, requests and messages, with made-up curves."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import needs_chromium
from explorer.made_up_explorer import DRAW, FIGURES, VIEWS, Server, checked, plotly
from explorer.pages import (
    FRAMES,
    LONG,
    PHONE,
    WIDE,
    Watched,
    drawn,
    faults,
    fragment,
    number,
    settled,
    until,
)

import tutelage as tl
from tutelage.explorer import bundle

sync = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
expect = sync.expect
expect.set_options(timeout=LONG)
pytestmark = needs_chromium
NAMES = [view["name"] for view in VIEWS]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.shutdown()
    one.server_close()


@pytest.fixture(scope="module")
def pages(browser, server):
    """Open one page per width and colour scheme, because loading Plotly is slow."""
    result = {}

    def page_of(options):
        key = json.dumps(options, sort_keys=True)
        if key not in result:
            result[key] = Watched(browser.new_context(**options), server.address)
        return result[key]

    return page_of


@pytest.fixture
def opened(pages, server):
    """Open an address; finally check that there were no errors or requests to other hosts."""
    used = []

    def open_(words: str, **options):
        server.delay, server.asked[:] = 0.0, []
        watched = pages({**WIDE, **options})
        used.append(watched)
        watched.complaints.clear()
        watched.page.goto(f"{server.address}/#{words}")
        settled(watched.page)
        return watched.page

    open_.refused = False
    yield open_
    said = [words for watched in used for words in watched.complaints]
    if open_.refused:  # which the browser logs itself
        said = [words for words in said if "status of 422" not in words]
    assert said == []


def asked_for(server, path="/api/picture"):
    """Return the queries that the page has sent, as dictionaries."""
    results = [urlsplit(one) for one in server.asked]
    return [{k: v[0] for k, v in parse_qs(f.query).items()} for f in results if f.path == path]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_each_view_draws_and_has_no_serious_fault(scheme, opened):
    for view in NAMES:
        page = opened(f"view={view}", color_scheme=scheme)
        assert page.locator("nav a[aria-current]").get_attribute("data-view") == view
        assert faults(page) == [], view


def test_nothing_is_wider_than_a_phone(opened):
    for view in NAMES:
        page = opened(f"view={view}", **PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
    page = opened("view=online&compare=1&K=4", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert faults(page) == []


def test_a_link_restores_the_state(opened):
    page = opened(
        "view=online&K=3&activation=leaky&slope=0.4&learning_rate=0&corrected=true"
        "&compare=1&b.K=1&axes=overlaps.x:log"
    )
    assert page.get_by_label("students K", exact=True).input_value() == "3"
    assert page.get_by_label("activation").input_value() == "leaky"
    assert page.get_by_label("slope s", exact=True).input_value() == "0.4"
    assert page.get_by_label("learning rate, slider").input_value() == "0"
    assert page.get_by_label("corrected start").is_checked()
    assert page.locator(".setting").count() == 2
    assert len(drawn(page, 0)["names"]) == 9 and len(drawn(page, 2)["names"]) == 3
    assert drawn(page)["x"]["type"] == "log"
    page.get_by_label("B", exact=True).check()
    expect(page.get_by_label("students K", exact=True)).to_have_value("1")


def test_the_address_holds_the_whole_state(opened):
    page = opened("view=online")
    page.get_by_label("noise, slider").fill("0.5")
    settled(page)
    given = fragment(page)
    assert given["noise"] == "0.5"
    applying = {p["name"] for p in VIEWS[0]["parameters"]} - {"slope"}
    assert set(given) == {"view"} | applying


def test_slider_and_field_are_tied_and_only_what_applies_is_shown(opened, server):
    page = opened("view=online")
    slider = page.get_by_label("learning rate, slider")
    field = page.get_by_label("learning rate η", exact=True)
    field.fill("10")
    field.press("Tab")
    expect(slider).to_have_value("200")
    slider.press("Home")  # the limit η → 0
    expect(field).to_have_value("0")
    slider.press("ArrowRight")
    expect(field).to_have_value("0.001")
    settled(page)
    assert asked_for(server)[-1]["learning_rate"] == "0.001"
    assert not page.get_by_label("slope s", exact=True).is_visible()
    page.get_by_label("activation").select_option("leaky")
    expect(page.get_by_label("slope s", exact=True)).to_be_visible()


def test_while_a_slider_is_dragged_one_request_is_under_way_and_the_newest_waits(opened, server):
    page = opened("view=online")
    server.asked.clear()
    server.delay = 0.1
    slider = page.get_by_label("noise, slider")
    values = [round(0.01 * i, 2) for i in range(1, 31)]
    slider.evaluate(
        """async (slider, values) => {
          for (const value of values) {
            slider.value = value;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
            await new Promise((later) => setTimeout(later, 10));
          }
          slider.dispatchEvent(new Event("change", {bubbles: true}));
        }""",
        values,
    )
    settled(page)
    pictures = asked_for(server)
    assert pictures[-1]["noise"] == "0.3"
    assert len(pictures) < 15  # of 30 moves in 0.3 s, one every 0.1 s or so
    numbers = [int(one["number"]) for one in pictures]
    assert numbers == sorted(set(numbers))


def test_long_requests_show_their_progress_and_can_be_stopped(opened, server):
    page = opened("view=online")
    server.delay = 3.0
    page.get_by_label("noise, slider").fill("0.7")
    expect(page.get_by_role("status").first).to_have_text("compiling K = 2…")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status").first).to_contain_text("Stopped")
    # The page does not wait for the answer to this request.
    assert until(page, lambda: asked_for(server, "/api/stop"))[0]["slot"] == "a"
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    server.delay = 0.0


def test_an_error_is_shown_next_to_its_parameter(opened):
    page = opened("view=activation")
    opened.refused = True
    page.get_by_label("formula").fill("tanh")
    page.get_by_label("formula").press("Tab")
    problem = page.locator("#field-formula-problem")
    assert page.locator("#status").inner_text() == ""  # it is shown once
    expect(problem).to_have_text("formula: a call such as tanh(x) is needed")
    assert page.get_by_label("formula").get_attribute("aria-invalid") == "true"
    page.get_by_label("formula").fill("sin(x)")
    page.get_by_label("formula").press("Tab")
    expect(problem).to_have_text("")


def test_back_goes_back_by_one_move(opened):
    page = opened("view=online")
    page.get_by_label("students K", exact=True).fill("3")
    page.get_by_label("students K", exact=True).press("Tab")
    settled(page)
    page.get_by_role("link", name="Phase transitions").click()
    settled(page)
    page.go_back()
    expect(page.get_by_label("students K", exact=True)).to_have_value("3")
    page.go_back()
    expect(page.get_by_label("students K", exact=True)).to_have_value("2")
    settled(page)  # a panel that is just being replaced has no curves
    until(page, lambda: len(drawn(page)["names"]) == 6)
    page.get_by_label("noise, slider").evaluate(
        """slider => [0.1, 0.2, 0.3].forEach((value) => {
          slider.value = value;
          slider.dispatchEvent(new Event("input", {bubbles: true}));
          slider.dispatchEvent(new Event("change", {bubbles: true}));
        })"""
    )
    settled(page)
    assert fragment(page)["noise"] == "0.3"
    page.go_back()
    until(page, lambda: fragment(page)["noise"] == "0")


def test_the_load_dragged_up_and_down_shows_hysteresis(opened):
    page = opened("view=transitions&load=2")
    slider = page.get_by_label("load, slider")
    seen = []
    for load in (5, 7, 5, 3):
        slider.fill(str(load))
        settled(page)
        seen += number(page, "followed")
    assert seen == ["0", "0.8", "0.8", "0"]
    assert fragment(page)["followed"] == "low"


def test_runs_are_drawn_on_top_and_stop(opened, server):
    page = opened("view=online&runs=2")
    page.get_by_role("button", name="Run finite networks").click()
    expect(page.get_by_role("status").first).to_have_text("2 runs of N = 1000")
    until(page, lambda: {"run 1", "run 2"} <= set(drawn(page, 1)["names"]))
    page.get_by_label("runs", exact=True).fill("1000")  # more than the slider has
    page.get_by_label("runs", exact=True).press("Tab")
    page.get_by_label("runs", exact=True).fill("20")
    page.get_by_label("runs", exact=True).press("Tab")
    page.get_by_role("button", name="Run finite networks").click()
    expect(page.get_by_role("status").first).to_contain_text(" of 20")
    page.get_by_role("button", name="Stop the runs").click()
    expect(page.get_by_role("status").first).to_have_text("Stopped.")
    until(page, lambda: not server.streaming.is_set())
    assert len(asked_for(server)) == 1  # runs alone need no other picture
    page.get_by_label("noise, slider").fill("0.2")
    settled(page)
    assert drawn(page, 1)["names"] == ["ε"]


def test_two_settings_have_the_same_axes(opened):
    page = opened("view=online&learning_rate=0.1&compare=1&b.learning_rate=10")
    until(page, lambda: len(number(page, "final error")) == 2)
    until(page, lambda: page.locator(".plot.js-plotly-plot").count() == 4)
    until(page, lambda: drawn(page, 1)["y"] == drawn(page, 3)["y"])
    a, b = number(page, "final error")
    assert float(a) == pytest.approx(0.0369, abs=1e-4) and float(b) < 1e-10
    expect(page.locator(".field", has_text="learning rate")).to_contain_text("B: 10")
    page.get_by_label("Compare two settings").uncheck()
    expect(page.locator(".setting")).to_have_count(1)


def test_a_training_plays_back(opened):
    page = opened("view=playback")
    assert number(page, "loss") == ["1"]
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#player output")).to_have_text("epoch 4")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_label("frame").fill("1")
    expect(page.locator("#player output")).to_have_text("epoch 1")
    assert number(page, "loss") == ["0.5"]
    assert fragment(page)["frame"] == "1"


def test_points_between_gaps_are_seen(opened):
    page = opened("view=activation")
    shown = page.locator(".plot").nth(1).evaluate("p => p.data.map(t => t.mode)")
    assert shown == ["markers", "lines"]


def test_figures_of_papers_open_in_other_views(opened):
    page = opened("view=papers")
    page.get_by_role("link", name=re.compile("Open in On-line.*Figure 1")).click()
    expect(page.get_by_label("students K", exact=True)).to_have_value("3")
    assert fragment(page)["learning_rate"] == "0.5"


def test_what_is_seen_can_be_taken_along(opened, server):
    page = opened("view=online&learning_rate=0.5&axes=error.y:linear")
    page.get_by_role("button", name="Copy as Python").click()
    expect(page.locator(".told")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "tl.online.evolve(scenario, start, learning_rate=0.5)"
    page.get_by_role("button", name="Copy as command").click()
    command = "tutelage online --learning-rate 0.5"
    until(page, lambda: page.evaluate("navigator.clipboard.readText()") == command)
    data = page.get_by_role("link", name="Data (NetCDF)").get_attribute("href")
    assert "format=nc" in data and "learning_rate=0.5" in data
    with page.expect_download() as result:
        page.get_by_role("button", name="Picture (SVG)").click()
    text = Path(result.value.path()).read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)
    assert result.value.suggested_filename == "online.svg"
    assert picture.tag.endswith("svg") and "Generalization error" in text and "plateau ends" in text
    with page.expect_download() as result:
        page.get_by_role("button", name="Picture (PNG)").click()
    assert Path(result.value.path()).read_bytes().startswith(b"\x89PNG")


def test_all_can_be_reached_and_moved_by_keys(opened):
    page = opened("view=online")
    page.reload()
    settled(page)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
    assert {
        "compare",
        "field-K",
        "field-activation",
        "run",
        "Copy as Python",
        "The code",
    } <= reached
    button = page.get_by_role("button", name="log y axis of Overlaps")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    until(page, lambda: fragment(page).get("axes") == "overlaps.y:log")


def test_curves_are_taken_away_by_their_names(opened):
    page = opened("view=online")
    assert "R12" in drawn(page)["names"]
    page.get_by_role("button", name="R12", exact=True).click()
    until(page, lambda: "R12" not in drawn(page)["names"])


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """An exported page with some made-up pictures."""
    over = {"K": [1, 2], "learning_rate": [0, 0.5, 1.0]}
    pictures = []
    for units in over["K"]:
        for rate in over["learning_rate"]:
            state = checked({"view": "online", "K": units, "learning_rate": rate})
            pictures.append(DRAW["online"](state) | {"state": state, "next": {}})
    data = {
        "views": [VIEWS[0], VIEWS[-1]],
        "grids": {"online": {"over": over, "pictures": pictures}},
        "papers": {"figures": [FIGURES[1]]},
        "note": "Computed before, </script><b>by hand</b>.",
    }
    file = tmp_path_factory.mktemp("exported") / "page.html"
    file.write_text(bundle.page(data, plotly().read_text(encoding="utf-8")), encoding="utf-8")
    return file


def test_an_exported_page_works_from_the_disk(exported, browser):
    watched = Watched(browser.new_context(**WIDE), exported.as_uri())
    page = watched.page
    page.goto(f"{exported.as_uri()}#view=online&K=1&learning_rate=0.4")
    settled(page)
    assert page.get_by_text("The nearest computed point: learning_rate = 0.5").is_visible()
    before = number(page, "final error")
    page.get_by_label("learning rate, slider").press("ArrowRight")
    until(page, lambda: number(page, "final error") != before)
    assert fragment(page)["learning_rate"] == "1"
    assert page.locator("footer").inner_text() == "Computed before, </script><b>by hand</b>."
    assert not page.get_by_role("button", name="Run finite networks").is_visible()
    with page.expect_download() as result:
        page.get_by_role("button", name="Data (CSV)").click()
    lines = Path(result.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "panel,curve,x,y" and len(lines) > 100
    with page.expect_download() as result:
        page.get_by_role("button", name="Picture (SVG)").click()
    page.get_by_role("link", name="Papers").click()
    expect(page.get_by_text("Figure 2: erf")).to_be_visible()
    assert watched.complaints == []
    page.context.close()


def test_sliders_change_numbers_to_what_the_library_gives(address, browser):
    watched = Watched(browser.new_context(**WIDE), address.partition("?")[0])
    page = watched.page
    page.goto(f"{address}#view=transitions&K=2&load=30")
    settled(page)
    slider = page.get_by_label("load, slider")
    (before,) = number(page, "generalization error")
    slider.press("ArrowRight")
    until(page, lambda: number(page, "generalization error") != [before])
    load = float(fragment(page)["load"])
    assert load > 30
    result = tl.equilibrium.states(tl.Erf(), 2, load)[0]
    (shown,) = number(page, "generalization error")
    assert float(shown) == float(f"{result.generalization_error:.6g}")
    (shown,) = number(page, "unspecialized state is unstable")
    assert float(shown.split(" ± ")[0]) == pytest.approx(
        float(tl.equilibrium.transitions(tl.Erf(), 2).unstable.value), rel=1e-9
    )
    assert watched.complaints == []
    page.context.close()


@pytest.mark.slow
def test_a_phone_shows_one_panel_after_the_other(opened):
    page = opened("view=online&compare=1", **PHONE)
    page.get_by_role("button", name="next panel").click()
    expect(page.locator(".pager span").last).to_have_text("2 of 2")
    for i in (1, 3):
        assert 0 < page.locator(".panel").nth(i).bounding_box()["x"] < 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_curves_of_a_panel_look_different(scheme, opened):
    page = opened("view=online&K=4", color_scheme=scheme)
    looks = page.locator(".plot").first.evaluate("p => p.data.map(t => t.line.color + t.line.dash)")
    assert len(set(looks)) == len(looks) == 12


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_formulas_of_the_heading_are_seen_whole(size, opened):
    """A screenshot does not change when overflowing parts are made visible."""
    for view in NAMES:
        page = opened(f"view={view}", **size)
        formula = page.locator("#formula")
        if not formula.is_visible():
            continue
        assert formula.evaluate("p => p.scrollWidth <= p.clientWidth"), view
        box = formula.bounding_box()
        clip = {
            "x": box["x"],
            "y": box["y"] - 6,
            "width": box["width"],
            "height": box["height"] + 12,
        }
        cut = page.screenshot(clip=clip)
        formula.evaluate("p => { p.style.overflow = 'visible'; }")
        page.evaluate(FRAMES)
        assert page.screenshot(clip=clip) == cut, view
        formula.evaluate("p => { p.style.overflow = ''; }")


def test_the_last_number_of_an_axis_is_seen(opened):
    page = opened("view=online")
    texts = page.locator(".plot").first.evaluate(
        """async (plot) => {
          await Plotly.relayout(plot, {"xaxis.range": [0, 2000]});
          const seen = (t) => getComputedStyle(t).display !== "none"
            && getComputedStyle(t).visibility !== "hidden" && getComputedStyle(t).opacity > 0;
          return [...plot.querySelectorAll(".xtick text")].filter(seen).map((t) => t.textContent);
        }"""
    )
    assert texts[0] == "0" and texts[-1] == "2000"


def test_every_point_of_a_curve_is_drawn(opened):
    """Plotly simplifies lines by default, which leaves visible corners."""
    page = opened("view=online")
    curve = page.locator(".plot").nth(1)
    path = curve.locator(".scatterlayer .js-line").first.get_attribute("d")
    points = curve.evaluate("p => p.data[0].x.length")
    assert len(re.findall("[ML]", path)) == points == 120


def test_curves_on_top_of_each_other_are_one_with_both_names(opened):
    """R12 and R21 differ at small α only, which a logarithmic axis shows."""
    page = opened("view=activation")
    assert drawn(page, 2)["names"] == ["R12, R21", "R22"]
    legend = page.get_by_label("curves of On top of each other")
    expect(legend.get_by_role("button")).to_have_text(["R12, R21", "R22"])
    page.get_by_role("button", name="log x axis of On top").click()
    until(page, lambda: drawn(page, 2)["names"] == ["R12", "R21", "R22"])


def test_what_is_of_an_older_setting_is_dimmed(opened, server):
    page = opened("view=online")
    old = re.compile(r"\bold\b")
    for place in ("#numbers", "#messages", "#stage"):
        expect(page.locator(place)).not_to_have_class(old)
    server.delay = 2.0
    page.get_by_label("noise, slider").fill("0.7")
    for place in ("#numbers", "#messages", "#stage"):
        expect(page.locator(place)).to_have_class(old)
    server.delay = 0.0
    for place in ("#numbers", "#messages", "#stage"):
        expect(page.locator(place)).not_to_have_class(old)


def test_paper_is_light_and_has_no_controls(opened):
    page = opened("view=online", color_scheme="dark")
    colour = "p => p.data[0].line.color"
    on_screen = page.locator(".plot").first.evaluate(colour)
    assert on_screen != "#0072b2"
    page.emulate_media(media="print")
    until(page, lambda: page.locator(".plot").first.evaluate(colour) == "#0072b2")
    expect(page.get_by_text("learning rate η = 1")).to_be_visible()  # what was set, in words
    assert not page.locator("#controls").is_visible()
    page.emulate_media(media="screen")
