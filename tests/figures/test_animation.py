"""The animation of a run: one picture for each time, and those of the run."""

import numpy as np
import pytest
import xarray as xr
from PIL import Image

import tutelage as tl


def made_up(count=5, last=1.0):
    """Two students that learn two teachers, one after the other; ``last`` is the last overlap."""
    grown = np.linspace(0, 1, count)[:, None, None]
    R = grown * np.eye(2)
    R[-1, 0, 0] = last
    return xr.Dataset(
        {
            "Q": (("time", "student", "student_2"), np.where(np.isfinite(R), R, np.nan)),
            "R": (("time", "student", "teacher"), R),
            "generalization_error": ("time", np.geomspace(1, 1e-4, count)),
        },
        {"time": np.linspace(0, 10, count), "student": [1, 2], "teacher": [1, 2]},
    )


def test_there_is_a_picture_for_each_time_and_the_last_one_stays(tmp_path):
    path = tl.figures.animation(
        made_up(), tmp_path / "a.gif", frames=4, frames_per_second=10, figsize=(3, 2)
    )
    with Image.open(path) as film:
        assert film.size == (300, 200)
        durations = []
        for frame in range(film.n_frames):
            film.seek(frame)
            durations.append(film.info["duration"])
    assert durations == [100, 100, 100, 1600]


def test_cells_have_the_colours_of_the_overlaps(tmp_path):
    path = tl.figures.animation(made_up(), tmp_path / "a.gif", frames=2)
    with Image.open(path) as film:
        colours = []
        for frame in range(2):
            film.seek(frame)
            colours.append(np.asarray(film.convert("RGB"), int).reshape(-1, 3))
    # R = 1 in the last picture alone: the end of the colour map, dark red.
    dark_red = (103, 0, 31)
    near = [int((abs(frame - dark_red).max(1) <= 8).sum()) for frame in colours]
    assert near[1] > near[0] + 1000  # pixels


def test_a_run_that_diverged_ends_where_it_is_finite(tmp_path):
    path = tl.figures.animation(made_up(last=np.nan), tmp_path / "a.gif", frames=10)
    with Image.open(path) as film:
        assert film.n_frames == 4
    with pytest.raises(tl.InputError, match="run"):
        tl.figures.animation(made_up(1, np.nan), tmp_path / "a.gif")


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(tl.InputError, match=r"end in .gif"):
        tl.figures.animation(made_up(), tmp_path / "a.png")
