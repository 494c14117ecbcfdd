"""The figures of tian2020 show what the paper says of them, at sizes that take seconds."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.animation import PillowWriter

import tutelage as tl
from tutelage import results
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import figures as tian2020_figures, trainings as tian2020_trainings
from tutelage.papers.tian2020.drawing import boundary_animation
from tutelage.papers.tian2020.sections import SECTIONS

DRAWN = ["fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig11", "fig12"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Everything of a quick run, section by section."""
    found = {section.name: list(section.compute(False)) for section in SECTIONS}
    film = next(part.film for part in found["fig2"] if isinstance(part, Figure))
    # matplotlib warns of films that nobody has looked at.
    film.save(tmp_path_factory.mktemp("film") / "plane.gif", writer=PillowWriter(fps=8), dpi=20)
    yield found
    plt.close("all")


@pytest.mark.slow
def test_every_figure_has_data_that_can_be_saved(parts, tmp_path):
    for name in DRAWN:
        (figure,) = [part for part in parts[name] if isinstance(part, Figure)]
        data = figure.data[""]
        results.save(data, tmp_path / f"{name}.nc")
        assert results.load(tmp_path / f"{name}.nc").sizes == data.sizes


@pytest.mark.slow
def test_a_file_gives_the_same_rows(parts, tmp_path):
    """A machine with a GPU may train, and this one draw."""
    results.save(tian2020_trainings.recovery(False), tmp_path / "recovery.nc")
    opened = results.load(tmp_path / "recovery.nc")
    rows = [
        part for part in tian2020_figures.recovered(opened, False) if not isinstance(part, Figure)
    ]
    assert rows == [part for part in parts["fig5"] if not isinstance(part, Figure)]


@pytest.mark.slow
def test_strong_teacher_nodes_are_learned_first():
    """Figures 5 and 7: in every run the strongest node is followed better than the weakest."""
    study = tian2020_trainings.recovery(False).sel(multiple=5, polarity=2.5, epoch=40)
    best = study["teacher_correlation_1"]
    assert bool((best.isel(teacher_1=0) > best.isel(teacher_1=-1)).all())
    rate = tl.deep.recovery_rate(study)
    assert float(rate[0]) == 1.0 and float(rate[-1]) == 0.0


@pytest.mark.slow
def test_nodes_that_follow_nobody_have_a_small_fan_out():
    """Figure 3, five times over-realized: the shape of an L."""
    study = tian2020_trainings.nodes(False).sel(multiple=5, polarity=0.0).isel(epoch=-1)
    ρ, strength = (
        study[f"{name}_1"].values.ravel() for name in ("student_correlation", "strength")
    )
    assert np.nanmean(strength[ρ < 0.5]) < 0.2 * np.nanmean(strength[ρ > 0.95])


def test_students_in_the_plane_find_both_teacher_nodes():
    """Figure 2: filters of two student nodes turn to those of the teacher, in most starts.

    Not in all: test_deep_opposite.py.
    """
    teachers, paths, _ = tian2020_trainings.plane()
    found = []
    for teacher, path in zip(teachers, paths, strict=True):
        w, t = np.asarray(path.weights[0][-1]), np.asarray(teacher.weights[0])
        w, t = w / np.linalg.norm(w, axis=0), t / np.linalg.norm(t, axis=0)
        found.append((w.T @ t).max(axis=0) > 0.999)
    assert np.mean(found) > 0.9


def test_pictures_in_the_docs_have_data_with_them():
    """Those of the full run: what is drawn, which training it was, and where the lines end."""
    folder = Path(__file__).parents[2] / "docs" / "pictures"
    drawn = {file.stem: results.load(file) for file in folder.glob("tian2020_*.nc")}
    assert set(drawn) == {file.stem for file in folder.glob("tian2020_*.png")}
    rate = drawn["tian2020_fig5"]["recovered_1"].sel(epoch=100).mean(("run", "teacher_1"))
    # Section "At the paper's sizes" of docs/deep.md: 2x recovers most at every polarity.
    assert bool((rate.sel(multiple=2) == rate.max("multiple")).all())
    assert all(data.attrs["runs"] in (4, 16, 32) for data in drawn.values())


def test_the_film_of_figure_2_has_a_frame_for_each_student(tmp_path):
    teachers, paths, every = tian2020_trainings.plane()
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
