"""Layout of every figure in both styles: no overlapping or cut text, no legend on data."""

import inspect
import os
import subprocess
import sys
from io import BytesIO
from itertools import combinations

import made_up_figures
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_up_figures import EVERY
from matplotlib.text import Text

import tutelage as tl
from tutelage._checks import InputError
from tutelage.figures import eigenvalue_frames, run_animation
from tutelage.figures.style import _load_backend, new_grid
from tutelage.figures.text import GAP_POINTS, finish, share_legend

STYLES = ("screen", "paper")
# In the fast tests every figure is drawn in one style, and the next one in the other.
DRAWN = [
    pytest.param(name, style, marks=[pytest.mark.slow] * ((place + number) % 2))
    for place, name in enumerate(EVERY)
    for number, style in enumerate(STYLES)
]
MAX_OVERLAP_PIXELS = 1.0  # letters do not fill their boxes


def test_every_figure_is_among_those_drawn_here():
    names = {name for name in tl.figures.__all__ if name not in ("style", "caption")}
    assert names - {"animation", "eigenvalue_animation"} == {
        name.partition(" ")[0] for name in EVERY
    }


def drawn_texts(figure, monkeypatch):
    """Return all drawn texts with their bounding boxes in pixels."""
    texts, draw = [], Text.draw

    def recording(self, renderer):
        if self.get_visible() and self.get_text().strip():
            texts.append(self)
        draw(self, renderer)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", recording)
        figure.canvas.draw()
    # The box of an annotation would include the line to its point.
    return {text: Text.get_window_extent(text) for text in dict.fromkeys(texts)}


@pytest.mark.parametrize(("name", "style"), DRAWN)
def test_every_figure_is_legible_in_both_styles(name, style, monkeypatch):
    """Each figure is drawn once per style, because drawing is slow."""
    with tl.figures.style(style):
        axes = EVERY[name]()
        words = tl.figures.caption(axes)
        figure = np.ravel(axes)[0].get_figure(root=True)
        boxes = drawn_texts(figure, monkeypatch)
    assert words.endswith(".") and "$" not in words
    check_no_text_is_cut(figure, boxes)
    check_no_text_on_text(boxes)
    check_no_legend_on_data(figure)
    check_sizes(figure, boxes, style)
    titles = [axes.get_title() for axes in figure.axes] + [figure.get_suptitle()]
    assert all("\n" not in title for title in titles)


def first_frame_of_a_run():
    return run_animation.first_picture(made_up_figures.run(5, 5), None)[0]


def last_frame_of_spectra():
    axes = plt.subplots(layout="constrained")[1]
    film = eigenvalue_frames.animate_eigenvalues(made_up_figures.TRAININGS, axes)
    film._func(12)
    return axes.figure


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("frame", [first_frame_of_a_run, last_frame_of_spectra])
def test_frames_of_animations_are_legible_in_both_styles(frame, style, monkeypatch):
    with tl.figures.style(style):
        figure = frame()
        figure.canvas.draw()
        boxes = drawn_texts(figure, monkeypatch)
    check_no_text_is_cut(figure, boxes)
    check_no_text_on_text(boxes)
    check_no_legend_on_data(figure)


def check_no_text_is_cut(figure, boxes):
    assert boxes
    page = figure.bbox
    for text, box in boxes.items():
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, f"{text.get_text()!r} is cut"


def check_no_text_on_text(boxes):
    for (a, box), (b, other) in combinations(boxes.items(), 2):
        width = min(box.x1, other.x1) - max(box.x0, other.x0)
        height = min(box.y1, other.y1) - max(box.y0, other.y0)
        overlap = width > MAX_OVERLAP_PIXELS and height > MAX_OVERLAP_PIXELS
        assert not overlap, f"{a.get_text()!r} lies on {b.get_text()!r}"


def check_no_legend_on_data(figure):
    panels = [axes.get_window_extent() for axes in figure.axes]
    for legend in filter(None, (axes.get_legend() for axes in figure.axes)):
        box = legend.get_window_extent()
        assert not any(box.padded(-1).overlaps(panel) for panel in panels)


def check_sizes(figure, boxes, style):
    """Journals ask for letters of at least 7 pt, and columns are 3.39 in wide."""
    assert min(text.get_fontsize() for text in boxes) >= 7.0
    if style == "paper" and len(figure.axes) == 1:
        assert figure.get_figwidth() == 3.39


def test_every_figure_takes_axes_or_a_size():
    """A single picture takes Axes, several panels and animations take a size."""
    for name in {*tl.figures.__all__} - {"style", "caption"}:
        parameters = inspect.signature(getattr(tl.figures, name)).parameters
        assert {"axes", "figsize"} & set(parameters), name


