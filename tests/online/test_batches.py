"""Numbers that differ between runs: a batch is what its runs are one by one, and finds them."""

import numpy as np
import pytest

import tutelage as tl
from tutelage import InputError

STUDENT, TEACHER = tl.Committee(2, tl.ReLU()), tl.Committee(1, tl.ReLU())
START = tl.Overlaps(Q=[[0.2, 0.0], [0.0, 0.3]], R=[[0.01], [0.02]], T=[[1.0]])


def evolve(eta=0.5, units=None, **numbers):
    student, teacher = units or (STUDENT, TEACHER)
    scenario = tl.Scenario(student, teacher, **numbers)
    return tl.online.evolve(scenario, START, eta, until=5.0)


GELU = tl.Committee(2, tl.GELU()), tl.Committee(1, tl.GELU())


@pytest.mark.parametrize(
    ("units", "name", "values"),
    [
        (None, "weight_decay", [0.0, 0.1]),
        (None, "label_noise", [0.0, 0.5]),
        (None, "output_scale", [0.5, 1.0]),
        pytest.param(GELU, "label_noise", [0.0, 0.5], marks=pytest.mark.slow),
    ],
)
def test_a_batch_is_its_runs_one_by_one(units, name, values):
    """To the tolerance of the integration, whose steps are those of each run."""
    together = evolve(units=units, **{name: np.array(values)})
    for value in values:
        alone, found = evolve(units=units, **{name: value}), together.sel({name: value})
        assert np.allclose(alone.R, found.R, atol=1e-12)
        assert np.allclose(alone.generalization_error, found.generalization_error, atol=1e-12)


def test_runs_are_found_by_their_learning_rate_before_and_after_saving(tmp_path):
    rates = evolve(eta=np.array([0.3, 0.5, 1.0]))
    alone = evolve(eta=0.5)
    tl.results.save(rates, tmp_path / "rates.nc")
    for runs in (rates, tl.results.load(tmp_path / "rates.nc")):
        assert np.allclose(runs.sel(learning_rate=0.5).Q, alone.Q, atol=1e-12)  # rounding


def test_two_numbers_at_once_and_lengths_that_differ():
    both = evolve(eta=np.array([0.3, 0.5]), weight_decay=np.array([0.0, 0.1]))
    assert both.sel(weight_decay=0.1).learning_rate == 0.5
    with pytest.raises(InputError, match="one axis of runs"):
        evolve(eta=np.array([0.3, 0.5, 0.7]), weight_decay=np.array([0.0, 0.1]))
    with pytest.raises(InputError, match="one length"):
        evolve(label_noise=np.ones(3), weight_decay=np.ones(2))
    with pytest.raises(InputError, match="at least 0"):
        evolve(weight_decay=np.array([0.0, -0.1]))


def test_verbs_that_take_one_scenario_refuse_several():
    several = tl.Scenario(STUDENT, TEACHER, weight_decay=np.array([0.0, 0.1]))
    with pytest.raises(InputError, match=r"scenario\.each"):
        tl.online.fixed_point(several, START, 0.5)
    assert [s.weight_decay for s in several.each] == [0.0, 0.1]


def test_a_batch_of_numbers_is_computed_again():
    runs = evolve(weight_decay=np.array([0.0, 0.1]))
    assert np.array_equal(tl.results.recompute(runs).Q, runs.Q)
