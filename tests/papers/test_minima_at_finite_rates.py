"""Minima at a learning rate η > 0, by quadrature in NumPy and SciPy without code of the package.

A symmetric state of ReLU students has few different overlaps.  Their equations are solved at a
given η.  First-order terms come from the mean Jacobian (MATHEMATICS section 7).  ⟨δ_i δ_k⟩ is an
integral over x_i > 0 and x_k > 0 of products of two fields that are normal given both.
"""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve
from scipy.special import ndtr, owens_t

import tutelage as tl
from tutelage.online import linearization
from tutelage.papers import recorded
from tutelage.papers.beyond import landscape, search

RADII, ANGLES = 28, 28


@cache
def nodes():
    """Points and weights for ∫_0^∞ exp(-r²/2) r^n dr, n = 0 and 1, and for an angle in [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(2 * RADII)
    r, w = 4.5 * (x + 1), 4.5 * w  # up to 9 standard deviations
    t, v = np.polynomial.legendre.leggauss(ANGLES)
    return r, w * np.exp(-(r**2) / 2), (t + 1) / 2, v / 2


def both_positive(h, k, rho):
    """P(u > -h, w > -k) for standard normal u and w with the correlation rho."""
    root = np.sqrt(1 - rho**2)
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    angles = owens_t(h, (k - rho * h) / (h * root)) + owens_t(k, (h - rho * k) / (k * root))
    return 0.5 * (ndtr(h) + ndtr(k) - opposite) - angles


def product(m, s, n, t, rho):
    """⟨max(u, 0) max(w, 0)⟩ of fields with means m and n, standard deviations s and t."""
    if s < 1e-9 or t < 1e-9:  # one of the fields is x_i or x_k itself, and positive
        return positive(m, s) * positive(n, t)
    if rho > 1 - 1e-12 and s == t:  # one field twice
        h = m / s
        return (m * m + s * s) * ndtr(h) + m * s * density(h)
    h, k, root = m / s, n / t, np.sqrt(1 - rho**2)
    ends = k * density(h) * ndtr((k - rho * h) / root) + h * density(k) * ndtr((h - rho * k) / root)
    peak = root * density(h) * density((k - rho * h) / root)
    return s * t * ((h * k + rho) * both_positive(h, k, rho) + ends + peak)


def positive(m, s):
    return m if s < 1e-9 else m * ndtr(m / s) + s * density(m / s)


def density(x):
    return np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)


def noise(C, signs, i, k):
    """⟨δ_i δ_k⟩ / (g' g') of fields with the covariance C and outputs Σ signs g."""
    r, weight, t, v = nodes()
    if i == k:
        given, x = C[:, [i]] / C[i, i], np.sqrt(C[i, i]) * r[None]
        w = weight / np.sqrt(2 * np.pi)
        rest = C - given @ C[[i]]
    else:
        block = C[np.ix_([i, k], [i, k])]
        L = np.linalg.cholesky(block)
        given = C[:, [i, k]] @ np.linalg.inv(block)
        rest = C - given @ C[[i, k]]
        # x_i > 0 and x_k > 0 is a wedge of the plane of two independent variables.
        first = -np.arctan2(L[1, 0], L[1, 1])
        phi = first + (np.pi / 2 - first) * t
        u = np.stack([np.outer(r, np.cos(phi)), np.outer(r, np.sin(phi))]).reshape(2, -1)
        x = L @ u
        w = np.outer(weight * r, v * (np.pi / 2 - first)).ravel() / (2 * np.pi)
    mean, deviation = given @ x, np.sqrt(np.maximum(np.diag(rest), 0))
    deviation[deviation < 1e-7] = 0.0
    classes, total = {}, 0.0
    for a in range(len(C)):
        for b in range(a + 1):
            rows = sorted([(*C[a, [i, k]], C[a, a]), (*C[b, [i, k]], C[b, b])])
            key = (*np.round([*rows[0], *rows[1], C[a, b]], 12), a == b)
            if key not in classes:
                spread = deviation[a] * deviation[b]
                rho = rest[a, b] / spread if spread > 0 else 0.0
                classes[key] = w @ product(mean[a], deviation[a], mean[b], deviation[b], rho)
            total += signs[a] * signs[b] * (1 if a == b else 2) * classes[key]
    return total


def first_order(Q, R, T=None):
    """⟨δ_i y_n⟩ and ⟨δ_i x_k + δ_k x_i⟩, for teachers with T = 1 by default."""
    K, M = R.shape
    C = np.block([[Q, R], [R.T, np.eye(M) if T is None else T]])
    signs = np.repeat([-1.0, 1.0], [K, M])
    size = np.sqrt(np.outer(np.diag(Q), np.diag(C)))
    angle = np.arccos(np.clip(C[:K] / size, -1, 1))
    angle[np.arange(K), np.arange(K)] = 0.0
    A = signs * (np.pi - angle) / (2 * np.pi)
    A[np.arange(K), np.arange(K)] += np.sum(signs * size * np.sin(angle), 1) / (
        2 * np.pi * np.diag(Q)
    )
    moved = A @ C
    return moved[:, K:], moved[:, :K] + moved[:, :K].T


class Family:
    """Students in groups of equal units; student i is the partner of teacher i."""

    def __init__(self, students, teachers=None, T=None):
        g, t = np.array(students), np.array(students if teachers is None else teachers)
        self.T = np.eye(len(t)) if T is None else T
        pair = np.sort(np.stack(np.broadcast_arrays(g[:, None], g)), axis=0)
        self.of_R = self._numbered(g[:, None], t)
        self.of_Q = self._numbered(*pair)
        self.count = self.of_R.max() + 1

    @staticmethod
    def _numbered(a, b):
        own = np.eye(*np.broadcast_shapes(a.shape, b.shape), dtype=int)
        labels = (a * 8 + b) * 2 + own
        return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)

    def numbers(self, Q, R):
        """The different overlaps of a state."""
        every = [(R, self.of_R), (Q, self.of_Q)]
        return np.concatenate([[np.mean(x[n == j]) for j in range(n.max() + 1)] for x, n in every])

    def state(self, x):
        return x[self.count :][self.of_Q], x[: self.count][self.of_R]

    def rates(self, x, eta):
        """The rates of change of the numbers, in units of η."""
        Q, R = self.state(x)
        f, h = first_order(Q, R, self.T)
        C = np.block([[Q, R], [R.T, self.T]])
        signs = np.repeat([-1.0, 1.0], R.shape)
        places = [np.argwhere(self.of_Q == j)[0] for j in range(self.of_Q.max() + 1)]
        second = [h[i, k] + eta * noise(C, signs, i, k) for i, k in places]
        first = [f[self.of_R == j][0] for j in range(self.count)]
        return np.array([*first, *second])


def solved(family, start, eta):
    with np.errstate(invalid="ignore"):  # tried states may be no covariances
        x, info, _, _ = fsolve(family.rates, start, args=(eta,), full_output=True, xtol=1e-12)
    assert np.max(np.abs(info["fvec"])) < 1e-9
    return x


def followed(family, W, rates):
    """Descend weights of a family at η = 0; return the state at the last of several η."""
    for _ in range(6000):
        W = W + 0.25 * first_order(W @ W.T, W)[0]
        W = family.numbers(W @ W.T, W)[family.of_R]
    x = family.numbers(W @ W.T + 0.02 * np.eye(len(W)), W)
    for eta in rates:
        x = solved(family, x, eta)
    return x


def with_anti_aligned(units, anti, along):
    """The family whose last units are anti-aligned, and weights to begin with.

    along: weights of aligned and anti-aligned units at the teachers of the other group.
    """
    n = np.arange(units) >= units - anti
    W = np.where(n[:, None], along[1], along[0]) * (n[:, None] != n)
    return Family(n.astype(int)), W + np.diag(np.where(n, -0.6, 1.0))


def rotation(family, x, units, step=1e-3):
    """The eigenvalue of the rotation of three equal students among each other's teachers."""
    Q, R = family.state(x)
    turn = np.zeros_like(R)
    for i, n in zip(units, np.roll(units, -1), strict=True):
        turn[i, n], turn[n, i] = 1.0, -1.0
    near, far = (
        first_order(Q, R + h * turn)[0] - first_order(Q, R - h * turn)[0] for h in (step, 2 * step)
    )
    return np.sum((8 * near - far) * turn) / np.sum(turn**2) / (12 * step)


