"""Figure 8 of tian2020: the lines are the means that they say they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from tutelage._checks import InputError
from tutelage.deep.images.record import as_dataset
from tutelage.figures import convnet as draw


@pytest.fixture
def study():
    random = np.random.default_rng(0)
    told = {}
    for multiple in (1, 5):
        for run in range(2):
            one = {"accuracy": random.uniform(0.5, 0.9, 4)}
            for layer, nodes in ((1, 3), (2, 4)):
                one[f"teacher_correlation_{layer}"] = random.uniform(0, 1, (4, nodes))
                one[f"winner_{layer}"] = random.integers(0, nodes, (4, nodes))
            told[multiple, run] = one
    return as_dataset({"seed": 0}, [0.9, 0.7, 0.8], told)


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
    assert row[-1].get_legend() is not None
    plt.close(row[0].figure)


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
