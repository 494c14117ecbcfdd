"""A saved file is enough to train again, to the last bit."""

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage import InputError, results

SMALL = {"inputs": 4, "outputs": 3, "epochs": 2, "examples": 64, "evaluation": 50, "runs": 3}


@pytest.mark.parametrize(
    "options",
    [
        {"polarity": [0.5, 1 / 3], "seed": 9_999_999_999, "recorded": [0, 2]},  # more than 32 bits
        {"polarity": 1 / 3, "data": "uniform:1.23456789", "runs": 1},
        pytest.param(
            {"learning_rate": [(0, 0.1), (1, 0.05)], "start_scale": 0.3, "precision": "float32"},
            marks=pytest.mark.slow,
        ),
        pytest.param({"construction": "code", "steps": 9, "inputs": 6}, marks=pytest.mark.slow),
        pytest.param(
            {"polarity": 1.0, "data": "uniform:2", "fresh": False, "correlations": True},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_file_is_enough_to_train_again(tmp_path, options):
    saved = tl.deep.train("2-3", **{"multiple": 2} | SMALL | options)
    results.save(saved, tmp_path / "students.nc")
    recomputed = results.recompute(results.load(tmp_path / "students.nc"))
    xr.testing.assert_equal(recomputed, saved)
    assert recomputed.attrs == saved.attrs


def test_small_rows_are_stored_and_large_ones_refused():
    sizes = {"outputs": 3, "epochs": 1, "runs": 2}
    rows = np.random.default_rng(0).normal(size=(60, 4))
    saved = tl.deep.train(2, 2, inputs=4, data=rows, **sizes)
    xr.testing.assert_equal(results.recompute(saved), saved)
    many = np.random.default_rng(0).normal(size=(60, 200))
    with pytest.raises(InputError, match=r"^data: got an array"):
        results.recompute(tl.deep.train(2, 2, inputs=200, data=many, **sizes))


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match=r"no attribute 'hidden'"):
        results.recompute(xr.Dataset(attrs={"computed_by": "deep.train"}))