def difference(family, x, finer, eta, step=5e-4):
    """The largest eigenvalue of changes that make equal units different.

    finer: the family in which one of the equal units is another group.
    """
    y = finer.numbers(*family.state(x))
    weights = np.sqrt([*np.bincount(finer.of_R.ravel()), *np.bincount(finer.of_Q.ravel())])
    equal = np.array([finer.numbers(*family.state(one)) for one in np.eye(len(x))]).T
    others = np.linalg.svd(weights[:, None] * equal)[0][:, len(x) :]
    columns = []
    for change in (others / weights[:, None]).T:
        near, far = (
            finer.rates(y + h * change, eta) - finer.rates(y - h * change, eta)
            for h in (step, 2 * step)
        )
        columns.append((weights * (8 * near - far)) @ others / (12 * step))
    return float(np.max(np.linalg.eigvals(np.array(columns).T).real))


def finer(units, anti, group):
    """The family of `with_anti_aligned` in which the last unit of one group is another group."""
    groups = np.repeat([0, 1], [units - anti, anti])
    groups[units - 1 if group else units - anti - 1] = 2
    return Family(groups)


def largest_rate(family, start, eta, number, step):
    """The largest η of a branch: η is a smooth function of one of its overlaps.

    number: of the overlap that is given; the others and η are solved for.
    step: of this overlap, until η falls; then a polynomial is fitted next to the largest η.
    """

    def rate_at(value, guess):
        def rates(u):
            return family.rates(np.insert(u[:-1], number, value), u[-1])

        u, _, done, _ = fsolve(rates, guess, full_output=True, xtol=1e-13)
        assert done == 1
        return u

    u, value = np.append(np.delete(start, number), eta), start[number]
    before = [u, u]
    while u[-1] >= before[-1][-1]:
        before = [before[-1], u]
        value += step
        u = rate_at(value, u)
    t = np.linspace(-1, 1, 7)
    rates = []
    for place in value - step + step * t:
        u = rate_at(place, before[0] if not rates else u)
        rates.append(u[-1])
    p = np.polynomial.Polynomial.fit(t, rates, 6)
    turns = p.deriv().roots()
    turns = turns[(np.abs(turns.imag) < 1e-9) & (np.abs(turns.real) < 1)].real
    return float(max(p(turns)))


