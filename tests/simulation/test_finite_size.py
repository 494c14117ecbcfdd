"""Finite size: known exponents are found within their standard errors, which are honest."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from made_up_runs import ensemble, theory

import tutelage as tl
from tutelage._checks import InputError
from tutelage.simulation.finite_size import finite_size

SIZES = (100, 200, 400, 800)


def ensembles_of(seed, bias=3.0, runs=400, power=1.0):
    """Runs with the spread 1/√N and the bias N^-power."""
    draw = np.random.default_rng(seed)
    return [ensemble(draw, runs=runs, N=N, bias=bias * N ** (1 - power)) for N in SIZES]


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_known_exponents_are_found(power):
    result = finite_size(theory(), ensembles_of(1, power=power)).attrs
    for name, exact in (("mean", power), ("spread", 0.5)):
        error = result[f"{name}_exponent_standard_error"]
        # A fixed seed; 3.3 standard errors are exceeded once in a thousand.
        assert abs(result[f"{name}_exponent"] - exact) < 3.3 * error
        assert error < 0.2


@pytest.mark.slow
def test_standard_errors_are_those_of_repeated_studies():
    """30 studies: the standard deviation over them is known to 13 percent, one sigma."""
    studies = [finite_size(theory(), ensembles_of(seed, runs=100)).attrs for seed in range(30)]
    for name in ("mean", "spread"):
        values = np.array([study[f"{name}_exponent"] for study in studies])
        message = np.mean([study[f"{name}_exponent_standard_error"] for study in studies])
        assert 0.6 < message / np.std(values, ddof=1) < 1.6


def test_the_table_has_deviation_error_and_spread_of_every_size():
    runs = ensembles_of(2)
    result = finite_size(theory(), runs[::-1])
    assert result["dimension"].values.tolist() == list(SIZES)
    assert result["runs"].values.tolist() == [400] * 4
    # The root mean square over components of a standard error is that of a spread over √n.
    np.testing.assert_allclose(result["standard_error"], result["spread"] / 20, rtol=1e-12)


def test_a_sweep_over_the_dimension_is_the_list_of_its_ensembles():
    runs = ensembles_of(2, runs=10)
    # A simulation ends an example later than it was asked to, if that is between two examples.
    runs[0] = runs[0].assign_coords(time=[*runs[0].time.values[:-1], 10.01])
    curve = theory()
    curve = xr.concat([curve, curve.isel(time=[-1]).assign_coords(time=[10.25])], "time")
    study = xr.concat(
        [one.drop_attrs() for one in runs], pd.Index(SIZES, name="dimension"), join="outer"
    )
    message = study.assign_attrs(fixed=json.dumps({"learning_rate": 0.5}))
    assert finite_size(curve, message).drop_attrs().identical(finite_size(curve, runs).drop_attrs())
    with pytest.raises(InputError, match=r"theory: got the learning_rate 0\.4"):
        finite_size(curve.assign_attrs(learning_rate=0.4), message)


@pytest.mark.slow
def test_chains_approach_the_theory_as_1_over_n_and_scatter_as_1_over_root_n():
    """straat2019 Fig. 1 with η = 1.5: small N and many runs, so that the bias can be seen."""
    one = tl.Committee(1, tl.ReLU())
    scenario = tl.Scenario(one, one)
    start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    times = np.linspace(0.0, 5.0, 11)
    curve = tl.online.evolve(scenario, start, 1.5, until=5.0)
    options = {"until": 5.0, "runs": 20_000, "times": times}
    options |= {"scenario": scenario, "start": start, "learning_rate": 1.5, "workers": 1}
    runs = tl.sweeps.run(tl.simulation.chain, {"dimension": [50, 100, 200, 400]}, **options)
    result = finite_size(curve, runs).attrs
    # The next order, a few times 1/N beside 1, is some percent at N = 50 and 100 and changes an
    # exponent by as much: 0.04, added to 3.3 standard errors.
    for name, exact in (("mean", 1.0), ("spread", 0.5)):
        error = result[f"{name}_exponent_standard_error"]
        assert abs(result[f"{name}_exponent"] - exact) < 0.04 + 3.3 * error, result


def test_what_cannot_be_studied_is_refused():
    runs = ensembles_of(3, runs=10)
    for ensembles, message in (
        (runs[0], "ensembles: got dimensions .* has to be a sweep over dimension"),
        (runs[:1], "ensembles: got one"),
        ([runs[0], runs[1].isel(run=slice(0, 5))], r"ensembles\[1\]: got 5 run"),
        ([runs[0], runs[1].drop_attrs()], r"the dimension of ensembles\[1\]: got None"),
        ([runs[0], runs[0]], "they need different N"),
        ([runs[0], runs[1].isel(time=slice(0, 5))], "different N and equal times"),
    ):
        with pytest.raises(InputError, match=message):
            finite_size(theory(), ensembles)
