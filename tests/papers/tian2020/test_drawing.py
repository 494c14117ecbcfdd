"""Pictures of tian2020: what is drawn is what is in the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from made_up_runs import two_layers
from matplotlib.text import Text

import tutelage as tl
from tutelage._checks import InputError
from tutelage.deep.images.record import as_dataset
from tutelage.papers.tian2020 import drawing, drawing_images as draw


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def study():
    random = np.random.default_rng(0)
    message = {}
    for multiple in (1, 5):
        for run in range(2):
            one = {"accuracy": random.uniform(0.5, 0.9, 4)}
            for layer, nodes in ((1, 3), (2, 4)):
                one[f"teacher_correlation_{layer}"] = random.uniform(0, 1, (4, nodes))
                one[f"winner_{layer}"] = random.integers(0, nodes, (4, nodes))
            message[multiple, run] = one
    return as_dataset({"seed": 0}, [0.9, 0.7, 0.8], message)


def test_panels_have_the_mean_best_correlation_of_every_layer(study):
    row = draw.specialization_on_images(study)
    assert len(row) == 2
    for ax, multiple in zip(row, (1, 5), strict=True):
        lines = {line.get_label(): line for line in ax.get_lines()}
        assert list(lines) == ["layer-0", "layer-1"]
        for layer, line in enumerate(lines.values(), start=1):
            raw = study[f"teacher_correlation_{layer}"].sel(multiple=multiple).values
            np.testing.assert_allclose(line.get_ydata(), raw.mean(axis=(0, 2)), rtol=1e-12)
        right = 100 * study["accuracy"].sel(multiple=multiple).values[:, -1]
        title = f"{multiple}x, Avg/Max eval accuracy: {right.mean():.2f}% / {right.max():.2f}%"
        assert ax.get_title() == title
    (legend,) = row[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["layer-0", "layer-1"]
    plt.close(row[0].figure)


@pytest.mark.parametrize(("style", "width"), [("screen", 8.4), ("paper", 8.4 * 8 / 11)])
def test_a_picture_of_a_paper_has_the_size_of_the_style(study, style, width):
    with tl.figures.style(style):
        figure = draw.specialization_on_images(study)[0].figure
        wide = drawing.specialization_of_layers(two_layers(), [0, 5, 10])[0, 0].figure
    assert figure.get_figwidth() == pytest.approx(width)
    assert wide.get_figwidth() == pytest.approx(8.8 if style == "screen" else 6.4)
    assert all(text.get_fontsize() >= 7.0 for text in figure.findobj(Text))


def test_runs_that_were_interrupted_do_not_count(study):
    study["accuracy"][0, 1, -1] = np.nan
    only = float(study["accuracy"][0, 0, -1])
    assert draw.accuracies(study, 1) == (only, only)
    study["accuracy"][0, 0, -1] = np.nan
    assert np.isnan(draw.accuracies(study, 1)).all()


def test_accuracies_are_drawn_in_percent_with_that_of_the_teacher(study):
    ax = draw.accuracy_over_epochs(study)
    one, five, teacher = ax.get_lines()
    np.testing.assert_allclose(five.get_ydata(), 100 * study["accuracy"][1].mean("run"))
    assert one.get_label() == "1x" and set(teacher.get_ydata()) == {80.0}
    plt.close(ax.figure)


def test_other_data_are_refused(study):
    with pytest.raises(InputError, match="training on images"):
        draw.specialization_on_images(xr.Dataset({"x": 1}))
    with pytest.raises(InputError, match="multiple: got 3, but there are 1, 5"):
        draw.layer_correlations(study, 3)


def test_layers_are_drawn_from_the_bottom_up():
    grid = drawing.specialization_of_layers(two_layers(), [0, 10])
    assert grid.shape == (2, 2)
    assert grid[0, 1].get_title() == "epoch 10"
    assert grid[1, 0].get_ylabel().startswith("layer 1")


def test_followers_have_a_curve_for_each_student_node():
    ds = two_layers()
    lines = drawing.followers(ds, teacher=1, run=1, layer=2).get_lines()
    assert len(lines) == 6
    assert np.array_equal(lines[4].get_ydata(), ds.correlation_2[1, :, 4, 1])


def test_boundaries_are_where_a_node_begins_to_fire():
    teacher = tl.deep.teacher(2, inputs=2, outputs=3, data="gaussian:1")
    student = tl.deep.student(teacher, 3)
    axes = drawing.boundaries(student, teacher)
    lines = axes.get_lines()
    assert len(lines) == 8 and len(axes.get_legend().get_texts()) == 6
    points = np.stack([lines[3].get_xdata(), lines[3].get_ydata()], axis=1)
    assert np.max(np.abs(np.asarray(student.fields(points)[0])[:, 1])) < 1e-12


def test_the_loss_is_a_mean_over_runs():
    loss = np.log10(two_layers().evaluation_loss).mean("run").expand_dims(multiple=[1, 5])
    lines = drawing.log_loss(loss).get_lines()
    assert [line.get_label() for line in lines] == ["1x", "5x"]
    assert all(np.array_equal(line.get_ydata(), loss[0]) for line in lines)


def test_followers_need_all_correlations():
    with pytest.raises(tl.InputError, match=r"^dataset"):
        drawing.followers(two_layers().drop_vars("correlation_1"))
