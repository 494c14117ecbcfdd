"""Two-layer students of dimension d approach the theory of on-line learning."""

import numpy as np
import pytest

import tutelage as tl

TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(TWO, TWO)
START = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[0.1, 0], [0, 0.1]], T=np.eye(2))


@pytest.mark.slow
def test_the_deviation_from_the_theory_shrinks_as_the_root_of_the_dimension():
    found = tl.deep.online_deviation(
        SCENARIO, START, 0.5, dimension=(25, 100, 400), until=4.0, runs=48
    )
    x, error = found.attrs["exponent"], found.attrs["exponent_standard_error"]
    assert error < 0.06
    # The next order in 1/d, at d = 25, is allowed 0.1; the level is that of 4 standard errors.
    assert abs(x - 0.5) < 4 * error + 0.1
    mean = found["R"].sel(dimension=400).mean("run")
    scatter = found["R"].sel(dimension=400).std("run", ddof=1) / np.sqrt(48)
    gap = np.abs(mean - found["R_theory"]) / (scatter + 1e-12)
    # A bias of 1/d is a tenth of the scatter 1/√(48 d); 44 numbers, level 0.003.
    assert float(gap[1:].max()) < 4.5


ONE = tl.Scenario(tl.Committee(1, tl.ReLU()), tl.Committee(1, tl.ReLU()))
SHORT = {"until": 4.0, "runs": 8, "times": [0.0, 2.0, 4.0]}


def one_unit(R=0.1, Q=0.25):
    return tl.Overlaps(Q=[[Q]], R=[[R]], T=[[1.0]])


LAYERED = tl.Scenario(
    tl.Committee(1, tl.ReLU(), [[0.8], [-0.5]]), tl.Committee(1, tl.ReLU(), [[1.0], [0.3]])
)


def in_standard_errors(found, theory, d):
    """The largest deviation of a mean over runs, after the start."""
    gaps = []
    for name in {"Q", "R", "readout"} & set(found):
        x = found[name].sel(dimension=d).values[:, 1:]
        error = x.std(axis=0, ddof=1) / np.sqrt(len(x))
        gaps.append(np.max(np.abs(x.mean(axis=0) - theory[name].values[1:]) / error))
    return max(gaps)


@pytest.mark.slow
@pytest.mark.parametrize("readout_rate", [0.5, 0.0])
def test_both_layers_follow_the_theory_at_the_matched_rates(readout_rate):
    """Two outputs: within five standard errors, and far from the theory of half the rate.

    A bias of 1/d is a twentieth of the scatter of a run, 1/√d, and half a standard error.
    """
    options = {"until": 2.0, "times": [0.0, 1.0, 2.0], "readout_rate": readout_rate}
    start = one_unit()
    found = tl.deep.online_deviation(LAYERED, start, 0.5, dimension=400, runs=100, **options)
    assert ("readout" in found) is (readout_rate > 0)
    theory = tl.online.evolve(LAYERED, start, 0.5, **options)
    assert in_standard_errors(found, theory, 400) < 5
    wrong = {"readout_rate": readout_rate / 2} if readout_rate else {"learning_rate": 0.25}
    other = tl.online.evolve(LAYERED, start, **{"learning_rate": 0.5} | options | wrong)
    assert in_standard_errors(found, other, 400) > 25


@pytest.fixture(scope="module")
def found():
    return tl.deep.online_deviation(ONE, one_unit(), 0.5, dimension=(100, 200), **SHORT)


def test_a_wrong_learning_rate_does_not_agree(found):
    other = tl.online.evolve(ONE, one_unit(), 0.25, until=4.0, times=found["time"].values)
    right = np.abs(found["R"].sel(dimension=200).mean("run") - found["R_theory"]).max()
    wrong = np.abs(found["R"].sel(dimension=200).mean("run") - other["R"]).max()
    assert wrong > 3 * right


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((tl.Scenario(TWO, tl.Committee(2, tl.Erf())), START, 0.5, (10, 20), 1.0), "scenario"),
        ((SCENARIO, START, 0.0, (10, 20), 1.0), "learning_rate"),
        ((SCENARIO, START, 0.5, (20, 10), 1.0), "dimension"),
        ((SCENARIO, START, 0.5, (), 1.0), "dimension"),
        ((SCENARIO, START, 0.5, (10, 20.5), 1.0), "dimension"),
        ((SCENARIO, START, 0.5, 3, 1.0), "dimension"),
        ((SCENARIO, START, 0.5, (3, 20), 1.0), "dimension"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, words):
    with pytest.raises(tl.InputError, match=f"^{words}"):
        tl.deep.online_deviation(*arguments[:3], dimension=arguments[3], until=arguments[4])


@pytest.mark.parametrize("rate", [-0.1, np.nan, [0.1, 0.2]])
def test_the_rate_of_the_last_layer_is_one_number(rate):
    with pytest.raises(tl.InputError, match=r"^readout_rate"):
        tl.deep.online_deviation(ONE, one_unit(), 0.5, dimension=10, until=1.0, readout_rate=rate)


def test_one_run_has_no_scatter():
    with pytest.raises(tl.InputError, match=r"^runs"):
        tl.deep.online_deviation(SCENARIO, START, 0.5, dimension=(10, 20), until=1.0, runs=1)


def test_a_theory_that_diverges_is_refused():
    with pytest.raises(tl.InputError, match=r"^learning_rate: .*diverges"):
        tl.deep.online_deviation(
            ONE, one_unit(), 20.0, dimension=(100, 400), **SHORT | {"until": 100.0}
        )


def test_one_dimension_has_a_deviation_and_no_exponent(found):
    one = tl.deep.online_deviation(ONE, one_unit(), 0.5, dimension=100, **SHORT)
    assert float(one.deviation[0]) == float(found.deviation[0])
    assert "exponent" not in one.attrs and np.isfinite(found.attrs["exponent"])


def test_a_theory_at_rest_before_the_last_time_stays_there():
    rest = tl.deep.online_deviation(ONE, one_unit(R=1.0, Q=1.0), 0.5, dimension=100, **SHORT)
    assert rest.R_theory.values.ravel().tolist() == [1.0, 1.0, 1.0]
    assert float(rest.deviation[0]) < 1e-12  # a student that is its teacher: rounding


@pytest.mark.parametrize("times", [3, [1.0], [0.0, 5.0], [2.0, 1.0], [-1.0, 1.0]])
def test_times_are_increasing_and_within_the_training(times):
    with pytest.raises(tl.InputError, match=r"^times"):
        tl.deep.online_deviation(ONE, one_unit(), 0.5, dimension=100, **SHORT | {"times": times})
