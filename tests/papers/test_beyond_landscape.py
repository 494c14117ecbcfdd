"""Beyond the papers, fixed points of citton2025's setting: every branch by a second route."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers import recorded
from tutelage.papers.beyond import landscape, search


@pytest.fixture(scope="module")
def branches():
    return landscape.unpadded(recorded.load_recorded("beyond", "branches"))


def special(branches, kind, near):
    """The special points of a kind next to a learning rate, on all branches."""
    every = [
        float(eta)
        for one in branches
        for name, eta in zip(one.special_kind.values, one.special_learning_rate.values, strict=True)
        if name == kind and abs(eta - near) < 1e-3
    ]
    return np.array(every)


@pytest.mark.slow
def test_folds_and_losses_of_stability_are_the_critical_learning_rates(branches):
    """citton2025's start: the fold of its plateau, and where the solution is lost."""
    start = tl.Overlaps(Q=np.diag([0.1, 0.2]), R=1e-3 * np.eye(2), T=np.diag([1.0, 2.0]))
    rates = tl.online.critical_learning_rates(landscape.scenario(), start)
    fold = special(branches, "fold", rates.plateau_vanishes.value)
    np.testing.assert_allclose(fold, [rates.plateau_vanishes.value], atol=1e-7)
    # 3 - √3, where the solution changes its stability and another branch ends.
    assert abs(rates.loses_stability.value - (3 - np.sqrt(3))) < 1e-12
    lost = special(branches, "branch point", rates.loses_stability.value)
    np.testing.assert_allclose(lost, [rates.loses_stability.value] * 2, atol=1e-12)


@pytest.mark.slow
def test_points_of_every_branch_are_at_rest_in_a_simulation_free_of_newton(branches):
    """Rates of change of the equations themselves, away from C of lower rank."""
    flow = tl.online.Flow(landscape.scenario())
    for one in branches:
        for j in np.linspace(1, one.sizes["point"] - 2, 4).astype(int):
            eta, Q, R = float(one.learning_rate[j]), one.Q.values[j], one.R.values[j]
            if np.linalg.eigvalsh(np.block([[Q, R], [R.T, landscape.scenario().T]]))[0] < 1e-6:
                continue
            change = flow(tl.Overlaps(Q, R, landscape.scenario().T, rounding=1e-9), eta)
            size = np.max(np.abs(Q))
            assert np.max(np.abs(change.Q)) < 1e-9 * size**2
            assert np.max(np.abs(change.R)) < 1e-9 * size**2


@pytest.mark.slow
def test_a_stable_state_with_an_error_follows_the_solution(branches):
    """Between the loss of the solution and a fold at 1.3212 runs converge to another state."""
    start = tl.Overlaps(
        Q=[[1.06, 0.02], [0.02, 2.05]], R=[[0.99, 0.0], [0.0, 1.985]], T=np.diag([1.0, 2.0])
    )
    run = tl.online.evolve(landscape.scenario(), start, 1.3, until=1500)
    near = [one for one in branches if one.learning_rate.min() > 1.0]
    assert len(near) == 1 and run.attrs["outcome"] == "converged"
    one = near[0]
    stable = one.eigenvalue.values.max(axis=1) < 0
    j = np.argmin(np.abs(one.learning_rate.values - 1.3) + 10 * ~stable)
    # Points of a branch are positive semi-definite up to 1e-9.
    state = tl.Overlaps(one.Q.values[j], one.R.values[j], landscape.scenario().T, rounding=1e-8)
    point = tl.online.fixed_point(landscape.scenario(), state, 1.3)
    assert point.stable
    # A run is within the tolerance of its integration, amplified by 1/|λ| = 70.
    error = run.generalization_error.values[-1]
    np.testing.assert_allclose(error, point.generalization_error, atol=1e-6)


def test_a_branch_contains_its_states_in_either_order_of_students(branches):
    for one in branches:
        j = one.sizes["point"] // 3
        Q, R = one.Q.values[j], one.R.values[j]
        swapped = tl.Overlaps(Q[::-1, ::-1], R[::-1], np.diag([1.0, 2.0]), rounding=1e-6)
        assert landscape._contains(one, float(one.learning_rate[j]) + 1e-9, swapped)
        away = tl.Overlaps(Q + np.eye(2), R, np.diag([1.0, 2.0]), rounding=1e-6)
        assert not landscape._contains(one, float(one.learning_rate[j]) + 1e-9, away)


def test_every_end_of_the_second_search_is_on_a_branch():
    """A branch is reached only at learning rates at which it exists."""
    data = recorded.load_recorded("beyond", "search")
    kinds, rates = data.sizes["kind"], data.sizes["rate"]
    assert data.starts.values.tolist() == [search.STARTS] * rates and kinds == len(search.KINDS)
    ends = data.at_branch.sum("branch") + data.at_no_branch
    np.testing.assert_array_equal(ends, data.arrived)
    assert int(data.new_points.sum()) == 0 and int(data.at_no_branch.sum()) == 0
    by_rate = data.at_branch.sum("kind")
    exists = {0: (0.0, 1.4), 1: (1.0, 1.322), 2: (0.0, 1.2544), 3: (0.0, 1.174)}
    for branch, (low, high) in exists.items():
        reached = data.rate.values[by_rate.isel(branch=branch) > 0]
        assert len(reached) and low < reached.min() and reached.max() < high
    assert abs(search.missed_share(200) - 0.0149) < 1e-4
