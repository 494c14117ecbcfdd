"""Names of states depend on the overlaps, not on the numbers of the units."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.equilibrium.general.blocks import (
    blocks,
    canonical_order,
    exchangeable,
    matched_overlaps,
)


def state(R, Q=None, T=None):
    """Students that are orthogonal outside of the teachers' span."""
    R = np.array(R, dtype=float)
    M = R.shape[1]
    T = np.eye(M) if T is None else T
    shared = R @ np.linalg.solve(T, R.T)
    return tl.Overlaps(shared + np.diag(1 - np.diag(shared)) if Q is None else Q, R, T)


def symmetric(K, R, S):
    return state(S + (R - S) * np.eye(K))


STATES = {
    "single unit": state([[0.7]]),
    "unspecialized": symmetric(3, 0.3, 0.3),
    "specialized": symmetric(4, 0.9, 0.05),
    "negatively specialized": symmetric(4, -0.4, 0.3),
    "1 of 3 students specialized, students {2, 3} share teachers {2, 3}": state(
        [[0.9, 0.1, 0.1], [0.0, 0.4, 0.4], [0.0, 0.4, 0.4]]
    ),
    "1 of 3 students specialized, students {2, 3} share teacher 2": state(
        [[0.8, 0.0], [0.0, 0.6], [0.0, 0.6]]
    ),
    "2 of 3 students specialized, student 3 unspecialized": state(
        [[0.8, -0.2], [-0.2, 0.8], [0.5, 0.5]]
    ),
    "1 of 2 students specialized, student 2 is on teachers {2, 3}": state(
        [[0.9, 0.1, 0.1], [0.0, 0.6, 0.6]]
    ),
    "3 of 4 students specialized, 1 of 4 students negatively specialized": state(
        [[0.8, 0.0, 0.0, 0.2], [0.0, 0.8, 0.0, 0.2], [0.0, 0.0, 0.8, 0.2], [0.2, 0.2, 0.2, -0.6]]
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_every_state_has_its_name(name):
    assert blocks(STATES[name]).name == name


@pytest.mark.parametrize("name", STATES)
def test_a_name_in_canonical_order_does_not_depend_on_the_numbers_of_the_units(name):
    start = STATES[name]
    rng = np.random.default_rng(0)
    for _ in range(10):
        i, n = rng.permutation(start.K), rng.permutation(start.M)
        Q, R = np.asarray(start.Q)[np.ix_(i, i)], np.asarray(start.R)[np.ix_(i, n)]
        ordered = canonical_order(tl.Overlaps(Q, R, start.T))
        assert blocks(ordered).name == name
        np.testing.assert_allclose(ordered.R, start.R, atol=1e-15)


def test_students_with_equal_rows_but_different_overlaps_among_them_are_different():
    Q = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    result = blocks(state(np.full((3, 1), 0.3), Q=Q))
    assert result.students == ((1, 2), (3,)) and result.teachers == ((1,),)


def test_only_equivalent_teachers_can_be_exchanged():
    assert exchangeable(np.diag([1.0, 2.0, 1.0])) == [[0, 2], [1]]
    assert exchangeable([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]) == [[0, 1], [2]]
    graded = state([[0.1, 1.2], [0.8, 0.1]], T=np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(canonical_order(graded).R, [[0.8, 0.1], [0.1, 1.2]])


def test_noise_below_the_tolerance_does_not_change_the_name():
    noisy = np.full((3, 3), 0.3) + 1e-3 * np.random.default_rng(1).normal(size=(3, 3))
    assert blocks(state(noisy), tolerance=0.01).name == "unspecialized"
    assert blocks(state(noisy)).name != "unspecialized"


def test_matched_overlaps_find_both_kinds_of_specialization():
    order = [2, 0, 3, 1]
    for R, S in ((0.9, 0.1), (-0.5, 0.3)):
        result = matched_overlaps(np.asarray(symmetric(4, R, S).R)[order])
        np.testing.assert_allclose(result, (R, S), atol=1e-15)


def test_bad_input_is_refused():
    with pytest.raises(tl.InputError, match=r"^tolerance"):
        blocks(STATES["specialized"], tolerance=0.0)
    with pytest.raises(tl.InputError, match=r"^overlaps"):
        blocks(np.eye(2))
