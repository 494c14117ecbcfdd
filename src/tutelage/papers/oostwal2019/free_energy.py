"""Oostwal, Straat and Biehl (2019): free energy and entropy, Sec. II D; one unit, Appendix C."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.integrate import quad

from tutelage import equilibrium
from tutelage.activations import Activation, Erf, ReLU, Sigmoid, Tanh
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.oostwal2019.error import STATES, error, point, site_symmetric
from tutelage.papers.oostwal2019.loads import at, best, load
from tutelage.papers.oostwal2019.measures import holds_in_cases, power, vanishing_error
from tutelage.papers.row import (
    Published,
    Row,
    closed_form,
    compare,
    correct,
    formula,
    method,
    worst,
)

NOTE_NOISE = (
    "oostwal2019 Sec. II D, below eq. (13): the density exp(-βE) is stationary if the noise of the "
    "Langevin equation has the strength 2/β, not 2β. Found from the balance of d⟨w²⟩/dt for "
    "E = w⁴/4; a Langevin equation that is integrated says the same "
    "(tests/papers/test_oostwal2019.py)."
)


def free_energy() -> Iterator[Row]:
    """Eqs. (13) to (21), and the factor γ of Sec. II A."""
    yield _factor()
    yield _noise()
    yield _equation_18()
    yield _equation_19()
    yield _equation_20()
    matrix = at(Erf(), 5, 46.0, "R > S").blocks
    count = sum(len(block.eigenvalues) * block.multiplicity for block in matrix)
    item = "below eq. (21), number of overlaps in the full matrix of second derivatives, K = 5"
    yield compare(KEY, item, closed_form("K² + K(K - 1)/2 = 35", 35.0), count)


def _equation_18() -> Row:
    """Compare eq. (18) with the volume (17): frequencies of overlaps of random weights, K = M = 2.

    Between boxes around two states the volumes differ by a factor exp(N Δs), up to a factor that
    does not depend on N; so Δs is the change of its logarithm from N = 20 to N = 60.
    """
    few, many = (_log_ratio(*_counts(N)) for N in VOLUME_INPUTS)
    inputs = VOLUME_INPUTS[1] - VOLUME_INPUTS[0]
    slope = (many[0] - few[0]) / inputs
    error = math.hypot(few[1], many[1]) / inputs
    predicted = np.diff([_predicted(N) for N in VOLUME_INPUTS])[0] / inputs
    item = "eq. (18), Δs of two states from the volume (17), random weights, K = M = 2"
    # 2.6 standard errors: the level 0.01.
    printed = method(f"½ Δ ln det C = {predicted:.5f}", predicted, 2.576 * error)
    return replace(compare(KEY, item, printed, slope), uncertainty=error)


VOLUME_INPUTS, VOLUME_DRAWS, BOX = (20, 60), 100_000, 0.12
# R_11, R_12, R_21, R_22 and Q_12 of two states.
VOLUME_STATES = np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.2, 0.0, 0.0, 0.2, 0.15]])


def _counts(N: int) -> np.ndarray:
    """Count the random students whose overlaps lie in the box around each state."""
    random, counts = np.random.default_rng(1910), np.zeros(2)
    for _ in range(VOLUME_DRAWS // 20_000):
        w = random.normal(size=(20_000, 2, N))
        w /= np.linalg.norm(w, axis=2, keepdims=True)
        # Teachers are the first two axes.
        overlaps = np.column_stack([w[:, :, :2].reshape(-1, 4), np.sum(w[:, 0] * w[:, 1], axis=1)])
        near = np.abs(overlaps[:, None] - VOLUME_STATES).max(axis=2) < BOX
        counts += near.sum(axis=0)
    return counts


def _log_ratio(before: float, after: float) -> tuple[float, float]:
    """Return ln of a ratio of counts, and its standard error."""
    return math.log(after / before), math.sqrt(1 / after + 1 / before)


def _predicted(N: int) -> float:
    """Predict ln of the ratio of the counts in two boxes: ∫ exp(N s) over each box, by eq. (18).

    The density of the overlaps is det C^{(N - 2K - 1)/2}, of which eq. (18) has the power N/2.
    """
    shifts = np.random.default_rng(17).uniform(-BOX, BOX, size=(100_000, 1, 5))
    R11, R12, R21, R22, Q = np.moveaxis(VOLUME_STATES + shifts, 2, 0)
    # det C with T = 1 is that of Q - R Rᵀ.
    first, second, both = 1 - R11**2 - R12**2, 1 - R21**2 - R22**2, Q - R11 * R21 - R12 * R22
    volume = np.mean((first * second - both**2) ** ((N - 5) / 2), axis=0)
    return float(np.log(volume[1] / volume[0]))


def _equation_19() -> Row:
    points = []
    for K, R, S, C in STATES:
        covariance = np.asarray(site_symmetric(K, R, S, C).covariance)
        computed = 0.5 * float(np.linalg.slogdet(covariance)[1])
        printed = _value(entropy(K, R, S, C), K)
        points.append(compare(KEY, point(K, R, S, C), printed, computed))
    return worst("eq. (19), s = ½ ln det C, at three states of K = 2, 5 and 10", points)


def _equation_20() -> Row:
    points = []
    for g, K, a, kind in ((Erf(), 5, 46.0, "R > S"), (ReLU(), 10, 10.0, "R < S")):
        s = at(g, K, a, kind)
        epsilon = error(g, site_symmetric(K, s.R, s.S, s.C))
        printed = a * K * epsilon - entropy(K, s.R, s.S, s.C)
        name = f"{kind}, α = {a:g}, K = {K}, {g.name}"
        # ε_g is a sum of K² averages over K, and is multiplied by αK.
        points.append(compare(KEY, name, _value(printed, a * K * K), s.free_energy))
    return worst("eq. (20), βf of a state of erf, K = 5, and of one of the ReLU, K = 10", points)


def entropy(K: int, R: float, S: float, C: float) -> float:
    """Eq. (19) as printed."""
    together = 1 + (K - 1) * C - ((R - S) + K * S) ** 2
    return 0.5 * math.log(together) + 0.5 * (K - 1) * math.log(1 - C - (R - S) ** 2)


def _factor() -> Row:
    """Check that γ g(x) acts as g(x) with γ²α instead of α."""
    # 1/(1 + e^(−2x)) = ½ + ½ tanh x: γ = ½ and a constant.
    (half, error_1), (one, error_2) = (load(g, 5, "coexists") for g in (Sigmoid(2.0), Tanh()))
    uncertainty = half / one * (error_1 / half + error_2 / one)
    item = "Sec. II A, α_c(5) of tanh over that of ½ tanh"
    return compare(KEY, item, closed_form("γ² = 1/4", 0.25), one / half, uncertainty)


def _noise() -> Row:
    """D with d⟨w²⟩/dt = −2⟨w E'(w)⟩ + D = 0 in the density exp(−βE), for E = w⁴/4."""
    β = 4.0
    Z, _ = quad(lambda w: math.exp(-β * w**4 / 4), -math.inf, math.inf)
    moment, inaccuracy = quad(lambda w: w**4 * math.exp(-β * w**4 / 4), -math.inf, math.inf)
    item = "below eq. (13), strength of the Langevin noise for exp(-βE), β = 4"
    printed, exact = closed_form("2β = 8", 2 * β), closed_form("2/β = 0.5", 2 / β)
    return correct(KEY, item, printed, exact, 2 * moment / Z, NOTE_NOISE, 4 * inaccuracy / Z)


