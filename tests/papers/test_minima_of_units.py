"""Beyond the papers, minima of other units: levels by quadrature, shares by descent in NumPy."""

from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr

import tutelage as tl
from tutelage.online.stationary.landscape_descent import Atlas
from tutelage.papers import recorded
from tutelage.papers.beyond import families


@pytest.fixture(scope="module")
def units():
    return recorded.load_recorded("beyond", "units")


def of_unit(units, name, size):
    """The recorded minima of one unit and size, without padding."""
    chosen = (units.unit.values == name) & (units.units.values == size)
    one = units.isel(state=np.flatnonzero(chosen)).squeeze()
    return one.isel(level=slice(0, min(int(one.minima), one.sizes["level"])))


def test_shares_of_all_starts_add_up_and_levels_agree_by_two_routes(units):
    assert units.sizes["state"] == len(families.UNITS) * len(families.UNIT_SIZES)
    assert float(units.error_difference.max()) < 1e-12
    for place in range(units.sizes["state"]):
        one = units.isel(state=place)
        ended = float(one.share.sum()) * int(one.starts) + int(one.unsettled) + int(one.escaped)
        # Minima beyond those that are stored have shares as well.
        assert ended == pytest.approx(int(one.starts)) or int(one.minima) > one.sizes["level"]


def gelu_error(W):
    """ε_g of GELU students with teachers along the axes, by Gauss-Hermite quadrature."""
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / np.sum(w)
    u, v = (z.ravel() for z in np.meshgrid(x, x))
    weight = np.outer(w, w).ravel()
    J = np.vstack([W, np.eye(W.shape[1])])
    sign, C = np.repeat([1.0, -1.0], W.shape), J @ J.T
    total = 0.0
    for i in range(len(J)):
        for k in range(len(J)):
            p, rho = np.sqrt(C[i, i]), C[i, k] / np.sqrt(C[i, i] * C[k, k])
            f = p * u
            g = np.sqrt(C[k, k]) * (rho * u + np.sqrt(max(1 - rho**2, 0.0)) * v)
            total += sign[i] * sign[k] * np.sum(weight * f * ndtr(f) * g * ndtr(g))
    return 0.5 * total


@pytest.mark.slow
def test_a_level_of_gelu_by_quadrature(units):
    eight = tl.Committee(8, tl.GELU())
    atlas = Atlas(tl.Scenario(eight, eight))
    atlas.add_families()
    level = of_unit(units, "GELU", 8).generalization_error.values[1]
    (point,) = [p for p in atlas.points if abs(p.error - level) < 1e-9]
    W = point.weights
    error = gelu_error(W)
    assert abs(error - level) < 1e-10
    rng = np.random.default_rng(0)
    step = 1e-4 * rng.standard_normal(W.shape)
    # At rest: the error changes in second order, and grows, because it is a minimum.
    changes = [gelu_error(W + s * step) - error for s in (1, -1)]
    assert min(changes) > 0 and abs(changes[0] - changes[1]) < 1e-2 * sum(changes)


def force(W, slope):
    """-∂ε_g/∂w_i of leaky students and teachers, the teachers along the first axes."""
    K, n = W.shape[-2:]
    J = np.concatenate([W, np.broadcast_to(np.eye(K, n), W.shape)], axis=-2)
    line, bend = ((1 + slope) / 2) ** 2, ((1 - slope) / 2) ** 2 * 2 / np.pi
    C = W @ np.swapaxes(J, -1, -2)
    q = np.sum(J**2, axis=-1)
    sign = np.repeat([-1.0, 1.0], K)
    area = np.sqrt(np.maximum(q[..., :K, None] * q[..., None, :] - C**2, 0.0))
    own = np.arange(K)
    area[..., own, own] = 0.0
    A = sign * (line + bend * (np.pi / 2 - np.arctan2(area, C)))
    along = bend * np.sum(sign * area, axis=-1) / q[..., :K]
    return A @ J + along[..., None] * W


def gelu_product(p, q, c):
    """⟨g(u) g(w)⟩ of GELU, an analytic function of the variances p, q and the covariance c."""
    a, b = 1 + p, 1 + q
    root = np.sqrt(a * b - c * c)
    rest = p * q - c * c + c * c / a + c * c / b
    return c * (0.25 + np.arctan(c / root) / (2 * np.pi)) + rest / (2 * np.pi * root)


def gelu_force(W, step=1e-30):
    """-∂ε_g/∂w_i of GELU students, with exact derivatives by an imaginary step."""
    K, n = W.shape[-2:]
    J = np.concatenate([W, np.broadcast_to(np.eye(K, n), W.shape)], axis=-2)
    q = np.sum(J**2, axis=-1)[..., None, :]
    p, C = q[..., 0, :K, None], W @ np.swapaxes(J, -1, -2)
    sign = np.repeat([-1.0, 1.0], K)
    slope = gelu_product(p, q, C + 1j * step).imag / step
    along = 2 * gelu_product(p + 1j * step, q, C).imag / step
    return (sign * slope) @ J + np.sum(sign * along, axis=-1)[..., None] * W


@pytest.mark.slow
def test_the_imaginary_step_gives_the_slope_of_the_quadrature():
    W, step = np.random.default_rng(1).standard_normal((2, 2)) / 2, 1e-5
    slopes = np.zeros((2, 2))
    for place in np.ndindex(2, 2):
        change = np.zeros((2, 2))
        change[place] = step
        slopes[place] = (gelu_error(W - change) - gelu_error(W + change)) / (2 * step)
    np.testing.assert_allclose(gelu_force(W), slopes, atol=1e-9)


FORCES = {
    "ReLU": partial(force, slope=0.0),
    "LeakyReLU(0.2)": partial(force, slope=0.2),
    "GELU": gelu_force,
}
RUNS, BLOCK, STEPS = 240, 500, 20_000


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 10])
@pytest.mark.parametrize("name", FORCES)
def test_the_share_of_starts_at_the_solution_by_descent_of_all_weights(units, name, size):
    """Plain gradient descent of K weights in d = 2K, w_i ~ N(0, 1/d), until all forces are small.

    A state with an error has a student that is close to no teacher.
    """
    one, force_of = of_unit(units, name, size), FORCES[name]
    W = np.random.default_rng(7).standard_normal((RUNS, size, 2 * size)) / np.sqrt(2 * size)
    active = np.arange(RUNS)
    for step in range(STEPS):
        F = force_of(W[active])
        W[active] += 0.3 * F
        if step % BLOCK == 0:
            active = active[np.max(np.abs(F), axis=(-2, -1)) > 1e-5]
    nearest = np.max(W[..., :size], axis=-1)
    share = np.mean(np.all(np.abs(nearest - 1) < 0.05, axis=-1))
    width = np.hypot(np.sqrt(share * (1 - share) / RUNS), float(one.share_error[0]))
    assert len(active) == 0
    assert 0 < width < 0.04 and abs(share - float(one.share[0])) < 3 * width