def test_the_integral_is_that_of_the_equations():
    rng = np.random.default_rng(0)
    J, B = rng.standard_normal((2, 5)), np.eye(2, 5)
    Q, R = J @ J.T, J @ B.T
    C, signs = np.block([[Q, R], [R.T, np.eye(2)]]), np.array([-1.0, -1.0, 1.0, 1.0])
    two = tl.Committee(2, tl.ReLU())
    flow = tl.online.Flow(tl.Scenario(two, two))
    f = linearization.second_order(flow, flow.layout.vector({"Q": Q, "R": R}))[0]
    ours = [[noise(C, signs, i, k) for i in range(2)] for k in range(2)]
    np.testing.assert_allclose(ours, flow.layout.arrays(f)["Q"], rtol=1e-12)


@pytest.fixture(scope="module")
def at_rates():
    data = recorded.load_recorded("beyond", "family_rates")
    names = (data.units.values.tolist(), data.teachers.values.tolist(), data.family.values.tolist())
    return {name: data.isel(state=n) for n, name in enumerate(zip(*names, strict=True))}


# Units, anti-aligned units, and learning rates of a sequence of states; the last two enclose the
# root.
ROTATIONS = {
    (6, 6): (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    (8, 6): (0.1, 0.2, 0.3, 0.36, 0.37, 0.38),
    (8, 7): (0.1, 0.2, 0.3, 0.36, 0.39, 0.405, 0.411, 0.4135),
    (8, 8): (0.1, 0.2, 0.3, 0.36, 0.4, 0.41, 0.4135, 0.415),
    (10, 6): (0.1, 0.2, 0.26, 0.3, 0.32, 0.325),
    (10, 7): (0.1, 0.2, 0.26, 0.3, 0.32, 0.33, 0.337, 0.3385, 0.341),
    (10, 8): (0.1, 0.2, 0.26, 0.3, 0.32, 0.33, 0.336, 0.338, 0.3395, 0.3401, 0.3404),
    (10, 9): (0.1, 0.2, 0.26, 0.3, 0.32, 0.33, 0.336, 0.338, 0.3395, 0.34, 0.3402),
    (10, 10): (0.1, 0.2, 0.26, 0.3, 0.32, 0.33, 0.334, 0.336, 0.338, 0.3395, 0.34),
}
# Which of two groups, aligned (0) and anti-aligned units (1), become different, and the same.
DIFFERENCES = {
    (6, 1, 0): (0.1, 0.2, 0.3, 0.4, 0.5, 0.53, 0.54, 0.54137),
    (8, 2, 1): (0.1, 0.2, 0.3, 0.36, 0.4, 0.416, 0.417),
    (10, 3, 1): (0.1, 0.2, 0.26, 0.3, 0.32, 0.335, 0.3415, 0.342),
}


def check(one, rate, directions):
    assert one.ended.item() == "becomes a saddle" and int(one.opens) == directions
    assert abs(rate - float(one["at"])) < float(one.at_error) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("units", "anti"), ROTATIONS)
