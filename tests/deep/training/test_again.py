"""A file is enough to train again, to the last bit."""

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage import InputError, results

SMALL = {"inputs": 4, "outputs": 3, "epochs": [0, 2], "examples": 64, "evaluation": 50, "runs": 3}


@pytest.mark.parametrize(
    "options",
    [
        {"polarity": [0.5, 1 / 3], "seed": 9_999_999_999},  # more than 32 bits
        {"polarity": 1 / 3, "data": "uniform:1.23456789", "runs": 1},
        pytest.param(
            {"polarity": 1.0, "data": "uniform:2", "fresh": False, "correlations": True},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_file_is_enough_to_train_again(tmp_path, options):
    saved = tl.deep.train("2-3", 2, **SMALL | options)
    results.save(saved, tmp_path / "students.nc")
    again = results.recompute(results.load(tmp_path / "students.nc"))
    xr.testing.assert_equal(again, saved)
    assert again.attrs == saved.attrs


@pytest.mark.slow
def test_several_multiples_are_trained_again(tmp_path):
    saved = tl.deep.sweep(2, (1, 3), polarity=[0.5, 1.0], **SMALL)
    results.save(saved, tmp_path / "students.nc")
    again = results.recompute(results.load(tmp_path / "students.nc"))
    xr.testing.assert_equal(again, saved)


def test_one_polarity_of_several_is_trained_again():
    both = tl.deep.train("2-3", 2, polarity=[0.5, 1 / 3], **SMALL)
    for p in (0.5, 1 / 3):
        one = both.sel(polarity=p)
        xr.testing.assert_equal(results.recompute(one), one)
    with pytest.raises(InputError, match=r"^dataset: got polarities 0.5, 0.3333333333333333"):
        results.recompute(both.isel(polarity=0, drop=True))


def test_what_can_be_computed_again_is_named():
    with pytest.raises(InputError, match=r"spectra\.train, deep\.train, deep\.sweep can be"):
        results.recompute(xr.Dataset(attrs={"computed_by": "deep.online_deviation"}))


def test_an_array_is_not_kept():
    rows = np.random.default_rng(0).normal(size=(60, 4))
    saved = tl.deep.train(2, 2, inputs=4, outputs=3, epochs=1, runs=2, data=rows)
    with pytest.raises(InputError, match=r"^data: .*not an array"):
        results.recompute(saved)


@pytest.mark.parametrize("name", ["deep.train", "deep.sweep"])
def test_what_is_missing_is_named(name):
    with pytest.raises(InputError, match=r"no attribute 'teacher'"):
        results.recompute(xr.Dataset(attrs={"computed_by": name}))
