"""Closed forms are data of an activation: a made-up unit with closed forms works everywhere.

A unit c g with the readout v/c does what g does with v, so that made-up units that are multiples
of known ones have exact references; those that are not are compared with quadrature.
"""

import ast
from functools import cache
from pathlib import Path

import equinox as eqx
import numpy as np
import pytest

import tutelage as tl
from tutelage import activations
from tutelage._jax import jax, jnp
from tutelage.activations.closed import ClosedForm
from tutelage.activations.hermite import HermiteCoefficients, derivative_coefficients
from tutelage.activations.piecewise import PiecewiseLinear
from tutelage.averages.hermite.coefficients import expand_derivative
from tutelage.averages.methods import Conditional, ErfClosedForm, Orthant, chosen
from tutelage.equilibrium.kernel.kernel import ClosedKernel, kernel_of
from tutelage.equilibrium.kernel.pair import ClosedPair, pair_kernel
from tutelage.equilibrium.kernel.series import hermite_data
from tutelage.online.flow import moments
from tutelage.online.moments.erf import ErfMoments
from tutelage.online.moments.signs import SignMoments

SOURCE = Path(tl.__file__).parent
# A few dozen operations on numbers of order one.
ROUNDING = 64 * np.finfo(float).eps


class Scaled(tl.Activation):
    """c g of a known g, with only its values and its closed form."""

    factor: float
    of: tl.Activation

    @property
    def closed_form(self):
        terms = self.of.closed_form.terms
        return ClosedForm(**{name: self.factor * x for name, x in terms.items()})

    def _g(self, x):
        return self.factor * self.of(x)

    def _dg(self, x):
        return self.factor * self.of.derivative(x)

    def _ddg(self, x):
        return self.factor * self.of.second_derivative(x)


class Mixed(tl.Activation):
    """o + m x + d |x| + e erf(x/√2) for any numbers that are given."""

    line: float | None = eqx.field(static=True, default=None)
    modulus: float | None = eqx.field(static=True, default=None)
    erf: float | None = eqx.field(static=True, default=None)
    constant: float | None = eqx.field(static=True, default=None)

    @property
    def closed_form(self):
        return ClosedForm(self.line, self.modulus, self.erf, self.constant)

    def _numbers(self):
        return (x or 0.0 for x in self.closed_form)

    def _g(self, x):
        m, d, e, o = self._numbers()
        return o + m * x + d * jnp.abs(x) + e * jax.scipy.special.erf(x / np.sqrt(2))

    def _dg(self, x):
        m, d, e, _ = self._numbers()
        return m + d * jnp.sign(x) + e * np.sqrt(2 / np.pi) * jnp.exp(-(x**2) / 2)

    def _ddg(self, x):
        *_, e, _ = self._numbers()
        return -e * np.sqrt(2 / np.pi) * x * jnp.exp(-(x**2) / 2)


# Φ(x) is half of 1 + erf; the other two rise with 1.5 on the right.
MADE_UP = {
    "Φ(x)": (Scaled(0.5, tl.Erf(1.0)), ErfClosedForm, ErfMoments),
    "leaky": (Scaled(1.5, tl.LeakyReLU(0.2)), Orthant, SignMoments),
    "linear": (Scaled(1.5, tl.Linear()), Orthant, SignMoments),
}
made_up = pytest.mark.parametrize("case", MADE_UP)
# Units whose terms no named activation has together.
MIXED = (
    Mixed(line=0.3, erf=0.5),
    Mixed(line=0.3, modulus=0.4, constant=-0.2),
    Mixed(line=0.2, modulus=-0.3, erf=0.7, constant=0.1),
)
mixed = pytest.mark.parametrize("g", MIXED, ids=("line, erf", "line, modulus, constant", "all"))


@cache
def covariance(size):
    X = np.random.default_rng(size).standard_normal((size, size + 1))
    return X @ X.T / size


def scenario(g, readout=1.0):
    two = tl.Committee(2, g, readout=[readout, readout])
    return tl.Scenario(two, two, label_noise=0.3)