def test_separate_units_lose_stability_by_a_rotation(at_rates, units, anti):
    one = at_rates[units, units, f"{anti} anti-aligned, separate"]
    *before, low, high = ROTATIONS[units, anti]
    family, W = with_anti_aligned(units, anti, (0.0, 0.0))
    x, three = followed(family, W, [*before, low]), (units - 3, units - 2, units - 1)
    rate = brentq(
        lambda eta: rotation(family, solved(family, x, eta), three), low, high, xtol=1e-11
    )
    check(one, rate, (anti - 1) * (anti - 2) // 2)


@pytest.mark.slow
@pytest.mark.parametrize(("units", "anti", "group"), DIFFERENCES)
def test_equal_units_become_different(at_rates, units, anti, group):
    one = at_rates[units, units, f"{anti} anti-aligned"]
    *before, low, high = DIFFERENCES[units, anti, group]
    family, W = with_anti_aligned(units, anti, (0.05, 0.2))
    x, one_differs = followed(family, W, [*before, low]), finer(units, anti, group)
    rate = brentq(
        lambda eta: difference(family, solved(family, x, eta), one_differs, eta), low, high,
        xtol=1e-11,
    )  # fmt: skip
    check(one, rate, (units - anti, anti)[group] - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "anti", "rates"),
    [
        (8, 1, (0.1, 0.2, 0.3, 0.36, 0.4)),
        (10, 1, (0.1, 0.2, 0.26, 0.3, 0.32)),
        (10, 2, (0.1, 0.2, 0.26, 0.3, 0.32, 0.34)),
    ],
)
def test_a_minimum_ends_where_its_rate_is_largest(at_rates, units, anti, rates):
    """Up to there the branch is stable against changes that make equal units different."""
    one = at_rates[units, units, f"{anti} anti-aligned"]
    family, W = with_anti_aligned(units, anti, (0.05, 0.2))
    x = followed(family, W, rates)
    assert one.ended.item() == "fold"
    rate = largest_rate(family, x, rates[-1], family.of_R[-1, -1], 0.02)
    assert abs(rate - float(one["at"])) < float(one.at_error) + 1e-9
    near = rate - 2e-6
    x, groups = solved(family, x, near), [0, 1] if anti > 1 else [0]
    assert max(difference(family, x, finer(units, anti, group), near) for group in groups) < 0


