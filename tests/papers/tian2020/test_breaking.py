"""Symmetry breaking (tian2020, Section 5.3): why the ratio of lengths grows, and why it turns."""

import numpy as np
import pytest

from tutelage.papers.tian2020 import breaking, theorems


@pytest.mark.parametrize("start", breaking.STARTS)
def test_the_second_node_turns_around_when_the_law_of_its_angle_says(start):
    """With r = -εw* the angle φ of w_2 and w* obeys dφ/dt = ε‖w*‖ sin φ: ln tan(φ/2) grows by t."""
    angle = np.arccos(breaking.runs()["cosine"].sel(start=start, excess=0.05))
    early, late = (int(np.argmax(angle.values[20:] > φ)) + 20 for φ in (0.3, 2.7))
    half = np.tan(angle.values[[early, late]] / 2)
    times = angle["time"].values[[early, late]]
    # Where φ is large r differs from -εw* by a_2 ‖w_2‖ times ε, below 1 percent.
    assert np.log(half[1] / half[0]) == pytest.approx(times[1] - times[0], rel=0.01)


def test_the_ratio_ends_at_that_of_the_coefficients():
    """Opposite filters that grow together: a_1 ‖w_1‖ - a_2 ‖w_2‖ stays finite."""
    w0 = np.array([[0.01, 0.006], [0.01, -0.01]])
    size = np.linalg.norm(breaking.TARGET)
    times = [0.0, 15 / (0.2 * size)]
    end, _ = theorems.symmetric_flow(w0, breaking.TARGET, breaking.COEFFICIENTS, times, [0.2, 0.0])
    length = np.linalg.norm(end[-1], axis=1)
    # Both grow as exp(ε‖w*‖t) from when w_2 has turned around, and their difference is bounded.
    difference = breaking.COEFFICIENTS @ (length * [1, -1])
    assert length[1] > 10 and 1.2 < difference < 1.4  # ‖w*‖(1 + ε) = 1.34


def test_one_statement_holds_for_a_while_only():
    slope, growth = breaking.rows()
    assert slope.verdict == "agrees" and growth.verdict == "in our reading"
