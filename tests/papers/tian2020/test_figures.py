"""The figures of tian2020: the recorded data of full runs, and rows and pictures made from them."""

from math import comb
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.animation import PillowWriter

import tutelage as tl
from tutelage.papers import recorded
from tutelage.papers.row import Row
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY, descents, readings, reduced, trainings
from tutelage.papers.tian2020.drawing import boundary_animation
from tutelage.papers.tian2020.sections import SECTIONS

FILES = sorted((Path(recorded.__file__).parent / KEY / recorded.FOLDER).glob("*.nc"))
BY_NAME = {section.name: section for section in SECTIONS}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_recorded_data_have_their_provenance_and_are_small(file):
    data = recorded.load_recorded(KEY, file.stem)
    for name in ("command", "machine", "seed", "commit", "jax_version", "looks", "runs"):
        assert name in data.attrs
    assert "computed_by" not in data.attrs  # it is a part of what `deep.train` gives
    assert data.sizes["run"] == data.attrs["runs"] and file.stat().st_size < 200_000
    assert data.attrs["command"].startswith(
        ("python benchmarks/gpu/", "python benchmarks/tian2020.py ")
    )
    assert str(recorded.describe_origin(data)).count(str(data.attrs["machine"])) == 1


def test_every_training_is_recorded_in_every_setting():
    names = {
        f"{name}_{setting}" for name, all_of in trainings.SETTINGS.items() for setting in all_of
    }
    assert names | {"images_divided", "images_same"} == {file.stem for file in FILES}


def rows(name, full=False):
    return [part for part in BY_NAME[name].compute(full) if isinstance(part, Row)]


@pytest.mark.parametrize("name", ["fig5", pytest.param("fig4", marks=pytest.mark.slow)])
def test_recorded_rows_are_marked_and_tell_the_outcome_in_each_setting(name):
    result = rows(name)
    for row in result:
        assert "benchmarks/gpu/tian2020.py" in row.recorded and "NVIDIA H200" in row.recorded
        assert "authors' code: " in row.note and "Sec. 8.16: " in row.note
    printed_only = {row.verdict for row in result} - {"in our reading"}
    assert printed_only == {"agrees", "depends"}


def test_wide_students_recover_more_in_the_setting_of_the_authors_and_not_in_that_of_the_text():
    """Counted again from the records, without the functions that make the rows."""
    data = readings.load_recorded("recovery")
    more = {}
    for setting, one in data.items():
        nodes = one["recovered_1"].sel(shown=100).sum("teacher_1")
        more[setting] = (nodes.sel(multiple=10) - nodes.sel(multiple=1)).mean("run")
    for p in (1.0, 1.5, 2.0, 2.5):
        assert float(more["code"].sel(polarity=p)) > 1
    for p in (2.0, 2.5):
        assert float(more["text"].sel(polarity=p)) < -0.5
    starts = readings.load_recorded("starts")["text"]["recovered"].astype(int).sel(polarity=2.0)
    gain = (starts.sel(multiple=10) - starts.sel(multiple=1)).mean("run")
    assert float(gain.sel(start_scale=0.01)) > 1 and float(gain.sel(start_scale=1.0)) < -0.5


def test_a_full_run_reports_whether_recorded_rows_still_hold(monkeypatch):
    """Instead of a training: the records themselves, and records with the multiples exchanged."""
    before = readings.load_recorded("recovery")
    monkeypatch.setattr(readings, "trained", lambda name: before)
    assert all("which still holds" in row.note and not row.recorded for row in rows("fig5", True))
    turned = {name: one.isel(multiple=[3, 2, 1, 0]) for name, one in before.items()}
    turned = {name: one.assign_coords(multiple=[1, 2, 5, 10]) for name, one in turned.items()}
    monkeypatch.setattr(readings, "trained", lambda name: turned)
    second = rows("fig5", True)
    assert any("which no longer holds" in row.note for row in second)


@pytest.mark.parametrize("name", ["fig3", "fig7", "fig11"])
def test_every_figure_has_a_row_of_panels_for_each_setting(name):
    (figure,) = [part for part in BY_NAME[name].compute(False) if isinstance(part, Figure)]
    assert set(figure.data) == {"code", "text"}
    assert "authors' code" in figure.picture.axes[0].get_ylabel()


def made_up_runs(runs=4, epochs=(0, 1, 5, 100)):
    """Two layers, all multiples, with correlations that are known."""
    random = np.random.default_rng(0)
    shape = (4, 2, runs, len(epochs), 4)
    return xr.Dataset(
        {
            "teacher_correlation_1": (
                ("multiple", "polarity", "run", "epoch", "teacher_1"),
                random.uniform(0.5, 1.0, shape).astype(np.float32),
            ),
            "evaluation_loss": (
                ("multiple", "polarity", "run", "epoch"),
                10.0 ** -random.uniform(1, 6, shape[:-1]),
            ),
        },
        coords={"multiple": [1, 2, 5, 10], "polarity": [0.5, 2.5], "epoch": list(epochs)},
        attrs={"seconds": 1.0},
    )


