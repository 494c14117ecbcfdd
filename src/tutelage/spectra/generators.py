"""Sets of examples: a straight boundary, a curved one, and the digits.

The first two have the sizes and the geometry of those of milletari2019 (Section 3, Appendix B):
two features in the same box, the same number of points of either class, and a gap between the
classes.  They are drawn here, not copied.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, positive_integer
from tutelage._memory import check_memory
from tutelage.runs.seed import check_seed
from tutelage.spectra.examples import Examples, examples

# Fraction of class 1 in the two sets of the paper: 21 of 51 and 480 of 863 points.
LINEAR_SHARE, CURVED_SHARE = 21 / 51, 480 / 863


@validated
def linear_examples(count: int = 51, *, seed: int = 0) -> Examples:
    """Draw points on both sides of a straight line, none closer to it than 0.1.

    The features lie in [0, 4.2] × [1.5, 4.7]; the label is 1 where x₁ + 2 x₂ > 8.9.

    >>> linear_examples().sizes(10)
    (2, 10, 1)
    """
    w, level, margin = np.array([1.0, 2.0]), 8.9, 0.1

    def side(X: np.ndarray) -> np.ndarray:
        return (X @ w - level) / np.linalg.norm(w)

    box = np.array([[0.0, 1.5], [4.2, 4.7]])
    return _draw(count, seed, LINEAR_SHARE, box, side, margin, "linear")


@validated
def curved_examples(count: int = 863, *, seed: int = 0) -> Examples:
    """Draw points inside and outside a region with a wavy boundary, none closer than 0.008.

    The features lie in [0.04, 1] × [0.4, 1].  Class 0 is the region right of 0.2 + 0.04 sin 12 x₂,
    below 0.8 + 0.07 cos 18(x₁ − 0.3) − 0.25 (x₁ − 0.6)₊ and above 0.5 + 0.12 cos 14(x₁ − 0.57):
    two hills above, two legs below.

    >>> int(curved_examples().labels.sum())
    480
    """

    def side(X: np.ndarray) -> np.ndarray:
        u, v = X.T
        top = 0.80 + 0.07 * np.cos(18 * (u - 0.3)) - 0.25 * np.maximum(u - 0.6, 0.0)
        bottom = 0.50 + 0.12 * np.cos(14 * (u - 0.57))
        left = 0.20 + 0.04 * np.sin(12 * v)
        # Slopes of the curves reach 1.7: a vertical distance is at most twice the true one.
        return -np.minimum(np.minimum((top - v) / 2, (v - bottom) / 2), u - left)

    box = np.array([[0.04, 0.40], [1.0, 1.0]])
    return _draw(count, seed, CURVED_SHARE, box, side, 0.008, "curved")


@validated
def digits() -> Examples:
    """The 1797 images of 8 × 8 pixels of ten digits that scikit-learn ships, as in milletari2019.

    Pixels are divided by 16, their largest value, so that features lie in [0, 1].

    >>> digits().sizes(25)
    (64, 25, 10)
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(
            "the digits are those of scikit-learn, which is not installed. "
            "Try: pip install 'tutelage[digits]', or pip install scikit-learn"
        ) from None
    images: Any = load_digits()
    return examples(images.data / 16.0, images.target, "digits")


def _draw(
    count: int,
    seed: int,
    share: float,
    box: np.ndarray,
    side: Callable[[np.ndarray], np.ndarray],
    margin: float,
    name: str,
) -> Examples:
    """Draw uniformly in the box outside the margin, with the exact share of class 1."""
    count = positive_integer("count", count)
    if count < 2:
        raise InputError("count", str(count), "two classes need at least 2 points", "count=51")
    check_memory("count", count, lambda count: 500 * count, "the points")
    random = np.random.default_rng(check_seed(seed))
    ones = min(max(round(share * count), 1), count - 1)
    accepted: list[list[np.ndarray]] = [[], []]
    counts = (count - ones, ones)
    while any(len(have) < need for have, need in zip(accepted, counts, strict=True)):
        X = random.uniform(box[0], box[1], size=(count, 2))
        s = side(X)
        accepted[0] += list(X[s < -margin])
        accepted[1] += list(X[s > margin])
    X = np.array(accepted[0][: counts[0]] + accepted[1][: counts[1]])
    y = np.repeat([0, 1], counts)
    order = random.permutation(count)
    return examples(X[order], y[order], name)
