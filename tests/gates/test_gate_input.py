"""Bad input is refused at once, with the name of the argument; the page is right."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage.gates import Gate, Interval, Signal, mean_field, sample_network

TWO = Gate([0, 1])
W = np.ones((2, 3))
X = np.ones((4, 3))

CASES = {
    "no states": (lambda: Gate([]), "states"),
    "a matrix of states": (lambda: Gate([[0, 1]]), "states"),
    "equal states": (lambda: Gate([0, 1, 1]), "states"),
    "an infinite state": (lambda: Gate([0, math.inf]), "states"),
    "text for states": (lambda: Gate("open"), "states"),
    "a weight of zero": (lambda: Gate([0, 1], [1, 0]), "weights"),
    "a negative weight": (lambda: Gate([0, 1], [1, -1]), "weights"),
    "NaN for a weight": (lambda: Gate([0, 1], [1, math.nan]), "weights"),
    "too few weights": (lambda: Gate([0, 1], [1]), "weights"),
    "an empty interval": (lambda: Interval(1, 1), "high"),
    "an interval the wrong way": (lambda: Interval(1, 0), "high"),
    "an infinite interval": (lambda: Interval(0, math.inf), "high"),
    "a negative beta": (lambda: TWO.signal(-1.0), "beta"),
    "NaN for beta": (lambda: TWO.signal(math.nan), "beta"),
    "True for beta": (lambda: TWO.mean(True, 1.0), "beta"),
    "text for beta": (lambda: TWO.mean("cold", 1.0), "beta"),
    "a list of betas for one activation": (lambda: TWO.signal([1.0, 2.0]), "beta"),
    "a negative beta among others": (lambda: TWO.mean([1.0, -1.0], 1.0), "beta"),
    "a step as an activation": (lambda: TWO.expectation(math.inf), "beta"),
    "an infinite beta in Signal": (lambda: Signal(TWO, math.inf), "beta"),
    "an infinite log Z": (lambda: TWO.log_partition(math.inf, 1.0), "beta"),
    "a free energy in pure noise": (lambda: tl.gates.thermodynamics(TWO, 0.0, 1.0), "beta"),
    "NaN for a field": (lambda: TWO.mean(1.0, math.nan), "field"),
    "a layer without units": (lambda: tl.gates.layer(TWO, 1.0, 0.5), "fields"),
    "something else than a gate": (lambda: Signal(tl.ReLU(), 1.0), "gate"),
    "curves of something else": (lambda: tl.gates.curves([0, 1], 1.0, 1.0), "gate"),
    "a matrix of betas": (lambda: tl.gates.curves(TWO, [[1.0]], 1.0), "beta"),
    "no fields": (lambda: tl.gates.curves(TWO, 1.0, []), "field"),
    "no units": (lambda: tl.gates.specialization_loads(TWO, 1.0, 0), "units"),
    "two slopes, one NaN": (lambda: tl.gates.TwoSlopes(math.nan, 1.0), "left"),
    "two slopes, one infinite": (lambda: tl.gates.TwoSlopes(0.0, math.inf), "right"),
    "no layers": (lambda: mean_field([], X, TWO, 1.0), "weights"),
    "weights of the wrong shape": (lambda: mean_field([W, W], X, TWO, 1.0), "weights"),
    "NaN among the weights": (lambda: mean_field([W * math.nan], X, TWO, 1.0), "weights[0]"),
    "a number for weights": (lambda: mean_field(3.0, X, TWO, 1.0), "weights"),
    "biases of the wrong shape": (
        lambda: mean_field([W], X, TWO, 1.0, biases=[np.ones(3)]),
        "biases",
    ),
    "biases for other layers": (lambda: mean_field([W], X, TWO, 1.0, biases=[0.0, 0.0]), "biases"),
    "betas for other layers": (lambda: mean_field([W], X, TWO, [1.0, 1.0]), "beta"),
    "betas of the wrong shape": (lambda: mean_field([W], X, TWO, np.ones(3)), "beta"),
    "inputs of rank 3": (lambda: mean_field([W], np.ones((1, 1, 3)), TWO, 1.0), "inputs"),
    "an unknown thing to pass on": (
        lambda: mean_field([W], X, TWO, 1.0, transmits="h"),
        "transmits",
    ),
    "one sample": (lambda: sample_network([W], X, TWO, 1.0, samples=1), "samples"),
    "half a sample": (lambda: sample_network([W], X, TWO, 1.0, samples=2.5), "samples"),
    "a negative seed": (lambda: sample_network([W], X, TWO, 1.0, samples=2, seed=-1), "seed"),
    "no seed": (lambda: sample_network([W], X, TWO, 1.0, samples=2, seed=None), "seed"),
    "a certain label": (lambda: tl.gates.cross_entropy([1], [1.0]), "probabilities"),
    "no probabilities": (lambda: tl.gates.count_probabilities([]), "probabilities"),
    "a label of 2": (lambda: tl.gates.cross_entropy([2], [0.5]), "labels"),
    "half a label": (lambda: tl.gates.label_probability([0.5], [0.5]), "labels"),
    "too few labels": (lambda: tl.gates.cross_entropy([1], [0.5, 0.5]), "labels"),
    "too many labels": (lambda: tl.gates.label_probability([1] * 21, [0.5] * 21), "labels"),
    "a saddle at infinity": (lambda: tl.gates.saddle_point(0, [0.5, 0.5]), "count"),
    "more ones than labels": (lambda: tl.gates.saddle_point(2, [0.5, 0.5]), "count"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_by_name(case):
    call, argument = CASES[case]
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    assert "got" in str(caught.value) and "but" in str(caught.value)


def test_the_examples_on_the_page_on_gates_print_their_quoted_output(capsys):
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text(encoding="utf-8")
    code, printed = re.search(
        r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", page, re.S
    ).groups()
    exec(compile(code, "gates.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_names_load_when_they_are_used():
    assert set(tl.gates.__all__) == set(dir(tl.gates))
    assert all(getattr(tl.gates, name) is not None for name in tl.gates.__all__)
    with pytest.raises(AttributeError, match=r"'gate'.*Gate"):
        _ = tl.gates.gate