def test_the_stored_part_of_a_training_equals_the_measurements():
    study = made_up_runs()
    stored = reduced.recovery(study)
    best = study.teacher_correlation_1
    assert np.array_equal(stored.recovered_1.sel(shown=5), (best.sel(epoch=5) > 0.95).astype(int))
    assert np.allclose(
        stored.log10_loss, np.log10(study.evaluation_loss.values).mean(axis=2), rtol=1e-6
    )
    assert np.array_equal(stored.evaluation_loss, study.evaluation_loss[..., -1])
    for p in range(2):
        for run in range(4):
            first = [
                next((e for e in range(4) if best[2, p, run, e, j] > 0.9), 4) for j in range(4)
            ]
            delay = np.mean(first[2:]) - np.mean(first[:2])
            assert float(stored.delay[p, run]) == pytest.approx(delay)


def test_looks_are_joined_and_counted():
    pair = readings.joined("recovery", [made_up_runs(), made_up_runs()])
    assert pair.sizes["run"] == pair.attrs["runs"] == 8 and pair.attrs["looks"] == 2


def test_the_least_specialized_quarter_is_weaker_in_an_l():
    ρ = xr.DataArray(np.linspace(0.1, 1.0, 8)[None], dims=("run", "student_1"))
    strength = xr.DataArray([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 2.0]], dims=("run", "student_1"))
    assert float(reduced.quarters(ρ, strength)[0]) == pytest.approx(0.1 / 1.5)


@pytest.mark.slow
def test_students_in_the_plane_find_both_teacher_nodes():
    """Figure 2: filters of two student nodes turn to those of the teacher, in most starts.

    Not in all: test_deep_opposite.py.
    """
    teachers, paths, _ = descents.plane()
    results = []
    for teacher, path in zip(teachers, paths, strict=True):
        w, t = np.asarray(path.weights[0][-1]), np.asarray(teacher.weights[0])
        w, t = w / np.linalg.norm(w, axis=0), t / np.linalg.norm(t, axis=0)
        results.append((w.T @ t).max(axis=0) > 0.999)
    assert np.mean(results) > 0.9


@pytest.mark.slow
def test_the_film_of_figure_2_has_a_frame_for_each_student(tmp_path):
    teachers, paths, every = descents.plane()
    short = type(paths[0])(
        tuple(W[:3] for W in paths[0].weights), tuple(b[:3] for b in paths[0].biases)
    )
    film = boundary_animation(short, teachers[0], every)
    file = tmp_path / "plane.gif"
    film.save(file, writer=PillowWriter(fps=8), dpi=40)
    plt.close("all")
    from PIL import Image

    with Image.open(file) as gif:
        assert gif.n_frames == 3
    with pytest.raises(tl.InputError, match=r"^path"):
        boundary_animation(teachers[0], teachers[0])


def test_narrow_students_that_recover_all_nodes_have_no_loss():
    """The abstract calls over-parameterization necessary: 62 of 64 runs do without, p = 0."""
    one = recorded.load_recorded(KEY, "recovery_code").sel(multiple=1, polarity=0.0)
    all_nodes = one["recovered_1"].sel(shown=100).all("teacher_1").values
    assert all_nodes.sum() == 62
    assert np.array_equal(one["evaluation_loss"].values < 1e-10, all_nodes)


def test_few_large_losses_decide_the_mean_of_equal_teacher_nodes():
    """By the sum over numbers of large losses, of runs that have one with the largest probability
    that Markov's inequality allows.
    """
    data = readings.load_recorded("recovery")["code"]["evaluation_loss"].sel(polarity=0.0)
    narrow, wide = (data.sel(multiple=m).values.astype(float) for m in (1, 10))
    large, n = int((narrow > 0.01).sum()), len(narrow)
    highest = (wide.mean() + 3 * wide.std(ddof=1) / np.sqrt(n)) / 0.01
    fewer = sum(comb(n, k) * highest**k * (1 - highest) ** (n - k) for k in range(large))
    assert large == 2 and 1 - fewer < 1e-4
    row = next(row for row in rows("fig11") if row.item.endswith("p = 0"))
    assert (
        row.verdict == "depends"
        and "authors' code, mean loss: 0.00072 ± 0.00051, agrees" in row.note
    )
    assert f"{1 - fewer:.0e}" in row.note
