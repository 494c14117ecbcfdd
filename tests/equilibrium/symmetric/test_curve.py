"""Learning curves: all branches over the load, and one curve through all folds."""

import math

import numpy as np
import pytest

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError
from tutelage.equilibrium import learning_curve, states, transitions
from tutelage.equilibrium.symmetric.theory import Point, theory_of
from tutelage.equilibrium.symmetric.tracing import grid, step_by_step


@pytest.mark.parametrize(
    ("g", "K", "loads"),
    [
        pytest.param(tl.Erf(), 5, [30.0, 45.0, 50.0, 70.0], marks=pytest.mark.slow),
        (tl.ReLU(), 3, [5.0, 6.248, 6.3, 12.0]),
        (tl.Erf(), math.inf, [50.0, 62.0, 80.0]),
        (tl.Swish(), 2, [5.0, 9.0, 20.0]),
        (tl.ReLU(), 1, [0.0, 2.0]),
    ],
    ids=str,
)
def test_branches_hold_the_states_of_each_load(g, K, loads):
    curve = learning_curve(g, K, loads)
    for load in loads:
        expected = sorted(states(g, K, load, saddles=True), key=lambda s: s.R)
        here = curve.sel(load=load)
        here = here.isel(branch=np.flatnonzero(np.isfinite(here["R"]))).sortby("R")
        assert here.sizes["branch"] == len(expected)
        for name in ("R", "S", "C", "generalization_error", "free_energy_per_unit"):
            values = [getattr(s, name) for s in expected]
            # Roots next to the fold at 6.2462 are good to rounding over their distance to it.
            assert np.allclose(here[name], values, rtol=0, atol=1e-11, equal_nan=True)
        assert here["stable"].values.tolist() == [s.stable for s in expected]
        assert here["site_stable"].values.tolist() == [s.site_stable for s in expected]


def test_the_parametric_curve_passes_through_the_fold():
    curve = learning_curve(tl.Erf(), 5, [50.0])
    V = (curve["curve_R"] - curve["curve_S"]).values
    assert np.all(np.diff(V) > 0)
    lowest = int(np.argmin(curve["curve_load"].values))
    assert curve["curve_load"].values[lowest] == transitions(tl.Erf(), 5).appears.value
    # Beside its minimum the load grows on both sides: no piece is missing.
    assert np.all(np.diff(curve["curve_load"].values[lowest:]) > 0)
    assert np.all(np.diff(curve["curve_load"].values[: lowest + 1]) < 0)


@pytest.mark.parametrize(("g", "K"), [(tl.ReLU(), 3), (tl.Erf(), 4), (tl.GELU(), 7)], ids=str)
def test_the_curve_found_all_at_once_is_the_one_found_step_by_step(g, K):
    theory, V = theory_of(g, K), grid(K)
    together = theory.at(V, theory.limit(V))
    steps = Point(*np.array(step_by_step(theory, Point(1.0, 0.0, 0.0), V)).T)
    n = int(np.argmin([*theory.is_state(together), False]))
    assert n > 150
    assert np.allclose(together.d[:n], steps.d[:n], atol=1e-13)
    assert np.allclose(together.c[:n], steps.c[:n], atol=1e-13)


@pytest.mark.parametrize("K", [2, 5, 1000])
def test_even_units_specialize_alone(K):
    """κ' is odd: R = V and S = C = 0 are the states of every K, those of a single unit."""
    g = tl.gates.Gate([-1, 1]).signal(2.0)
    result, one = (learning_curve(g, units, [1.0, 2.0, 5.0]) for units in (K, 1))
    best = result.sel(branch=result["kind"] == "R > S").isel(branch=-1)
    alone = one.sel(branch=one["kind"] == "R > 0").isel(branch=-1)
    assert np.allclose(best["R"], alone["R"], rtol=0, atol=1e-12, equal_nan=True)
    assert np.allclose(best[["S", "C"]].fillna(0).to_array(), 0, rtol=0, atol=1e-12)


def test_a_continuous_transition_makes_a_kink_in_the_error():
    at = transitions(tl.ReLU(), 2).coexists.value
    loads = at + np.array([-2e-3, -1e-3, 1e-3, 2e-3])
    curve = learning_curve(tl.ReLU(), 2, loads)
    error = curve["generalization_error"]
    equilibrium = np.where(
        np.isfinite(error.sel(branch=2)), error.sel(branch=2), error.sel(branch=0)
    )
    before, after = np.diff(equilibrium)[[0, 2]] / 1e-3
    assert after < 2 * before < 0


def test_a_curve_survives_a_file_with_its_provenance(tmp_path):
    curve = learning_curve(tl.Swish(1.5), 4, np.linspace(0, 20, 5))
    results.save(curve, tmp_path / "curve.nc")
    loaded = results.load(tmp_path / "curve.nc")
    assert loaded.equals(curve)
    assert results.recompute(loaded).equals(curve)


@pytest.mark.parametrize("loads", [[], [-1.0, 2.0], [3.0, 2.0], [1.0, math.nan], [[1.0], [2.0]]])
def test_bad_loads_are_refused(loads):
    with pytest.raises(InputError, match="loads"):
        learning_curve(tl.ReLU(), 2, loads)
