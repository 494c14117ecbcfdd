"""straat2019: the second routes behind its rows, and statements that could have failed."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.papers.section import Figure
from tutelage.papers.straat2019 import SECTIONS, equations, runs

FAST = ("eq5", "eq6", "perceptron")


def section(name):
    return next(s for s in SECTIONS if s.name == name)


@pytest.mark.parametrize("name", FAST)
def test_rows_agree_or_have_a_slip_with_its_evidence(name):
    for record in section(name).compute(False):
        assert record.verdict == ("corrected" if name == "eq5" else "agrees"), record
        assert record.note or record.verdict == "agrees"


@pytest.mark.parametrize(
    ("i", "fields", "sign"),
    [
        (0, [(2, 2), (2, 3), (2, 0), (2, 1)], (1, 1, -1, -1)),  # ⟨δ_1 y_1⟩
        (0, [(1, 2), (1, 3), (1, 0), (1, 1)], (1, 1, -1, -1)),  # ⟨δ_1 x_2⟩
        (1, [(0, 2), (0, 3), (0, 0), (0, 1)], (1, 1, -1, -1)),  # ⟨δ_2 x_1⟩
    ],
)
def test_equation_6_summed_is_the_mean_over_examples(i, fields, sign):
    """⟨δ_i f⟩ by drawing examples: knows neither eq. (5) nor eq. (6)."""
    start = runs.start_2()
    rng = np.random.default_rng(7)
    f = rng.multivariate_normal(np.zeros(4), np.asarray(start.covariance), size=400_000)
    g = np.maximum(f, 0)
    delta = (f[:, i] > 0) * (g[:, 2] + g[:, 3] - g[:, 0] - g[:, 1])
    sample = delta * f[:, fields[0][0]]
    C = np.asarray(start.covariance)
    summed = sum(
        s * equations.equation_6(C[np.ix_([i, a, b], [i, a, b])])
        for s, (a, b) in zip(sign, fields, strict=True)
    )
    # Four standard errors: the level is 6e-5 for each of three fixed seeds.
    assert abs(sample.mean() - summed) < 4 * sample.std() / np.sqrt(len(sample))


def test_the_printed_equation_5_is_refuted_by_examples():
    """dR_11 and dQ_12 at the start of Fig. 2, from examples: as computed, not as printed."""
    start = runs.start_2()
    rng = np.random.default_rng(8)
    f = rng.multivariate_normal(np.zeros(4), np.asarray(start.covariance), size=400_000)
    g = np.maximum(f, 0)
    residual = g[:, 2] + g[:, 3] - g[:, 0] - g[:, 1]
    delta = (f[:, :2] > 0) * residual[:, None]
    samples = (delta[:, 0] * f[:, 2], delta[:, 0] * f[:, 1] + delta[:, 1] * f[:, 0])
    records = list(section("eq5").compute(False))
    for record, sample in zip(records, samples, strict=True):
        error = sample.std() / np.sqrt(len(sample))
        assert abs(sample.mean() - record.computed) < 4 * error
        assert abs(sample.mean() - record.published) > 10 * error


def test_the_uncertainty_of_a_limit_covers_a_decay_as_one_over_time():
    import xarray as xr

    time = np.linspace(0.0, 100.0, 401)
    curve = xr.DataArray(0.5 + 3.0 / (1.0 + time), coords={"time": time}, dims="time")
    found = runs.limit(curve)
    left = abs(found.value - 0.5)
    # 9 (f(0.9 T) - f(T)) is f(T) - f(∞) up to terms of order 1/T².
    assert left == pytest.approx(found.uncertainty, rel=0.02)


def test_any_share_of_a_teacher_is_a_solution_for_relu_and_none_for_erf():
    """The output itself, at random inputs: B_2·ξ is split between two students."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal((1000, 2))
    for a in (0.1, 0.5, 0.9):
        x = np.column_stack([y[:, 0], a * y[:, 1], (1 - a) * y[:, 1]])
        relu, erf = (
            np.abs(np.asarray(g(x)).sum(1) - np.asarray(g(y)).sum(1)) for g in (tl.ReLU(), tl.Erf())
        )
        assert relu.max() < 1e-14 and erf.max() > 1e-2


SLIPS = (
    "Fig. 4, ReLU, K = 2, M = 3, R_2",
    *("Sec. 4, ReLU, Q_22(∞), in the text", "Sec. 4, ReLU, Q_33(∞), in the text"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table", "fig3", "fig4", "abstract"])
def test_final_states_are_as_printed_or_corrected(name):
    found = list(section(name).compute(False))
    records = [x for x in found if not isinstance(x, Figure)]
    for record in records:
        slip = record.item.startswith(SLIPS)
        assert record.verdict == ("corrected" if slip else "agrees"), record
    assert len(found) - len(records) == name.startswith("fig")


def test_two_students_share_a_teacher_and_not_in_halves():
    """J_2 = a B_2 and J_3 = b B_2 with a + b = 1: Q_22 = a², Q_33 = b², Q_23 = ab, R_i2 = a, b."""
    end = runs.fig_3("ReLU").isel(time=-1)
    Q, (a, b) = end["Q"].values, end["R"].values[1:, 1]
    # What is left falls as 1/time; the run ends at 2000.
    assert abs(a + b - 1) < 1e-3
    np.testing.assert_allclose(Q[1:, 1:], [[a * a, a * b], [a * b, b * b]], atol=1e-3)
    assert round(a, 3) == 0.485 and round(b, 3) == 0.515
