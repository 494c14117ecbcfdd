"""Both styles: no text on text, none cut, no legend on data, for every figure."""

import inspect
from io import BytesIO
from itertools import combinations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_up_figures import EVERY
from matplotlib.text import Text

import tutelage as tl
from tutelage._checks import InputError

STYLES = ("screen", "paper")
TOUCHING = 1.0  # pixels by which boxes of neighbours may meet: letters do not fill their boxes


def test_every_figure_is_among_those_drawn_here():
    names = {name for name in tl.figures.__all__ if name not in ("style", "caption")}
    assert names - {"eigenvalue_animation"} == {name.partition(" ")[0] for name in EVERY}


def drawn_texts(figure, monkeypatch):
    """All texts that are really drawn, with their boxes in pixels."""
    texts, draw = [], Text.draw

    def recording(self, renderer):
        if self.get_visible() and self.get_text().strip():
            texts.append(self)
        draw(self, renderer)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", recording)
        figure.canvas.draw()
    return {text: text.get_window_extent() for text in dict.fromkeys(texts)}


@pytest.fixture(params=[(s, name) for s in STYLES for name in EVERY], ids=" ".join)
def figure(request):
    style, name = request.param
    with tl.figures.style(style):
        axes = EVERY[name]()
        assert tl.figures.caption(axes).endswith(".")
        yield np.ravel(axes)[0].get_figure(root=True)


def test_no_text_is_cut_or_lies_on_another_and_no_legend_on_data(figure, monkeypatch):
    figure.canvas.draw()
    boxes = drawn_texts(figure, monkeypatch)
    assert boxes
    page = figure.bbox
    for text, box in boxes.items():
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, f"{text.get_text()!r} is cut"
    for (a, box), (b, other) in combinations(boxes.items(), 2):
        width = min(box.x1, other.x1) - max(box.x0, other.x0)
        height = min(box.y1, other.y1) - max(box.y0, other.y0)
        on = width > TOUCHING and height > TOUCHING
        assert not on, f"{a.get_text()!r} lies on {b.get_text()!r}"
    panels = [axes.get_window_extent() for axes in figure.axes]
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is not None:
            box = legend.get_window_extent()
            assert not any(box.padded(-1).overlaps(panel) for panel in panels)


def test_letters_have_the_size_that_journals_ask_for(figure, monkeypatch):
    smallest = min(text.get_fontsize() for text in drawn_texts(figure, monkeypatch))
    assert smallest >= 7.0
    single = len(figure.axes) == 1
    if plt.rcParams["font.size"] == 8 and single:
        assert figure.get_figwidth() == 3.39


def test_titles_have_one_line(figure):
    titles = [axes.get_title() for axes in figure.axes] + [figure.get_suptitle()]
    assert all("\n" not in title for title in titles)


def test_every_figure_takes_axes_or_a_size():
    """One picture is drawn on the Axes of the caller, several panels have a size."""
    for name in {name.partition(" ")[0] for name in EVERY}:
        parameters = inspect.signature(getattr(tl.figures, name)).parameters
        assert {"axes", "figsize"} & set(parameters), name


@pytest.mark.parametrize("name", ["learning_curves", "comparison", "prediction"])
def test_the_size_of_panels_is_that_of_the_argument(name):
    made = EVERY[name].__code__.co_consts
    assert made is not None
    found = {
        "learning_curves": lambda size: tl.figures.learning_curves(_run(), figsize=size),
        "comparison": lambda size: tl.figures.comparison(_comparison(), figsize=size),
        "prediction": lambda size: tl.figures.prediction(_prediction(), figsize=size),
    }[name]
    assert found((7.0, 3.0))[0].figure.get_size_inches().tolist() == [7.0, 3.0]
    for wrong in ((7.0,), 7.0, (7.0, -1.0), "wide"):
        with pytest.raises(InputError, match="figsize"):
            found(wrong)


def _run():
    from made_up_figures import run

    return run()


def _comparison():
    from made_up_figures import CURVE, RUNS, compare

    return compare(CURVE, RUNS)


def _prediction():
    from made_up_figures import prediction

    return prediction()


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


def test_a_figure_drawn_later_has_the_style_of_its_making():
    """Ticks are made when a figure is drawn, after the style has ended."""
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
    """So that `default_style` does not take its settings for defaults."""
    from tutelage.figures.style import _settings

    screen, paper = _settings("screen"), _settings("paper")
    defaults = matplotlib.rcParamsDefault
    assert {key for key in screen if screen[key] != defaults[key] == paper[key]} == set()
    assert set(screen) <= set(paper)


def test_an_unknown_style_is_refused():
    with pytest.raises(InputError, match=r"name: got 'slide'.*'screen', 'paper'"):
        tl.figures.style("slide")
