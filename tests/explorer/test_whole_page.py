"""All views with real results, wide and narrow, light and dark; runs; an exported page."""

from collections.abc import Iterator

import pytest
from browser import needs_chromium
from explorer.pages import PHONE, WIDE, Watched, drawn, faults, fragment, number, settled
from explorer.running import explorer

import tutelage as tl
from tutelage.explorer.views import VIEWS

sync = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[str]:
    """A server with a training to play back."""
    folder = tmp_path_factory.mktemp("trainings")
    small = {"inputs": 4, "outputs": 3, "epochs": 3, "examples": 64, "evaluation": 50, "runs": 2}
    tl.results.save(tl.deep.train(2, 2, **small), folder / "small.nc")
    with explorer("--workers", "2", "--files", str(folder), "--report", str(folder)) as result:
        yield result


@pytest.fixture
def opened(place, browser):
    used = []

    def open_(words, **options):
        watched = Watched(browser.new_context(**{**WIDE, **options}), place.partition("?")[0])
        used.append(watched)
        watched.page.goto(f"{place}#{words}")
        settled(watched.page)
        return watched.page

    yield open_
    for watched in used:
        watched.page.context.close()
        assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_fault(view, size, scheme, opened):
    page = opened(f"view={view}", **size, color_scheme=scheme)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]


def test_a_slider_of_online_learning_gives_what_the_library_gives(opened):
    page = opened(
        "view=online&activation=relu&K=2&M=2&teacher_norm=1&teacher_norm_last=1&until=20"
        "&start=given&start_q=0.2&start_q_last=0.3&start_r=0.001&learning_rate=1"
    )
    page.get_by_label("learning rate, slider").press("ArrowLeft")
    settled(page)
    rate = float(fragment(page)["learning_rate"])
    assert 0 < rate < 1
    two = tl.Committee(2, tl.ReLU())
    scenario = tl.Scenario(student=two, teacher=two)
    start = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 1e-3]], T=scenario.T)
    run = tl.online.evolve(scenario, start, rate, until=20)
    (shown,) = number(page, "last error")
    # Six digits are shown; the view integrates to 1e-8.
    assert float(shown) == pytest.approx(float(run.generalization_error[-1]), rel=2e-6)


def test_networks_are_drawn_on_the_theory_and_stop(opened):
    page = opened("view=online&until=20&dimension=100&runs=3")
    before = set(drawn(page)["names"])
    page.get_by_role("button", name="Run finite networks").click()
    for _ in range(1200):
        if before < set(drawn(page)["names"]):
            break
        page.wait_for_timeout(100)
    assert before < set(drawn(page)["names"])
    page.get_by_label("inputs of the networks, slider").press("End")
    page.get_by_role("button", name="Run finite networks").click()
    page.get_by_role("button", name="Stop the runs").click()
    sync.expect(page.locator("#status")).to_contain_text("Stopped", timeout=60_000)


def test_what_is_exported_works_from_the_disk(tmp_path, browser):
    file = tmp_path / "page.html"
    tl.explorer.export(str(file))
    watched = Watched(browser.new_context(**WIDE), file.as_uri())
    page = watched.page
    for view in ("online", "transitions", "activation"):
        page.goto(f"{file.as_uri()}#view={view}")
        settled(page)
        assert page.locator("nav a[aria-current]").get_attribute("data-view") == view
        assert len(page.locator("#numbers tr").all()) > 3
        assert faults(page) == []
    assert watched.complaints == []
    page.context.close()