def overlaps(T):
    return tl.Overlaps(Q=[[0.3, 0.1], [0.1, 0.4]], R=[[0.2, 0.1], [0.05, 0.15]], T=T)


@pytest.mark.parametrize(
    ("case", "kind", "size", "power"),
    [
        pytest.param(case, *kind, marks=[pytest.mark.slow] * ((case, kind[0]) == ("leaky", "i4")))
        for case in MADE_UP
        for kind in (("i2", 2, 2), ("i3", 3, 2), ("i4", 4, 4))
    ],
)
def test_averages(case, kind, size, power):
    g, method, _ = MADE_UP[case]
    assert type(chosen(None, (g, g))) is method
    average = getattr(tl.averages, kind)
    result, error = average(g, covariance(size), return_error=True)
    known, its_error = average(g.of, covariance(size), return_error=True)
    scale = g.factor**power
    assert abs(result - scale * known) <= error + scale * its_error


@pytest.mark.slow
@made_up
def test_online_moments(case):
    g, _, way = MADE_UP[case]
    one, known = scenario(g, 1 / g.factor), scenario(g.of)
    exact, reference = moments(one), moments(known)
    assert type(exact) is type(reference) is way
    state = overlaps(one.T)
    for name in ("first_order", "second_order", "jacobian", "generalization_error"):
        values = [np.asarray(getattr(m, name)(state)) for m in (exact, reference)]
        assert np.max(np.abs(values[0] - values[1])) <= ROUNDING, name


@made_up
def test_equilibrium_kernel(case):
    g, *_ = MADE_UP[case]
    kernel, known, rho = kernel_of(g), kernel_of(g.of), np.linspace(-0.9, 0.9, 7)
    assert type(kernel) is ClosedKernel
    scale = g.factor**2
    for name in ("value", "tilde", "first", "second", "third"):
        result, expected = getattr(kernel, name)(rho), scale * getattr(known, name)(rho)
        assert np.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING), name
    assert np.allclose(kernel.squares(9), scale * known.squares(9), rtol=ROUNDING, atol=ROUNDING)


@mixed
def test_hermite_series_of_mixed_units(g):
    q = jnp.asarray([0.3, 2.0])
    closed, numerical = g.hermite(9, q), activations.projection.project(g, 9, q)
    assert np.all(np.abs(closed.values - numerical.values) <= closed.error + numerical.error)
    at_one = np.asarray(g.hermite(9).values)
    assert np.allclose(g.closed_form.at_unit_variance(9), at_one, rtol=0, atol=ROUNDING)


@mixed
def test_kernels_of_mixed_units_are_their_series(g):
    """Σ c_n² ρⁿ at |ρ| ≤ 1/2, where 60 terms are all to rounding."""
    rho, c = np.array([-0.5, 0.2, 0.4]), np.asarray(g.hermite(60).values)
    kernel, n = kernel_of(g), np.arange(61)
    assert type(kernel) is ClosedKernel
    assert np.allclose(kernel.value(rho), rho[:, None] ** n @ c**2, rtol=0, atol=ROUNDING)
    second = rho[:, None] ** (n[2:] - 2) @ (n * (n - 1) * c**2)[2:]
    assert np.allclose(kernel.second(rho), second, rtol=0, atol=ROUNDING)


