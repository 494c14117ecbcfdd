"""The cross-entropy as the probability of labels: Appendix A of ``milletari2019``, made exact.

The network predicts label μ = 1 with probability q_μ.  The appendix writes the probability of
the labels y as an integral over multipliers λ_μ, one for each label, and evaluates it by steepest
descent for a large number m of labels.  What holds:

- For labels 0 and 1 nothing is large and nothing is neglected: P(y) = exp(m S) with S of eq. (16)
  holds at every m, m = 1 included (`label_probability`).  The saddle of eq. (15) lies at infinity.
- For the number k of labels that are 1, which needs a single multiplier, steepest descent is an
  approximation: log P(k) = Φ − ½ log(2πΦ'') + O(1/m) (`count_probabilities`, `saddle_point`).  If
  all q are equal, Φ = −m KL(y‖q) with y = k/m: m S plus m times the entropy of y, the "constant
  that depends only on y" of eq. (16), and eq. (15) gives the multiplier.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, xlogy

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array
from tutelage._findings import Finding
from tutelage._given import ArrayLike

MOST_LABELS = 20  # 2²⁰ terms take a second and about 200 MB


@validated
def cross_entropy(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """−S = −(1/m) Σ_μ [y log q + (1 − y) log(1 − q)]   (``milletari2019`` eq. (16)).

    Args:
        labels: y in [0, 1], shape (m,).
        probabilities: q in (0, 1), shape (m,).

    >>> print(f"{cross_entropy([1, 0], [0.5, 0.5]):.6f}")  # log 2
    0.693147
    """
    q = _probabilities(probabilities)
    y = _labels(labels, len(q))
    return float(-np.mean(xlogy(y, q) + xlogy(1 - y, 1 - q)))


@validated
def label_probability(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """P(y), by summing over the multipliers λ of all labels   (``milletari2019`` eq. (14)).

        P(y) = 2⁻ᵐ Σ_{λ ∈ {0, π}ᵐ} Π_μ exp(iλ_μ y_μ) [q_μ exp(−iλ_μ) + 1 − q_μ]

    Labels are whole numbers, so that 0 and π are enough: the sum is the indicator of y = ŷ, not a
    Dirac function, and exact.  (The i in front of the sum in eq. (14) belongs to λy alone.)

    Args:
        labels: y, zeros and ones, shape (m,), m ≤ 20.
        probabilities: q in (0, 1), shape (m,).

    >>> print(f"{label_probability([1, 0], [0.3, 0.4]):.2f}")  # 0.3 · 0.6
    0.18
    """
    q = _probabilities(probabilities)
    y = _labels(labels, len(q))
    if not np.all((y == 0) | (y == 1)):
        hint = "saddle_point for the mean of many labels"
        raise InputError("labels", f"{y[(y != 0) & (y != 1)][0]:g}", "a label is 0 or 1", hint)
    if len(q) > MOST_LABELS:
        allowed = f"2^m terms are summed: m is at most {MOST_LABELS}"
        raise InputError("labels", f"{len(q)} labels", allowed, "exp(-m * cross_entropy(y, q))")
    terms = np.ones(1)
    for y_mu, q_mu in zip(y, q, strict=True):  # λ = 0 gives 1, λ = π gives (−1)^y (1 − 2q)
        terms = np.concatenate([terms, terms * (-1) ** y_mu * (1 - 2 * q_mu)])
    return float(np.sum(terms) / len(terms))


@validated
def count_probabilities(probabilities: ArrayLike) -> np.ndarray:
    """P(k) for k = 0 … m labels that are 1, shape (m + 1,): exact, label by label.

    >>> print(count_probabilities([0.5, 0.5]))
    [0.25 0.5  0.25]
    """
    P = np.ones(1)
    for q in _probabilities(probabilities):
        P = np.convolve(P, [1 - q, q])
    return P


@dataclass(frozen=True, repr=False)
class SaddlePoint(Finding):
    """The integral over λ for k labels that are 1, by steepest descent.

    multiplier: x = −iλ_c, real; eq. (15) with y = k/m if all q are equal.
    exponent: Φ = −x k + Σ_μ log(q_μ eˣ + 1 − q_μ).
    curvature: Φ'' = Σ_μ p_μ (1 − p_μ), p_μ the probabilities at the saddle.
    log_probability: Φ − ½ log(2πΦ''), off by O(1/m).
    """

    multiplier: float
    exponent: float
    curvature: float
    log_probability: float


@validated
def saddle_point(count: int, probabilities: ArrayLike) -> SaddlePoint:
    """Steepest descent for P(k), as ``milletari2019`` eqs. (14) to (16) with one multiplier.

    Args:
        count: k, from 1 to m − 1; for k = 0 and k = m the saddle lies at infinity.
        probabilities: q in (0, 1), shape (m,).

    >>> print(f"{saddle_point(2, [0.5] * 4).exponent:.6f}")  # KL(½‖½) = 0
    0.000000
    """
    q = _probabilities(probabilities)
    k, m = _count(count, len(q)), len(q)
    field = logit(q)
    # The solution lies between those for the smallest and for the largest q.
    middle = math.log(k / (m - k))
    low, high = middle - np.max(field) - 1, middle - np.min(field) + 1
    x = brentq(lambda x: float(np.sum(expit(field + x)) - k), low, high, xtol=1e-15, rtol=1e-15)
    p = expit(field + x)
    exponent = float(np.sum(np.logaddexp(field + x, 0) - np.logaddexp(field, 0)) - k * x)
    curvature = float(np.sum(p * (1 - p)))
    log_P = exponent - 0.5 * math.log(2 * math.pi * curvature)
    return SaddlePoint(float(x), exponent, curvature, log_P)


def _probabilities(probabilities: ArrayLike) -> np.ndarray:
    q = finite_array("probabilities", probabilities)
    if q.ndim != 1 or not len(q):
        raise InputError("probabilities", f"shape {q.shape}", "its shape has to be (m,), m >= 1")
    if np.any((q <= 0) | (q >= 1)):
        received = f"{q[(q <= 0) | (q >= 1)][0]:g}"
        allowed = "a probability of a sigmoid lies between 0 and 1, ends excluded"
        raise InputError("probabilities", received, allowed)
    return q


def _labels(labels: ArrayLike, m: int) -> np.ndarray:
    y = finite_array("labels", labels)
    if y.shape != (m,):
        allowed = f"there has to be one label for each of the {m} probabilities"
        raise InputError("labels", f"shape {y.shape}", allowed)
    if np.any((y < 0) | (y > 1)):
        received = f"{y[(y < 0) | (y > 1)][0]:g}"
        raise InputError("labels", received, "labels lie between 0 and 1")
    return y


def _count(count: int, m: int) -> int:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 0 < count < m:
        allowed = f"it has to be a whole number from 1 to {m - 1}"
        hint = "count_probabilities for all counts, including 0 and m"
        raise InputError("count", repr(count), allowed, hint)
    return int(count)
