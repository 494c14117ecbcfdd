"""The figures of tian2020 show what the paper says of them, at sizes that take seconds."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import tutelage as tl
from tutelage import results
from tutelage.papers import tian2020_figures


@pytest.fixture(scope="module")
def drawn():
    found = {}
    for figure in tian2020_figures.figures():
        found[figure.name] = figure.data[""]
        plt.close(figure.picture)
    return found


@pytest.mark.slow
def test_every_figure_has_data_that_can_be_saved(drawn, tmp_path):
    assert list(drawn) == [f"fig{n}" for n in (2, 3, 4, 5, 6, 7, 11)]
    for name, data in drawn.items():
        results.save(data, tmp_path / f"{name}.nc")
        assert results.load(tmp_path / f"{name}.nc").sizes == data.sizes


@pytest.mark.slow
def test_strong_teacher_nodes_are_learned_first(drawn):
    """Figures 5 and 7: in every run the strongest node is followed better than the weakest."""
    study = drawn["fig7"].sel(multiple=5, polarity=2.5, epoch=40)
    best = study["teacher_correlation_1"]
    assert bool((best.isel(teacher_1=0) > best.isel(teacher_1=-1)).all())
    rate = tl.deep.recovery_rate(study)
    assert float(rate[0]) == 1.0 and float(rate[-1]) == 0.0


@pytest.mark.slow
def test_nodes_that_follow_nobody_have_a_small_fan_out(drawn):
    """Figure 3, five times over-realized: the shape of an L."""
    study = drawn["fig3"].sel(multiple=5, polarity=0.5, epoch=40)
    ρ, strength = (
        study[f"{name}_1"].values.ravel() for name in ("student_correlation", "strength")
    )
    assert np.mean(strength[ρ < 0.5]) < 0.2 * np.mean(strength[ρ > 0.95])


@pytest.mark.slow
def test_students_in_the_plane_find_both_teacher_nodes(drawn):
    """Figure 2: the boundaries of two student nodes end on those of the teacher."""
    last = drawn["fig2"].isel(record=-1)
    w, t = last["weights"].values, last["teacher_weights"].values
    w, t = w / np.linalg.norm(w, axis=0), t / np.linalg.norm(t, axis=0)
    assert np.all((w.T @ t).max(axis=0) > 0.999)
