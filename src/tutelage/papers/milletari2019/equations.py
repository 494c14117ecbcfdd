"""Milletari, Chotibut and Trevisanutto (2019), Section 2 and Appendix A: gates and labels.

Eqs. (2) to (7), as the package has the activations by name and as they follow from the partition
function of a gate.  The paper's noise parameter β is the `beta` of `Sigmoid`, `Swish` and the
gates; its σ is the logistic function.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from tutelage import gates
from tutelage.activations import Sigmoid, Swish
from tutelage.papers.claim import counterexample
from tutelage.papers.milletari2019 import KEY
from tutelage.papers.row import (
    Row,
    closed_form,
    compare,
    correct,
    formula,
    method,
    unpublished,
    worst,
)
from tutelage.papers.simulated import statement

NOISES, FIELDS = (1.0, 2.0), (0.7, -1.5)  # β and h
TWO = gates.Gate([0, 1])
LABELS, PROBABILITIES = (1, 0, 0, 1, 1), (0.9, 0.2, 0.4, 0.7, 0.6)  # y and q of Appendix A
LEVEL = 0.01
PHASE_SPACE_NOTE = (
    "milletari2019, the factor of eq. (7) for a sigmoid is printed as σ(βh)σ(−βh); the derivative "
    "of σ(βh) with respect to h has one more factor β, as the printed one for Swish has "
    "(docs/gates.md; tests/gates/test_gate_functions.py)."
)
NOISELESS_NOTE = (
    "milletari2019, Sec. 2.3 calls linear networks, β → 0, a noiseless limit. There every state of "
    "a gate is equally likely: its entropy is log 2, the largest there is (docs/gates.md)."
)
IMPOSSIBLE_NOTE = (
    "milletari2019, Sec. 2.4: where the signal is much smaller than the noise, |h| ≪ 1/β, the "
    "factor ĝ of Swish is ½, and not zero; it vanishes for h ≪ −1/β (docs/gates.md)."
)
INTERVAL_NOTE = (
    "milletari2019, Sec. 2.4: Swish is negative for every h < 0. σ(h)/β is positive, so that the "
    "printed interval σ(h)/β < h < 0 is empty; what changes its sign at negative h is ĝ, at "
    "βh = −1.278465 (docs/gates.md)."
)
DEEPER_NOTE = (
    "milletari2019, Sec. 2.3 calls the mean field exact for units with given fields, as in the "
    "first layer, and does not mention drawn gates behind other drawn gates. There fields "
    "fluctuate, and ⟨hσ(βh)⟩ is not that of the mean field: the difference, a sum over the number "
    "of open gates, is {:.5f} (docs/gates.md, tests/gates/test_stochastic_networks.py)."
)
L1_NOTE = (
    "milletari2019, eq. (1): w = (2, -1) has the sum 1 and the L1 norm 3, and (1 + a, -a) any norm "
    "1 + 2a. The constraint fixes the L1 norm where all weights are non-negative, and only there."
)
NORMALIZATION_NOTE = (
    "milletari2019, eq. (3): the product of the Z over examples and the factor m⁻¹ do not belong "
    "together. Eq. (1) has the product of δ(x - x_μ) over examples, which is no distribution of x. "
    "With their mean in its place, P(s) is the mean of exp(...)/Π_i Z_iμ over examples, and its "
    "sum over the states is 1. The printed value is that of eq. (3) with the product of the Z of "
    "all examples, and the numerator, whose μ stays free, summed over examples."
)


def probabilities() -> Iterator[Row]:
    """Eqs. (1) to (4)."""
    w = np.array([2.0, -1.0])
    refuted = bool(w.sum() == 1 and np.abs(w).sum() != 1)
    item = "eq. (1), Σ_i w_ij = 1 is an L1 regularization"
    yield counterexample(KEY, item, "formally equivalent", refuted, L1_NOTE)
    yield _layer()
    yield _channel()
    # By automatic differentiation of log Z, which uses no formula of an activation.
    signs = gates.Gate([-1, 1])
    yield _at_points("eq. (4), ⟨s⟩ = σ(βh) from Z", lambda β, h: _logistic(β * h), TWO.mean)
    item = "abstract, tanh(βh) as ⟨s⟩ of the states ±1"
    yield _at_points(item, lambda β, h: math.tanh(β * h), signs.mean)
    yield _first_layer()
    yield _second_layer()


def signals() -> Iterator[Row]:
    """Eqs. (5) and (6)."""
    item = "eq. (5), ⟨j⟩ = h σ(βh) from Z"
    yield _at_points(item, lambda β, h: h * _logistic(β * h), TWO.transmitted)
    item = "eq. (6), ⟨j⟩ from Z at β = ∞"
    yield _on_both_sides(item, "max(h, 0)", _positive, TWO.signal(math.inf))
    # exp(−10³) underflows: at this β the limit is reached in float64.
    yield _on_both_sides("eq. (6), Swish → ReLU for β → ∞", "max(h, 0)", _positive, Swish(1e3))
    # Swish(β) = h/2 + βh²/4 + …: the next term is below rounding.
    item = "Sec. 2.3, Swish → linear for β → 0"
    yield _on_both_sides(item, "h/2", lambda h: h / 2, Swish(1e-16))
    entropy = float(gates.curves(TWO, [0.0], [1.0])["entropy"][0, 0])
    item = "Sec. 2.3, entropy of a gate in the limit of linear networks, β → 0 (noiseless)"
    none, exact = closed_form("0", 0.0), closed_form("log 2", math.log(2))
    yield correct(KEY, item, none, exact, entropy, NOISELESS_NOTE)


def slopes() -> Iterator[Row]:
    """Check eq. (7) and the statements of Sec. 2.4 about its factor."""
    yield _gradient()
    yield _at_points("eq. (7), factor ĝ of Swish", _factor, lambda β, h: Swish(β).derivative(h))
    yield from _phase_space_factors()
    yield from _limits_of_factors()
    h = np.linspace(-5.0, -1e-3, 200)
    negative = np.asarray(Swish(1.0)(h)) < 0
    inside = np.asarray(Sigmoid(1.0)(h)) < h
    item = "Sec. 2.4, part of the h < 0 with Swish(1) < 0 that has σ(h)/β < h < 0"
    every, nothing = closed_form("1", 1.0), closed_form("0", 0.0)
    part = float(np.mean(inside[negative]))
    yield correct(KEY, item, every, nothing, part, INTERVAL_NOTE)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _positive(h: float) -> float:
    return max(h, 0.0)


def _factor(beta: float, h: float) -> float:
    return _logistic(beta * h) * (1 + h * beta * _logistic(-beta * h))


def _at_points(
    item: str, printed: Callable[[float, float], float], computed: Callable[[float, float], Any]
) -> Row:
    """Compare a function of β and h at four points."""
    points = (
        compare(KEY, f"β = {β:g}, h = {h:g}", formula(printed(β, h)), float(computed(β, h)))
        for β in NOISES
        for h in FIELDS
    )
    return worst(f"{item}, β = 1 and 2, h = 0.7 and -1.5", points)


def _on_both_sides(
    item: str, text: str, printed: Callable[[float], float], computed: Callable[[float], Any]
) -> Row:
    """Compare a limit at a positive and at a negative field."""
    points = (
        compare(KEY, f"h = {h:g}", closed_form(text, printed(h)), float(computed(h)))
        for h in (1.0, -1.0)
    )
    return worst(f"{item}, h = 1 and -1", points)


def _phase_space_factors() -> Iterator[Row]:
    """Check the factor that the equation lacks, which is 1 at β = 1."""
    for beta in NOISES:
        points = []
        for h in FIELDS:
            printed = _logistic(beta * h) * _logistic(-beta * h)
            computed = float(Sigmoid(beta).derivative(h))
            texts = (formula(printed), formula(beta * printed))
            points.append(correct(KEY, f"h = {h:g}", *texts, computed, PHASE_SPACE_NOTE))
        yield worst(f"eq. (7), factor g of Sigmoid, β = {beta:g}, h = 0.7 and -1.5", points)


def _layer() -> Row:
    """Return the log of the denominator of eq. (2), from the free energy of a layer of
    three gates.
    """
    beta, h = 2.0, np.array([0.7, -1.5, 0.2])
    printed = sum(math.log1p(math.exp(beta * x)) for x in h)
    computed = -beta * float(gates.layer(TWO, beta, h).free_energy)
    item = "eq. (2), log Π_i (1 + exp βh_i), three units, β = 2"
    return compare(KEY, item, formula(printed), computed)


def _channel() -> Row:
    """Compute eq. (3): the probability of the state (1, 0) of two gates, over three examples."""
    beta = 2.0
    h = np.array([[0.7, -1.5], [0.2, 0.4], [-0.3, 1.1]])
    Z = 1 + np.exp(beta * h)
    weights = np.exp(beta * h[:, 0])  # exp(-β Σ_i H_i) of the state (1, 0)
    printed = float(np.sum(weights) / (np.prod(Z) / len(h)))
    exact = float(np.mean(weights / np.prod(Z, axis=1)))
    open_ = np.array([[float(TWO.mean(beta, x)) for x in row] for row in h])
    computed = float(np.mean(open_[:, 0] * (1 - open_[:, 1])))
    item = "eq. (3), P(s) of the state (1, 0) of two gates, three examples, β = 2"
    return correct(KEY, item, formula(printed), formula(exact), computed, NORMALIZATION_NOTE)


def _first_layer() -> Row:
    """Sample 20 units with five inputs: the largest deviation in standard errors, at the level
    0.01.
    """
    random = np.random.default_rng(2019)
    W, x = random.normal(size=(20, 6)) / math.sqrt(6), random.normal(size=(5, 6))
    drawn = gates.sample_network([W], x, TWO, 1.0, samples=20_000)
    off = (drawn["signal"] - drawn["mean_field"]) / drawn["standard_error"]
    largest = float(np.max(np.abs(off)))
    threshold = float(norm.isf(LEVEL / (2 * off.size)))
    item = "Sec. 2.3, ⟨j⟩ of 20 gates that are drawn, from the mean field, in standard errors"
    return compare(KEY, item, method("exact: 0", 0.0, threshold), largest)


def _second_layer() -> Row:
    """Sample one unit behind 16 gates at h = 1, weights 1/4, with a bias that makes ⟨h⟩
    = ½; β = 1.
    """
    n, p = 16, _logistic(1.0)
    W, b = [np.ones((n, 1)), np.full((1, n), 0.25)], [np.zeros(n), np.array([0.5 - n * p / 4])]
    drawn = gates.sample_network(W, [1.0], TWO, 1.0, samples=40_000, biases=b).isel(unit=-1)
    off, error = (float(drawn[name][0]) for name in ("signal", "standard_error"))
    off -= float(drawn["mean_field"][0])
    k = np.arange(n + 1)
    swish = [h * _logistic(h) for h in k / 4 + b[1][0]]
    difference = float(np.dot(binom.pmf(k, n, p), swish)) - 0.5 * _logistic(0.5)
    item = "Sec. 2.3, ⟨j⟩ of a unit behind 16 gates that are drawn, less the mean field"
    return unpublished(item, off, error, DEEPER_NOTE.format(difference), KEY)


def _gradient() -> Row:
    """Compute ∂L/∂w of L = ½ Σ (y − ŷ)²/m for ŷ = Swish(w·a), by automatic differentiation."""
    from tutelage._jax import jax, jnp

    random = np.random.default_rng(7)
    a, y, w = random.normal(size=(6, 3)), random.normal(size=6), random.normal(size=3)
    unit = Swish(2.0)

    def loss(w):
        return 0.5 * jnp.mean((y - unit(jnp.asarray(a) @ w)) ** 2)

    h = a @ w
    residual, factor = np.asarray(unit(h)) - y, np.asarray(unit.derivative(h))
    printed = np.mean((residual * factor)[:, None] * a, axis=0)
    item = "eq. (7), ∂L/∂w of one of three weights, six examples, Swish(2), e = ŷ − y"
    computed = float(jax.grad(loss)(jnp.asarray(w))[0])
    return compare(KEY, item, formula(float(printed[0])), computed)


def _limits_of_factors() -> Iterator[Row]:
    """Check limits at βh = ±50, where exp(−|βh|) is below the rounding of 1, and at |βh| ≪ 1."""
    half = closed_form("const. = 1/2", 0.5)
    points = (
        compare(KEY, f"h = {h:g}", half, float(gates.backpropagation_factor(TWO, 0.0, h)))
        for h in (-3.0, 0.0, 3.0)
    )
    yield worst("Sec. 2.4, factor of a linear network, Swish at β → 0, h = -3, 0 and 3", points)
    item = "Sec. 2.4, factor g of Sigmoid for h ≫ 1/β, β = 1, h = 50"
    yield compare(KEY, item, closed_form("0", 0.0), float(Sigmoid(1.0).derivative(50.0)))
    item = "Sec. 2.4, factor ĝ of Swish for h ≫ 1/β, β = 1, h = 50"
    yield compare(KEY, item, closed_form("1", 1.0), float(Swish(1.0).derivative(50.0)))
    item = "Sec. 2.4, factor ĝ of Swish where the signal is below the noise, β = 1, h = 10⁻²⁰"
    printed, exact = closed_form("learning is impossible: 0", 0.0), closed_form("1/2", 0.5)
    small = float(Swish(1.0).derivative(1e-20))
    yield correct(KEY, item, printed, exact, small, IMPOSSIBLE_NOTE)
    item = "Sec. 2.4, factor ĝ without noise, β = ∞"
    factor = partial(gates.backpropagation_factor, TWO, math.inf)
    yield _on_both_sides(item, "θ(h)", lambda h: float(h > 0), factor)


def labels() -> Iterator[Row]:
    """Eqs. (15) and (16): exact for single labels, and for the number of labels in the limit of
    many.
    """
    pairs = list(zip(LABELS, PROBABILITIES, strict=True))
    S = sum(math.log(q) if y else math.log(1 - q) for y, q in pairs)
    P = gates.label_probability(LABELS, PROBABILITIES)
    item = f"eq. (16), log P(y) = m S, {len(pairs)} labels, all multipliers summed"
    yield compare(KEY, item, formula(S), math.log(P))
    multipliers, exponents = [], []
    m, q = 4, 0.3
    for k in (1, 3):
        y = k / m
        point, name = gates.saddle_point(k, [q] * m), f"mean label {y:g}"
        printed = formula(math.log(y * (1 - q) / (q * (1 - y))))
        multipliers.append(compare(KEY, name, printed, point.multiplier))
        printed = formula(y * math.log(q / y) + (1 - y) * math.log((1 - q) / (1 - y)))
        exponents.append(compare(KEY, name, printed, point.exponent / m))
    means = f"the mean of {m} labels is 0.25 and 0.75, q = {q:g}"
    yield worst(f"eq. (15), −iλ_c, {means}", multipliers)
    yield worst(f"eq. (16) with its constant, {means}", exponents)
    sizes = (4, 16, 64, 256)
    # ln P(a quarter of m labels is 1)/m minus the exponent at the saddle point.
    gaps = [
        abs(
            float(binom.logpmf(n // 4, n, q)) / n - gates.saddle_point(n // 4, [q] * n).exponent / n
        )
        for n in sizes
    ]
    item = f"App. A, error of eq. (16) for each label falls with m, m = {sizes}, q = {q:g}"
    yield statement(KEY, item, "more and more correct as m increases", np.diff(gaps) < 0)
