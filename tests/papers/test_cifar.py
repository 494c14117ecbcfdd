"""Figure 8 of tian2020 without and with images: nothing pretends."""

import numpy as np
import pytest

from tutelage.deep.images.record import as_dataset
from tutelage.papers.section import Figure
from tutelage.papers.tian2020 import cifar as tian2020_cifar

ITEMS = 6 + 5  # mean and greatest accuracy of three multiples; four layers and the accuracy


def test_without_images_every_number_is_missing_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    for full in (False, True):
        rows = list(tian2020_cifar.fig_8(full))
        assert len({row.item for row in rows}) == len(rows) == ITEMS
        assert {row.verdict for row in rows} == {"missing"}
        assert all("tutelage data cifar10" in row.note for row in rows)


@pytest.fixture
def drawn(monkeypatch):
    """What is made of a study in which accuracies and correlations grow, or fall in one run."""

    def draw(full, falls):
        measured = {}
        for multiple in (1, 2, 5):
            for run in range(2):
                high = 0.1 * multiple * (-1 if falls and run else 1)
                one = {"accuracy": np.array([0.1, 0.6 + high / 10])}
                for layer in range(1, 5):
                    one[f"teacher_correlation_{layer}"] = np.full((2, 3), 0.4 + high)
                measured[multiple, run] = one
        made = as_dataset({}, [0.8, 0.7, 0.75], measured)
        monkeypatch.setattr("tutelage.deep.images.cifar.is_there", lambda: True)
        monkeypatch.setattr("tutelage.deep.images.cifar.cifar10", lambda: None)
        monkeypatch.setattr(tian2020_cifar, "_study", lambda images, full: made)
        return list(tian2020_cifar.fig_8(full))

    return draw


def test_with_images_claims_are_decided_in_a_full_run_only(drawn):
    figures, rows = _apart(drawn(False, False))
    assert [figure.name for figure in figures] == ["layers", "accuracy"]
    assert [r.verdict for r in rows] == ["not comparable"] * 6 + ["missing"] * 5
    _, rows = _apart(drawn(True, False))
    assert len({row.item for row in rows}) == ITEMS
    assert [r.verdict for r in rows] == ["not comparable"] * 6 + ["agrees"] * 5
    assert rows[4].computed == pytest.approx(65.0) and rows[4].printed == "83.85"
    assert all(row.note for row in rows)


def test_one_run_that_says_otherwise_is_enough(drawn):
    _, rows = _apart(drawn(True, True))
    assert [(r.verdict, r.computed) for r in rows[6:]] == [("differs", 0.5)] * 5


def _apart(pieces):
    import matplotlib.pyplot as plt

    figures = [one for one in pieces if isinstance(one, Figure)]
    for figure in figures:
        plt.close(figure.picture)
    return figures, [one for one in pieces if not isinstance(one, Figure)]