def with_one_unit_more(teachers, anti):
    """One teacher with two anti-aligned students, or two with a third student against both."""
    aligned = teachers - anti
    of_teachers = [0] * aligned + [1] * anti
    W = np.eye(teachers + 1, teachers)
    W[:aligned, aligned:] = 0.05
    W[aligned:teachers] = 0.2
    W[aligned:teachers, aligned:] = -0.6 * np.eye(anti)
    W[-1] = 0.9 * W[-2] if anti == 1 else -0.3 * np.array(of_teachers) + 0.1
    return Family([*of_teachers, 2], of_teachers), W


@pytest.mark.slow
@pytest.mark.parametrize(
    ("teachers", "anti", "step", "rates"),
    [
        (8, 1, -0.01, (0.05, 0.1, 0.15, 0.2, 0.22, 0.24, 0.26)),
        (10, 1, -0.006, (0.05, 0.1, 0.15, 0.18, 0.2, 0.21, 0.22, 0.23, 0.235, 0.24)),
        (10, 2, 0.004, (0.05, 0.1, 0.15, 0.2, 0.24, 0.26, 0.27, 0.275)),
    ],
)
def test_a_minimum_with_one_unit_more_ends_where_its_rate_is_largest(
    at_rates, teachers, anti, step, rates
):
    names = {1: "2 anti-aligned (1 + 1), 1 sharing a teacher"}
    names[2] = "2 anti-aligned, 1 spread against 2 teachers"
    one = at_rates[teachers + 1, teachers, names[anti]]
    family, W = with_one_unit_more(teachers, anti)
    x = followed(family, W, rates)
    rate = largest_rate(family, x, rates[-1], family.of_R[-1, -1], step)
    assert one.ended.item() == "fold"
    assert abs(rate - float(one["at"])) < float(one.at_error) + 1e-9


@pytest.mark.slow
def test_powells_method_finds_no_other_fixed_point_of_citton2025():
    """Random starts at η = 1.1, where all four recorded branches have fixed points."""
    eta, rng = 1.1, np.random.default_rng(3)
    T = np.diag([1.0, 2.0])
    family = Family([0, 1], T=T)
    known, _ = search.known_points(eta)
    ends = 0
    for _ in range(100):
        J = search.random_students(rng) if rng.uniform() < 0.5 else search.along_teachers(rng)
        Q, R = J @ J.T, J[:, :2] @ np.sqrt(T)
        try:
            with np.errstate(all="ignore"):
                x, info, done, _ = fsolve(
                    family.rates, family.numbers(Q, R), args=(eta,), full_output=True, xtol=1e-11
                )
        except np.linalg.LinAlgError:  # it has left the covariances
            continue
        Q, R = family.state(x)
        covariance = np.block([[Q, R], [R.T, T]])
        if done != 1 or not np.max(np.abs(info["fvec"])) < 1e-9:
            continue
        if np.linalg.eigvalsh(covariance)[0] < -1e-9 * np.max(Q):
            continue
        ends += 1
        state = tl.Overlaps(Q=Q, R=R, T=T, rounding=1e-6)
        gaps = [landscape.distance(state, one) for one in known]
        assert min(gaps) < 1e-3 * max(1.0, np.max(Q))
    assert ends >= 3
