"""Formulas: their values, parities and kinks, and what the grammar refuses."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tutelage as tl
from tutelage.explorer import formulas

# Each with the same in Python; a second reader of the same grammar.
MEANT = {
    "2*x^2 - 3*x + 1": lambda x: 2 * x**2 - 3 * x + 1,
    "-x^2": lambda x: -(x**2),
    "2^-x": lambda x: 2.0**-x,
    "x/2/2": lambda x: x / 4,
    "1 - x - 1": lambda x: -x,
    "2**3**1": lambda x: 8.0 + 0 * x,
    "max(x, 0) + min(x, 1e-1)": lambda x: max(x, 0) + min(x, 0.1),
    "tanh(x) * sigmoid(2*x)": lambda x: math.tanh(x) / (1 + math.exp(-2 * x)),
    "erf(x) + abs(x - 1)": lambda x: math.erf(x) + abs(x - 1),
    "+x*pi + e": lambda x: x * math.pi + math.e,
    "softplus(x) - relu(-x)": lambda x: math.log1p(math.exp(x)) - max(-x, 0),
}


@pytest.mark.parametrize("text", MEANT)
def test_a_formula_means_what_it_says(text):
    tree = formulas.read(text)
    code = formulas.written(tree)
    for x in (-1.3, 0.0, 0.7, 2.0):
        expected = MEANT[text](x)
        # A few roundings of numbers of order ten.
        assert abs(float(formulas.value_of(tree, x, formulas.PLAIN)) - expected) < 1e-13
        assert abs(float(eval(code, {"jnp": jnp, "jax": jax, "x": x})) - expected) < 1e-13


REFUSED = [
    *("", " ", "x +", "(x", "x)", "2x", "x x", "tanh x", "tanh()", "max(x)", "sin(x, x)", "y", "X"),
    *(
        "__import__('os')",
        "x.__class__",
        "lambda x: x",
        "x if x else 0",
        "x;x",
        "exec(x)",
        "1e999*x",
    ),
    *("x" * 201, "(" * 60 + "x" + ")" * 60, "-" * 60 + "x", "x^" * 60 + "x", "1e9*x", "x\n+\t`x`"),
]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:12])
def test_anything_else_is_refused_in_words(text):
    with pytest.raises(tl.InputError, match=r"^formula: "):
        formulas.read(text)


@settings(max_examples=300)
@given(st.text("x0123.+-*/^(),eptanhmxsi _[]'\"\\;:=", max_size=30))
def test_whatever_is_typed_is_a_tree_or_refused(text):
    try:
        tree = formulas.read(text)
    except tl.InputError:
        return
    formulas.written(tree)
    formulas.parity(tree)


def test_a_tower_of_powers_is_read_at_once():
    assert formulas.constant(formulas.read("9^9^9^9^9^9^9^9^9^9^9^9^9^9^9^9^9^9^9^9")) is None


@pytest.mark.parametrize(
    ("text", "parity", "kinks"),
    [
        ("max(x, 0)", "none", [0.0]),
        ("abs(x) - 1", "even", [0.0]),
        ("min(max(x, -1), 1)", "none", [-1.0, 1.0]),  # odd, which rules do not see
        ("max(abs(x) - 1, 0)", "even", [-1.0, 0.0, 1.0]),
        ("relu(2*x - 1)", "none", [0.5]),
        ("x^3 - sin(x)", "odd", []),
        ("-x", "odd", []),
    ],
)
def test_parity_and_kinks(text, parity, kinks):
    tree = formulas.read(text)
    assert formulas.parity(tree) == parity
    assert list(formulas.kinks(tree)) == kinks


def test_kinks_are_found_to_the_last_digit():
    # Rounded to 14 digits after the point, from a root to 1e-15.
    assert formulas.kinks(formulas.read("abs(x^2 - 2)")) == pytest.approx(
        (-math.sqrt(2), math.sqrt(2)), abs=1e-14, rel=0
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abs(" * 24 + "x" + ")" * 24, "24 times, and at most 6"),
        ("+".join(["x"] * 90), "89 operations, and at most 30"),
        ("relu(x)+max(x,1)+min(x,2)" + "+abs(x)" * 5, "8 times"),
    ],
)
def test_a_formula_that_takes_long_is_refused_before_it_is_computed(text, words, monkeypatch):
    monkeypatch.setattr(formulas, "value_of", None)  # whatever computes fails
    with pytest.raises(tl.InputError, match=words):
        formulas.read(text)


def test_a_formula_with_many_kinks_is_refused_before_its_averages_are_computed(monkeypatch):
    monkeypatch.setattr(tl.Activation, "from_function", None)
    with pytest.raises(tl.InputError, match="13 kinks from -20 to 20, and at most 4"):
        formulas.activation("abs(sin(x))")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sin(3x)", "sin(3*x)"),
        ("2x + 3 pi x", "2*x+3*pi*x"),
        ("2(x + 1)(x - 1)", "2*(x+1)*(x-1)"),
        ("x tanh(x)", "x*tanh(x)"),
    ],
)
def test_a_missing_product_is_shown(text, hint):
    with pytest.raises(tl.InputError) as refused:
        formulas.read(text)
    assert refused.value.hint == hint
    formulas.read(hint)


@pytest.mark.parametrize(
    "text", ["1/x", "log(x)", "sqrt(x)", "exp(x^2)", "2", "3y", "x +", "abs x"]
)
def test_hints_are_formulas(text):
    with pytest.raises(tl.InputError) as refused:
        formulas.activation(text)
    formulas.read(refused.value.hint)


def test_a_typed_unit_is_the_unit():
    typed, known = formulas.activation("max(x, 0)"), tl.ReLU()
    # Projected numerically, with the error that it states.
    result = typed.hermite(6)
    assert np.all(np.abs(result.values - known.hermite(6).values) <= result.error + 1e-14)
    assert [float(kink.position) for kink in typed.kinks] == [0.0]


@pytest.mark.parametrize("text", ["1/x", "2"])
def test_what_no_unit_can_do_is_refused(text):
    with pytest.raises(tl.InputError, match=r"^formula: "):
        formulas.activation(text)
