"""Newton's method: known roots, its order, and its behaviour where it fails."""

import numpy as np
import pytest

from tutelage.solve.newton import HALVINGS, newton


def circle_and_line(x):
    """x² + y² = 2 and x = y: roots at ±(1, 1)."""
    a, b = x[..., 0], x[..., 1]
    f = np.stack([a**2 + b**2 - 2, a - b], axis=-1)
    rows = [np.stack([2 * a, 2 * b], axis=-1), np.stack([1 + 0 * a, -1 + 0 * b], axis=-1)]
    return f, np.stack(rows, axis=-2)


def arctangent(x):
    return np.arctan(x), (1 / (1 + x**2))[..., None]


def logarithm(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.log(x) + 2, (1 / x)[..., None]


def square_root_of_two(x):
    return x**2 - 2, (2 * x)[..., None]


def test_one_system_has_the_known_root_to_all_digits():
    root = newton(circle_and_line, np.array([3.0, 0.5]), steps=20, tolerance=1e-6)
    np.testing.assert_allclose(root.x, 1.0, rtol=4e-16)
    assert root.converged and root.residual < 1e-15


def test_entries_of_a_batch_are_independent():
    starts = np.array([[[2.0, 1.0], [-2.0, -1.0]], [[np.nan, 1.0], [5.0, 5.0]]])
    root = newton(circle_and_line, starts, steps=30, tolerance=1e-12)
    np.testing.assert_array_equal(root.converged, [[True, True], [False, True]])
    np.testing.assert_allclose(root.x[0], [[1, 1], [-1, -1]], atol=1e-14)
    assert root.residual[1, 0] == np.inf and root.steps[1, 0] == 0
    alone = newton(circle_and_line, starts[0, 0], steps=30, tolerance=1e-12)
    np.testing.assert_array_equal(alone.x, root.x[0, 0])
    assert alone.steps == root.steps[0, 0]


def test_steps_are_shortened_where_whole_ones_diverge():
    far = np.array([[3.0], [-20.0]])  # whole steps on the arctangent diverge beyond 1.39
    root = newton(arctangent, far, steps=30, tolerance=1e-12)
    assert np.all(root.converged) and np.max(np.abs(root.x)) < 1e-12


def test_steps_stay_where_they_are_allowed():
    seen = []

    def watched(x):
        seen.append(np.min(x))
        return logarithm(x)

    start = np.array([[2.0], [0.3]])  # a whole step from 2 leads to -3.4
    root = newton(watched, start, steps=30, tolerance=1e-12, allowed=lambda x: x[..., 0] > 0)
    np.testing.assert_allclose(root.x, np.exp(-2), rtol=1e-13)
    assert min(seen) > 0


def test_singular_jacobian_gets_the_shortest_step():
    """f = (x + y - 1)(1, 1): a line of roots; the nearest one to the start is found at once."""

    def line(x):
        f = np.sum(x, axis=-1, keepdims=True) - 1
        return np.concatenate([f, f], axis=-1), np.ones((*x.shape, 2))

    root = newton(line, np.array([2.0, 0.0]), steps=5, tolerance=1e-12)
    np.testing.assert_allclose(root.x, [1.5, -0.5], atol=1e-14)
    assert root.converged


def test_convergence_is_quadratic():
    errors = [
        abs(newton(square_root_of_two, np.array([2.0]), steps=n, tolerance=1e-12).x[0] - 2**0.5)
        for n in range(1, 5)
    ]
    slope = np.polyfit(np.log(errors[:-1]), np.log(errors[1:]), 1)[0]
    assert slope == pytest.approx(2, abs=0.05)


def test_a_missing_root_is_reported_and_not_raised():
    calls = []

    def positive(x):
        calls.append(1)
        return x**2 + 1, (2 * x)[..., None]

    root = newton(positive, np.array([1.0]), steps=50, tolerance=1e-12)
    assert not root.converged and root.residual == pytest.approx(1, abs=1e-2)
    assert len(calls) < 50 * HALVINGS


def test_too_few_steps_are_not_convergence():
    root = newton(square_root_of_two, np.array([100.0]), steps=3, tolerance=1e-12)
    assert not root.converged and root.steps == 3


def test_what_is_rounding_takes_no_step():
    start = np.array([2**0.5 + 1e-9])
    root = newton(square_root_of_two, start, steps=9, tolerance=1e-6, rounding=1e-8)
    assert root.converged and root.steps == 0 and root.x == start


def test_a_family_of_roots_is_reached_across_it():
    """x = y², where det J = x - y² vanishes, with errors of f that J does not contain.

    They lead y along the family by error/(x - y²), and x - y² grows by the square of that.
    """

    def function(z):
        x, y = z[..., 0], z[..., 1]
        off = x - y**2
        f = np.stack([off, y * off + 1e-13 * np.sign(np.sin(1e9 * y))], axis=-1)
        rows = [[np.ones_like(x), -2 * y], [y, off - 2 * y**2]]
        J = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        return f, J

    starts = np.array([[1.0 + 1e-8, 1.0], [0.25 - 3e-8, 0.5], [4.0 + 1e-9, -2.0]])
    root = newton(function, starts, steps=20, tolerance=1e-12)
    assert np.all(root.converged) and np.max(root.steps) < 6
    np.testing.assert_allclose(root.x[:, 0], root.x[:, 1] ** 2, atol=1e-12)
    np.testing.assert_allclose(root.x[:, 1], starts[:, 1], atol=1e-3)  # not far along it