# The last one has all terms.
@pytest.mark.parametrize("h", [tl.ReLU(), tl.Erf(1.0), *MIXED], ids=lambda h: h.name)
@pytest.mark.parametrize(
    "g", [*(pytest.param(g, marks=pytest.mark.slow) for g in MIXED[:2]), MIXED[2]]
)
def test_pairs_of_mixed_units_are_their_series(g, h):
    """Σ c_n(1) d_n(q) ρⁿ of the table of pairs, with u of variance 1 and w of variance q."""
    q, rho, n = jnp.asarray([0.5, 2.0]), np.array([[-0.5], [0.4]]), np.arange(61)
    pair = pair_kernel((g, h), q)
    assert type(pair) is ClosedPair
    c, d = np.asarray(g.hermite(60).values), np.asarray(h.hermite(60, q).values)
    covariances = jnp.asarray(rho * np.sqrt(q))
    value = np.sum(rho[..., None] ** n * c * d, axis=-1)
    first = np.sum(rho[..., None] ** (n[1:] - 1) * (n * c * d)[:, 1:], axis=-1) / np.sqrt(q)
    assert np.allclose(pair.value(covariances), value, rtol=0, atol=ROUNDING)
    assert np.allclose(pair.first(covariances), first, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("kind", "size"), [("i2", 2), pytest.param("i3", 3, marks=pytest.mark.slow)]
)
def test_averages_of_a_bent_unit_with_a_constant_are_those_of_quadrature(kind, size):
    g, average = MIXED[1], getattr(tl.averages, kind)
    assert type(chosen(None, (g, g))) is Orthant
    exact = average(g, covariance(size), return_error=True)
    other = average(g, covariance(size), method="quadrature", return_error=True)
    assert abs(exact.value - other.value) <= exact.error + other.error


def test_units_that_no_exact_method_has_are_left_to_one_that_has_them():
    assert type(chosen(None, (MIXED[0],) * 2)) is Conditional
    with pytest.raises(tl.InputError, match="orthant"):
        tl.averages.i2(MIXED[2], covariance(2), method="orthant")


class Tripled(Scaled):
    """3 g of a unit of which a Hermite series is known, and nothing else."""

    factor: float = 3.0
    of: tl.Activation = tl.GELU()

    @property
    def closed_form(self):
        return None

    def hermite_series(self, order, q):
        series = self.of.hermite_series(order, q)
        return HermiteCoefficients(3.0 * series.values, 3.0 * series.error)


def test_a_closed_hermite_series_is_what_averages_of_the_derivative_and_kernels_have():
    """Bit for bit: quadrature would have other last digits and larger errors."""
    g, q = Tripled(), jnp.asarray([0.5, 2.0])
    c = g.hermite_series(7, q)
    result = expand_derivative(g, 6, q)
    assert np.array_equal(result.values, derivative_coefficients(c.values, q))
    assert np.array_equal(result.error, derivative_coefficients(c.error, q))
    squares = hermite_data(g).squares
    series = g.hermite_series(len(squares) - 1, jnp.ones(())).values
    assert np.array_equal(squares, series**2)


def asked_for(tree):
    """Names in ``isinstance``, ``issubclass``, ``type(x) is`` and ``case``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            about = node.args[1:] if ast.unparse(node.func) in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            about = [node.left, *node.comparators]
        else:
            about = [node.cls] if isinstance(node, ast.MatchClass) else []
        for part in (x for expression in about for x in ast.walk(expression)):
            if isinstance(part, ast.Name | ast.Attribute):
                yield part.id if isinstance(part, ast.Name) else part.attr


def imported_activations(tree):
    """Activation classes under the names that a module has them by."""
    names = {*dir(activations), PiecewiseLinear.__name__, "TwoSlopes"} - {"Activation"}
    for node in (x for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)):
        package = (node.module or "").split(".")[1:2]
        if package in (["activations"], ["gates"]):
            yield from (x.asname or x.name for x in node.names if x.name in names)
        elif node.module == "tutelage" and any(x.name == "activations" for x in node.names):
            yield from names


def test_no_code_asks_for_the_class_of_an_activation():
    results = []
    for path in SOURCE.rglob("*.py"):
        folder = path.relative_to(SOURCE).parts[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asked = set(asked_for(tree)) & set(imported_activations(tree))
        if folder != "activations" and asked:
            results.append((str(path.relative_to(SOURCE)), sorted(asked)))
    assert not results, "read activation.closed_form instead"


def test_a_question_for_a_class_would_be_seen():
    source = "from tutelage.activations import Erf as E\nisinstance(g, (int, E)) or type(g) is E"
    assert set(asked_for(ast.parse(source))) & set(imported_activations(ast.parse(source))) == {"E"}
