"""Beyond the papers, the atlas of minima: levels and curvatures by programs that share nothing."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers import recorded
from tutelage.papers.beyond import families

# MATHEMATICS section 12: k = 1 … 5 is a minimum from this number of units on.
ONSETS = {1: 6, 2: 8, 3: 10, 4: 11, 5: 13}


@pytest.fixture(scope="module")
def atlas():
    return recorded.load_recorded("beyond", "families")


@pytest.fixture(scope="module")
def paths():
    return recorded.load_recorded("beyond", "family_paths")


def force(W):
    """-∂ε_g/∂w_i of ReLU students with teachers along the axes; no compiler, any precision."""
    K, M = W.shape[-2:]
    teachers = np.broadcast_to(np.eye(M, dtype=W.dtype), (*W.shape[:-2], M, M))
    J = np.concatenate([W, teachers], axis=-2)
    C = np.einsum("...ix,...ax->...ia", W, J)
    q = np.sum(J**2, axis=-1)
    sign = np.repeat([-1.0, 1.0], [K, M])
    area = np.sqrt(np.maximum(q[..., :K, None] * q[..., None, :] - C**2, 0))
    own = np.arange(K)
    area[..., own, own] = 0
    half = np.arccos(W.dtype.type(-1))  # π
    A = sign * (half - np.arctan2(area, C)) / (2 * half)
    along = np.sum(sign * area, axis=-1) / (2 * half * q[..., :K])
    return np.einsum("...ia,...ax->...ix", A, J) + along[..., None] * W, A, along


def curvatures(W, step=1e-5):
    """Curvatures in the span and orthogonal to it, by differences with 80 bits."""
    W = W.astype(np.longdouble)
    H = np.zeros((W.size, W.size))
    for n in range(W.size):
        change = np.zeros(W.size, np.longdouble)
        change[n] = step
        d = change.reshape(W.shape)
        values = [force(W + s * d)[0].ravel() for s in (1, -1, 2, -2)]
        slope = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * step)
        H[n] = -slope.astype(float)
    _, A, along = force(W)
    outward = -(A[:, : len(W)] + np.diag(along)).astype(float)
    return np.linalg.eigvalsh(0.5 * (H + H.T)), np.linalg.eigvalsh(0.5 * (outward + outward.T))


def error(W):
    """ε_g of ReLU students with teachers along the axes, by NumPy."""
    K, M = W.shape
    J = np.vstack([W, np.eye(M)])
    C = J @ J.T
    norms = np.sqrt(np.diag(C))
    angle = np.arccos(np.clip(C / np.outer(norms, norms), -1, 1))
    np.fill_diagonal(angle, 0.0)
    products = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    sign = np.repeat([1.0, -1.0], [K, M])
    return sign @ products @ sign / (4 * np.pi)


def state_of(data, one):
    """The recorded state with the same family, units and teachers."""
    chosen = (data.units == one.units) & (data.teachers == one.teachers)
    chosen &= np.abs(data.generalization_error - one.generalization_error) < 1e-9
    return data.isel(state=np.flatnonzero(chosen)[:1]).squeeze()


def all_curvatures(one):
    counts = one.curvature_count.values
    return np.repeat(one.curvature.values[counts > 0], counts[counts > 0])


def check_by_numpy(data, units, teachers, chosen):
    """Compare recorded minima of one size with NumPy; return their number."""
    scenario = families.committees(units, teachers)
    seen = 0
    for point, name in families.named_points(scenario):
        # Differences do not reach a solution, where students coincide with teachers.
        if point.is_minimum and not point.solves and chosen(name):
            rows = data.isel(
                state=np.flatnonzero(
                    (data.units == units).values
                    & (data.teachers == teachers).values
                    & (data.family.values == name)
                )
            )
            row = rows.isel(
                state=int(np.argmin(np.abs(rows.generalization_error.values - point.error)))
            )
            if not bool(row.isolated):
                continue
            seen += 1
            W = point.weights
            assert np.max(np.abs(force(W)[0])) < 1e-13
            # Rounding of arccos next to 1, and ten digits.
            assert abs(error(W) - float(row.generalization_error)) < 1e-11
            h, outward = curvatures(W)
            every = np.sort(np.concatenate([h, outward]))
            np.testing.assert_allclose(every, all_curvatures(row), atol=1e-11)
    return seen


def test_levels_and_curvatures_of_six_units_by_numpy(atlas):
    assert check_by_numpy(atlas, 6, 6, lambda name: True) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "teachers", "names"),
    [
        (20, 20, ("1 anti-aligned", "10 anti-aligned", "20 anti-aligned, separate")),
        (18, 17, ("3 anti-aligned, 1 spread over 3 teachers",)),
        (21, 20, ("3 anti-aligned, 1 spread over 3 teachers",)),
    ],
)
def test_levels_and_curvatures_of_many_units_by_numpy(atlas, units, teachers, names):
    assert check_by_numpy(atlas, units, teachers, lambda name: name in names) == len(names)


@pytest.mark.slow
def test_the_overlaps_give_the_same_levels_and_curvatures(atlas):
    """The file has both routes; a few states are computed again by both."""
    isolated = atlas.isel(state=np.flatnonzero(atlas.isolated.values))
    assert isolated.sizes["state"] > 300
    assert float(isolated.error_difference.max()) < 1e-11
    assert float(isolated.curvature_difference.max()) < 1e-10
    assert float(isolated.rate_of_change.max()) < 1e-12
    for units, teachers in ((6, 6), (9, 8)):
        for one in families.points_of(units, teachers):
            row = state_of(atlas, one)
            if one.isolated:
                assert abs(float(row.generalization_error - one.generalization_error)) < 1e-13
                np.testing.assert_allclose(row.curvature, one.curvature, atol=1e-11)
                assert int(row["index"]) == int(one["index"])
                assert float(one.curvature_difference) < 1e-10


def test_every_isolated_state_has_all_its_curvatures(atlas):
    """Along a family of solutions curvatures differ from member to member; none is stored."""
    counts = atlas.curvature_count.sum("distinct").values
    every = (atlas.units * (atlas.teachers + 1)).values
    np.testing.assert_array_equal(counts, np.where(atlas.isolated, every, 0))


def test_families_become_minima_at_the_stated_sizes(atlas):
    onsets = families.onsets(atlas, 0)
    for k, first in ONSETS.items():
        assert onsets[f"{k} anti-aligned"][0] == first
        one = families.of_family(atlas, families.coupled(k))
        before = one.isel(state=one.teachers.values == first - 1)
        assert np.all(before.smallest_curvature < 0)
    wider = families.onsets(atlas, 1)
    # MATHEMATICS section 12: k = 3 at M = 17, k = 4 at M = 14.
    assert wider["3 anti-aligned, 1 spread over 3 teachers"][0] == 17
    assert wider["4 anti-aligned, 1 spread over 4 teachers"][0] == 14


@pytest.mark.slow
def test_a_path_ends_where_the_overlaps_lose_stability(paths):
    """K = M = 6 at the recorded correlation: the largest eigenvalue in (Q, R) vanishes."""
    one = paths.isel(state=np.flatnonzero(paths.teachers.values == 6)[0])
    lost = float(one["at"].sel(path="correlation"))
    assert one.family.item() == "1 anti-aligned" and abs(lost - 0.162169) < 1e-6
    start = families.committees(6, 6)
    (point,) = [p for p, name in families.named_points(start) if name == "1 anti-aligned"]
    state = tl.Overlaps(Q=point.weights @ point.weights.T, R=point.weights, T=start.T)
    signs = []
    for correlation in (lost - 1e-3, lost + 1e-3):
        to = families.committees(6, 6, correlation=correlation)
        path = tl.online.minimum_path(start, state, to=to)
        last = int(np.argmax(path.parameter.values))
        Q, R = path.Q.values[last], path.R.values[last]
        if path.attrs["ended"] == "reached":
            _, eigenvalues = families.overlap_route(tl.online.Flow(to, limit=True), Q, R)
            signs.append(eigenvalues[0] > 0)
        else:
            signs.append(False)
    assert signs == [True, False]


@pytest.fixture(scope="module")
def rates():
    return recorded.load_recorded("beyond", "family_rates")


@pytest.mark.slow
def test_runs_leave_a_minimum_above_its_largest_learning_rate(rates):
    """Below, a run from the minimum at η = 0 comes to rest; above, the norms diverge."""
    one = rates.isel(state=0)
    assert int(one.teachers) == 6 and one.family.item() == "1 anti-aligned"
    assert one.ended.item() == "becomes a saddle"
    scenario = families.committees(6, 6)
    (point,) = [p for p, name in families.named_points(scenario) if name == "1 anti-aligned"]
    W, largest = point.weights, float(one["at"])
    start = tl.Overlaps(Q=W @ W.T, R=W, T=scenario.T, rounding=1e-9)
    below, above = (
        tl.online.evolve(
            scenario, start, largest + change, until=4000.0
        ).generalization_error.values
        for change in (-0.02, 0.02)
    )
    assert abs(below[-1] - below[len(below) // 2]) < 1e-3
    assert below[-1] < float(one.generalization_error) < above[-1] and above[-1] > 1e3