def one_unit() -> Iterator[Row]:
    """Eqs. (29), (32) and (33), and large loads."""
    R = 0.7
    erf = math.pi * R * math.sqrt(4 - R**2) / (2 * (1 - R**2))
    relu = 4 * math.pi * R / ((1 - R**2) * (math.pi + 2 * math.asin(R)))
    for g, a, equation in ((Erf(), erf, 32), (ReLU(), relu, 33)):
        state = equilibrium.states(g, 1, a)[0]
        item = f"R of a single unit at the α of eq. ({equation}) for R = 0.7, {g.name}"
        yield compare(KEY, item, closed_form("0.7", R), state.R)
        s = a * state.generalization_error - state.free_energy
        item = f"eq. (29), entropy of a single unit at the same α, {g.name}"
        yield compare(KEY, item, _value(0.5 * math.log(1 - R**2), a), s)
        loads = np.linspace(0.0, 50.0, 101)
        grown = np.diff([equilibrium.states(g, 1, b)[0].R for b in loads])
        item = f"App. C, R grows with α from 0 to 50, without a jump, K = 1, {g.name}"
        smooth = np.append(grown > 0, np.max(grown) < 0.5)
        yield holds_in_cases(item, "increases smoothly", smooth)
        item = f"App. C, power of α in 1 - R for α → ∞, K = 1, {g.name}"

        def remaining(b: float, g: Activation = g) -> float:
            return 1 - best(g, 1, b).R

        far = (1e4, 4e4, 1.6e5)  # at larger loads 1 - R is rounded
        yield power(item, "-1", -1.0, remaining, far)
    yield from _asymptotics()


def _asymptotics() -> Iterator[Row]:
    """ε_g ~ 1/(2α) for one unit (Appendix C), ε_g ∝ 1/α for more."""
    for g in (Erf(), ReLU()):
        # 2αε_g = 1 + c/√α + … or 1 + c/α + …: its distance from 1 is at most its change between a
        # quarter of the load and the load.
        near, far = (2 * a * best(g, 1, a).generalization_error for a in (2.5e7, 1e8))
        item = f"2αε_g for α → ∞, K = 1, {g.name}"
        yield compare(KEY, item, closed_form("1", 1.0), far, 2 * abs(far - near))
        yield vanishing_error(g, 5)


def weak_alignment() -> Row:
    """Appendix D: S = 2/(K − 1) at R = −1."""
    K = 10**6
    near, value = ((K - 1) * at(ReLU(), K, a, "R < S").S for a in (1e4, 1e5))
    item = "App. D, (K - 1) S of the state R < S for K → ∞, then α → ∞"
    return compare(KEY, item, closed_form("2", 2.0), value, abs(value - near))


def _value(value: float, scale: float) -> Published:
    return formula(value, scale)
