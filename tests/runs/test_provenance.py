"""Arguments go into attributes and come back unchanged, or with a reason why not."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError
from tutelage.runs import provenance, public_names, recompute
from tutelage.runs.provenance import attribute, recorded

TWO = tl.Committee(2, tl.LeakyReLU(0.1))
VALUES = [
    *(0, 3, 0.1, float("inf"), 2**40, True, None, "gaussian", "null", "3", "", [1, [2.5]]),
    *(tl.ReLU(), tl.Swish(1 / 3), tl.Erf(1.0), tl.averages.Hermite(order=6)),
    *(tl.Swish, tl.gates.Gate([-1, 1]).signal(2.0), tl.gates.Interval(0, 1).expectation(0.1)),
    tl.Scenario(TWO, TWO, [[1, 0.5], [0.5, 2]], output_scale=(0.9, 1.1), weight_decay=0.01),
    tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]]),
]


@recorded(name="runs.test_function")
def recorded_function(value, *, times=None, progress=False):
    """A public function that records its arguments."""
    return xr.Dataset(attrs={"outcome": "reached"})


@pytest.fixture(autouse=True)
def public(monkeypatch):
    """Add the function to the package while a test runs."""
    monkeypatch.setattr(public_names, "COMPUTING", (*public_names.COMPUTING, "runs"))
    monkeypatch.setattr("tutelage.runs.test_function", recorded_function, raising=False)
    monkeypatch.setattr("tutelage.runs.__all__", ["test_function"], raising=False)


def back(value, tmp_path):
    """The argument as read from a saved file."""
    results.save(recorded_function(value), tmp_path / "made.nc")
    return recompute.argument(results.load(tmp_path / "made.nc"), "value")


def same(a, b):
    return jnp.shape(a) == jnp.shape(b) if hasattr(a, "shape") else a == b


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:30])
def test_a_value_comes_back_from_a_file(value, tmp_path):
    received = back(value, tmp_path)
    assert type(received) is type(value) or isinstance(received, int | float | np.number)
    assert provenance.described(received) == provenance.described(value)


def test_every_digit_of_an_array_comes_back(tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_array_equal(back(x, tmp_path), x)


def test_a_state_that_is_positive_up_to_a_tolerance_comes_back(tmp_path):
    state = tl.Overlaps(Q=[[1.0]], R=[[1.0 + 1e-9]], T=[[1.0]], rounding=1e-8)
    np.testing.assert_array_equal(back(state, tmp_path).R, state.R)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (lambda time: time, "the function"),
        (tl.Activation.from_function(jnp.sin), "the function 'sin'"),
        (np.zeros(20_000), r"an array of shape \(20000,\)"),
        (object(), "an object 'object'"),
    ],
    ids=["schedule", "activation", "large", "foreign"],
)
def test_values_that_a_file_cannot_hold_are_named_when_they_are_needed(value, reason, tmp_path):
    with pytest.raises(InputError, match=f"value: got {reason}.*Try: tl.runs.test_function"):
        back(value, tmp_path)


def test_the_attributes_are_the_function_its_arguments_and_the_versions():
    assert recorded_function(0.5, progress=True).attrs == {
        "computed_by": "runs.test_function",
        "outcome": "reached",
        "value": 0.5,
        "times": "null",
        **provenance.versions(),
    }


def test_a_dataset_as_argument_is_computed_first():
    assert (
        results.recompute(recorded_function(recorded_function(0.5))).attrs
        == recorded_function(recorded_function(0.5)).attrs
    )


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({}, "no attribute 'computed_by'"),
        ({"computed_by": "runs.test_function"}, "no attribute 'value'"),
        ({"computed_by": "os.system"}, "a public function of the package"),
        ({"computed_by": "activations.ReLU"}, "a public function of the package"),
        ({"computed_by": "averages.i4"}, "this function does not return a Dataset"),
        ({"computed_by": "runs.test_function", "value": '{"type": "os.system"}'}, "a value type"),
        (
            {"computed_by": "runs.test_function", "value": '{"type": "model.Committee", "x": 1}'},
            "units",
        ),
    ],
)
def test_attributes_that_name_no_call_are_refused(attrs, message):
    with pytest.raises(InputError, match=message):
        recompute.recompute(xr.Dataset(attrs=attrs))


def test_text_that_would_be_read_as_a_number_stays_text():
    assert attribute("3") == '"3"'