@pytest.mark.parametrize(
    "function",
    [
        lambda size: tl.figures.learning_curves(made_up_figures.run(), figsize=size),
        lambda size: tl.figures.comparison(made_up_figures.comparison(), figsize=size),
        lambda size: tl.figures.prediction(made_up_figures.prediction(), figsize=size),
    ],
)
def test_panels_have_the_requested_size(function):
    assert function((7.0, 3.0))[0].figure.get_size_inches().tolist() == [7.0, 3.0]
    for wrong in ((7.0,), 7.0, (7.0, -1.0), "wide"):
        with pytest.raises(InputError, match="figsize"):
            function(wrong)


@pytest.mark.parametrize(("style", "size"), [("screen", (15.0, 6.0)), ("paper", (7.05, 48 / 11))])
def test_grids_of_a_report_have_the_width_of_a_page_and_one_legend(style, size, monkeypatch):
    """All panels have the first entries, the last one also another."""
    with tl.figures.style(style):
        figure, grid = new_grid(1, 3, (15.0, 6.0))
        assert figure.get_size_inches() == pytest.approx(size)
        for axes in grid.flat:
            axes.plot([0, 1], [0, 1], label="theory")
            axes.plot([0, 1], [1, 0], label="a simulation of many networks")
            axes.set(xlabel="time", ylabel="error")
            if axes is grid[-1]:
                axes.axhline(0.5, label="plateau")
            finish(axes)
        share_legend(grid.ravel())
        boxes = drawn_texts(figure, monkeypatch)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["theory", "a simulation of many networks", "plateau"]
    assert not any(axes.get_legend() for axes in grid.flat)
    check_no_text_is_cut(figure, boxes)
    check_no_text_on_text(boxes)
    box = legend.get_window_extent()
    assert not any(box.padded(-1).overlaps(axes.get_window_extent()) for axes in grid.flat)
    added = box.height / figure.dpi + GAP_POINTS / 72
    assert figure.get_figheight() == pytest.approx(size[1] + added, abs=0.02)


def test_settings_of_the_user_are_left_alone():
    with matplotlib.rc_context({"font.size": 17, "lines.linewidth": 3.5}):
        axes = EVERY["error"]()
    assert axes.xaxis.label.get_fontsize() == 17 and axes.lines[0].get_linewidth() == 3.5
    assert axes.figure.get_size_inches().tolist() == [6.0, 3.8]  # of the style


def test_the_style_does_not_outlast_a_figure():
    before = dict(matplotlib.rcParams)
    EVERY["overlaps"]()
    with tl.figures.style("paper"):
        pass
    assert dict(matplotlib.rcParams) == before


BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import *
from matplotlib.backends.backend_agg import _BackendAgg
matplotlib.interactive(True)
"""
FIRST_FIGURE = """
import matplotlib, xarray, tutelage
curve = xarray.Dataset({"generalization_error": ("time", [1.0, 0.5])}, {"time": [0.0, 1.0]})
tutelage.figures.error(curve)
assert matplotlib.is_interactive()
"""


def test_a_backend_is_loaded_before_the_style_of_the_first_figure(tmp_path, monkeypatch):
    """In this process, as if it had drawn nothing before."""
    (tmp_path / "another_backend.py").write_text(BACKEND)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plt, "_backend_mod", None)
    monkeypatch.setitem(matplotlib.rcParams, "backend", "module://another_backend")
    monkeypatch.setitem(matplotlib.rcParams, "interactive", False)
    _load_backend.cache_clear()
    try:
        EVERY["error"]()
        assert matplotlib.is_interactive()
    finally:
        plt.switch_backend("agg")


@pytest.mark.slow
def test_the_interactive_mode_of_a_backend_outlasts_the_first_figure(tmp_path):
    """The backend of notebooks switches it on when it is loaded: by the first figure."""
    (tmp_path / "made_up_backend.py").write_text(BACKEND)
    variables = {**os.environ, "MPLBACKEND": "module://made_up_backend"}
    variables["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", FIRST_FIGURE], env=variables, check=True, timeout=120)


def test_a_figure_drawn_later_has_the_style_of_its_making():
    """Matplotlib creates ticks when a figure is drawn, after the style block has ended."""
    with tl.figures.style("paper"):
        axes = EVERY["error"]()
    axes.figure.savefig(BytesIO())
    sizes = {label.get_fontsize() for label in axes.get_xticklabels()}
    assert sizes == {7.5}


def test_both_are_styles_of_matplotlib_by_name():
    for name in STYLES:
        with plt.style.context(f"tutelage.{name}"):
            by_name = dict(matplotlib.rcParams)
        with tl.figures.style(name):
            assert dict(matplotlib.rcParams) == by_name


def test_paper_differs_from_the_defaults_wherever_screen_does():
    """Otherwise `default_style` would replace settings of the style "paper"."""
    from tutelage.figures.style import _settings

    screen, paper = _settings("screen"), _settings("paper")
    defaults = matplotlib.rcParamsDefault
    assert {key for key in screen if screen[key] != defaults[key] == paper[key]} == set()
    assert set(screen) <= set(paper)


def test_an_unknown_style_is_refused():
    with pytest.raises(InputError, match=r"name: got 'slide'.*'screen', 'paper'"):
        tl.figures.style("slide")
