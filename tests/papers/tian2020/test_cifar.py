"""Figure 8 of tian2020: rows of recorded runs, and their comparison with a full run."""

import pytest

from tutelage.papers import recorded
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import KEY, cifar as tian2020_cifar

ITEMS = 6 + 10  # mean and greatest accuracy of three multiples; 2x and 5x in four layers, accuracy


def apart(pieces):
    import matplotlib.pyplot as plt

    pieces = list(pieces)
    figures = [one for one in pieces if isinstance(one, Figure)]
    for figure in figures:
        plt.close(figure.picture)
    return figures, [one for one in pieces if not isinstance(one, Figure)]


@pytest.mark.parametrize("full", [False, True])
def test_without_images_the_recorded_runs_are_shown_and_marked(full, tmp_path, monkeypatch):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    figures, rows = apart(tian2020_cifar.fig_8(full))
    assert len(figures) == 4 and len({row.item for row in rows}) == len(rows) == ITEMS
    assert all("benchmarks/gpu/cifar10.py" in row.recorded for row in rows)
    assert [row.verdict for row in rows[:6]] == ["not comparable"] * 6
    assert {row.verdict for row in rows[6:]} == {"agrees", "depends", "undecided"}
    # docs/cifar10.md, "A full run"
    assert rows[4].computed == pytest.approx(84.24, abs=0.01) and rows[4].printed == "83.85"


def test_accuracy_of_wide_students_is_greater_in_every_run_and_reading():
    for name in ("same", "divided"):
        last = recorded.load_recorded(KEY, f"images_{name}")["accuracy"].isel(epoch=-1)
        assert bool((last.diff("multiple") > 0).all())


def test_with_images_a_full_run_reports_whether_recorded_rows_still_hold(monkeypatch):
    monkeypatch.setattr(tian2020_cifar, "which", lambda: "with images")
    stored = {
        name: tian2020_cifar._with_nodes(recorded.load_recorded(KEY, f"images_{name}"))
        for name in tian2020_cifar.READINGS
    }
    turned = stored["same"].assign_coords(multiple=[5, 2, 1]).sortby("multiple")
    studies = {"same": lambda: turned, "divided": lambda: stored["divided"]}
    monkeypatch.setattr(tian2020_cifar, "STUDIES", studies)
    _, rows = apart(tian2020_cifar.fig_8(True))
    assert not any(row.recorded for row in rows)
    (accuracy,) = [
        row for row in rows if row.item.endswith("accuracy of 5x students is greater than of 1x")
    ]
    assert accuracy.verdict == "depends" and "agrees, which no longer holds" in accuracy.note
