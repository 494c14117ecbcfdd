"""Figures of trainings and spectra draw the values of the Datasets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from PIL import Image

import tutelage as tl
from tutelage._checks import InputError
from tutelage.figures.eigenvalues import EigenvalueScale


def made_up(runs=6, seed=0):
    """Made-up training of six networks with 40 parameters."""
    random = np.random.default_rng(seed)
    epochs = np.array([0, 10, 100])
    scales = np.array([10.0, 1.0, 0.1])[:, None]
    λ = np.sort(random.normal(size=(runs, 3, 40)) * scales, axis=-1)
    λ[:, :, 18:20] = 0.0
    curve = (("run", "epoch"), np.sort(random.uniform(size=(runs, 3)), axis=1)[:, ::-1])
    spectra = (("run", "epoch", "eigenvalue"), λ)
    names = ("loss", "zero_residuals", "negative_fraction", "zero_fraction")
    return xr.Dataset(
        {**dict.fromkeys(names, curve), "eigenvalues": spectra},
        coords={"epoch": epochs},
        attrs={"tolerance": 1e-10},
    )


def test_a_curve_is_the_median_and_the_band_holds_four_fifths_of_the_runs():
    run = made_up(41)
    axes = tl.figures.training({"ReLU": run})
    (line,) = axes.lines
    np.testing.assert_allclose(line.get_ydata(), np.median(run["loss"], axis=0))
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    inside = (run["loss"] >= corners.min()) & (run["loss"] <= corners.max())
    assert float(inside.mean()) >= 0.8
    assert axes.get_legend().get_texts()[0].get_text() == "ReLU"


def test_a_single_run_has_no_band_and_no_legend():
    axes = tl.figures.training(made_up(1), which="zero_fraction")
    assert not axes.collections and axes.get_legend() is None
    assert axes.get_ylabel() == r"zero fraction $\gamma$"


def test_epochs_without_a_spectrum_are_left_out():
    run = made_up()
    run["zero_fraction"] = run["zero_fraction"].where(run["epoch"] != 10)
    axes = tl.figures.training(run, which="zero_fraction")
    assert axes.lines[0].get_xdata().tolist() == [0, 100]
    axes = tl.figures.index_against_loss(run, which="zero_fraction")
    assert len(axes.lines[1].get_xdata()) == 2


def test_the_zeros_of_a_spectrum_are_counted_at_every_tolerance():
    run = made_up()
    axes = tl.figures.index_against_tolerance({"a": run})
    tolerances, γ = axes.lines[0].get_data()
    exact = np.median(tl.spectra.zero_fraction(run["eigenvalues"].values[:, -1], tolerances), 0)
    np.testing.assert_allclose(γ, exact)
    assert γ[0] == 0.05 and γ[-1] == 1.0  # two of 40 are zero; all are below the largest
    assert axes.lines[1].get_xdata()[0] == 1e-10
    axes = tl.figures.index_against_tolerance(run, which="negative_fraction", epoch=10)
    tolerances, α = axes.lines[0].get_data()
    exact = np.median(tl.spectra.negative_fraction(run["eigenvalues"].values[:, 1], tolerances), 0)
    np.testing.assert_array_equal(α, exact)
    assert axes.get_ylabel() == r"negative fraction $\alpha$" and α[0] > 0.3 and α[-1] == 0.0


def test_every_ridge_is_an_epoch_and_begins_on_its_line():
    run = made_up()
    axes = tl.figures.eigenvalue_ridges(run)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0", "10", "100"]
    for place, line in enumerate(axes.lines[:3]):
        assert line.get_ydata().min() == pytest.approx(place, abs=1e-6)
        assert line.get_ydata().max() == pytest.approx(place + 1.6)
    wide = [
        np.ptp(line.get_xdata()[line.get_ydata() > p + 0.05])
        for p, line in enumerate(axes.lines[:3])
    ]
    assert wide[0] > wide[1] > wide[2]


def test_the_bent_coordinate_is_linear_near_zero_and_logarithmic_far_away():
    scale = EigenvalueScale(1e6)
    assert scale(0.01) == pytest.approx(0.01, rel=1e-4)  # the scale is 10⁻⁶ of the largest
    assert scale(1e4) - scale(1e3) == pytest.approx(np.log(10), rel=1e-4)
    assert scale(-5.0) == -scale(5.0)


def test_the_film_has_a_frame_for_each_epoch(tmp_path):
    path = tl.figures.eigenvalue_animation(
        {"a": made_up(), "b": made_up(seed=1)}, tmp_path / "a.gif", figsize=(3, 2)
    )
    with Image.open(path) as film:
        assert film.n_frames == 3 and film.size == (270, 180)
    assert not plt.get_fignums()


def test_a_density_is_drawn_with_its_error_and_the_exact_one():
    grid = np.linspace(-1, 1, 50)
    result = xr.Dataset(
        {
            "density": ("eigenvalue", np.full(50, 0.5)),
            "density_error": ("eigenvalue", 0.05 * (2 + grid)),
            "width": 0.1,
        },
        coords={"eigenvalue": grid},
    )
    axes = tl.figures.spectral_density(result, eigenvalues=[0.0])
    assert axes.lines[1].get_ydata().max() == pytest.approx(1 / (0.1 * np.sqrt(2 * np.pi)), 0.03)
    (band,) = axes.collections
    x, y = band.get_paths()[0].vertices.T
    for place, error in ((-1.0, 0.05), (1.0, 0.15)):
        edges = y[x == place]
        assert [edges.min(), edges.max()] == pytest.approx([0.5 - 2 * error, 0.5 + 2 * error])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run, _: tl.figures.training(run, which="lost"), "which: got 'lost'"),
        (
            lambda run, _: tl.figures.index_against_tolerance(run, which="loss"),
            "which: got 'loss'",
        ),
        (lambda run, path: tl.figures.eigenvalue_animation(run, path / "a.png"), "end in .gif"),
        (
            lambda run, path: tl.figures.eigenvalue_animation(
                run, path / "a.gif", frames_per_second=0
            ),
            "frames_per",
        ),
        (lambda run, _: tl.figures.eigenvalue_ridges(run.where(False)), "no spectrum"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message, tmp_path):
    with pytest.raises(InputError, match=message):
        call(made_up(), tmp_path)
