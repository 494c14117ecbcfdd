"""Published numbers: the verdict is earned, and every paper's rows are reproduced."""

import math
import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.papers import TITLES, citton2025, reproduce, sections, straat2019
from tutelage.papers.record import closed_form, compare, correct, digits

# The formulas with a known slip; see the notes in the modules of these papers.
KNOWN_SLIPS = {
    "oostwal2019": (
        *("eq. (11)", "eq. (26)", "α_c(5), erf", "α_d(5), erf", "α_c(10), ReLU"),
        *("jump of |R - S|", "load at which C", "sign of the lowest eigenvalue"),
        *("below eq. (13), strength of the Langevin noise", "exponent of S - R in the state R < S"),
    ),
    "straat2019": (
        *("eq. (5), dR_11", "eq. (5), dQ_12", "Sec. 4, ReLU, Q_22", "Sec. 4, ReLU, Q_33"),
        *("Fig. 4, ReLU, K = 2, M = 3, R_22", "Fig. 4, ReLU, K = 2, M = 3, R_23"),
    ),
    "citton2025": (
        *("eq. (1) to order 10", "Sec. 3, error not monotonic", "Sec. 3, no symmetric plateau"),
        "Sec. 3, norms grow without bound",
    ),
    "milletari2019": (
        *("eq. (7), factor g of Sigmoid, β = 2", "Sec. 2.3, ⟨j⟩ of a unit behind 16 gates"),
        *("Sec. 2.3, entropy of a gate in the limit", "Sec. 2.4, part of the h < 0"),
        "Sec. 2.4, factor ĝ of Swish where the signal is below",
    ),
}


@given(value=st.floats(-100, 100), places=st.integers(1, 8))
def test_a_number_rounded_to_the_printed_digits_agrees(value, places):
    published = digits(f"{value:.{places}f}")
    assert compare("p", "i", published, value).verdict == "agrees"


@pytest.mark.parametrize(
    ("text", "computed", "verdict"),
    [
        ("0.341", 0.34084, "agrees"),
        ("0.341", 0.3416, "differs"),
        ("0.0150", 0.01502, "agrees"),
        ("0.0150", 0.0151, "differs"),
        ("2", 2.4, "agrees"),
        ("0.341", math.nan, "differs"),
        ("0.341", math.inf, "differs"),
    ],
)
def test_the_last_printed_digit_decides(text, computed, verdict):
    assert compare("p", "i", digits(text), computed).verdict == verdict


@pytest.mark.parametrize("text", ["1e-3", "1/3", ".5", "about 2", ""])
def test_what_is_not_digits_has_no_last_digit(text):
    with pytest.raises(InputError, match="text: got"):
        digits(text)


@pytest.mark.parametrize("uncertainty", [math.inf, math.nan, -1.0])
def test_an_uncertainty_that_is_none_is_refused(uncertainty):
    with pytest.raises(InputError, match="uncertainty"):
        compare("p", "i", digits("0.341"), 0.341, uncertainty)


def test_a_closed_form_is_met_to_rounding_and_no_less():
    third = closed_form("1/3", 1 / 3)
    assert compare("p", "i", third, 1 / 3 + 2.0**-52).verdict == "agrees"
    assert compare("p", "i", third, 1 / 3 + 1e-12).verdict == "differs"


@pytest.mark.parametrize(
    ("computed", "verdict"), [(1 / 3, "corrected"), (1 / 15, "agrees"), (0.2, "differs")]
)
def test_a_correction_has_to_be_right(computed, verdict):
    printed, exact = closed_form("1/15", 1 / 15), closed_form("1/3", 1 / 3)
    assert correct("p", "i", printed, exact, computed, "why").verdict == verdict


def test_what_is_not_finite_becomes_none_for_json():
    record = compare("p", "i", digits("0.341"), math.nan)
    assert record.as_dict()["computed"] is None
    assert record.as_dict()["error"] is None


# Sections in small take seconds, papers a minute.
PAPERS = [pytest.param(key, marks=pytest.mark.slow) for key in TITLES]
FIGURES = {  # of the papers; those of tian2020 that show data
    "oostwal2019": range(1, 6),
    "straat2019": range(1, 5),
    "citton2025": range(1, 3),
    "tian2020": (*range(2, 9), 11, 12),
    "milletari2019": range(1, 3),
    "beyond": (),
}


@cache
def records_of(paper):
    return reproduce([paper])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_number_is_reproduced_or_has_a_note(paper):
    for record in records_of(paper):
        assert record.paper == paper
        assert record.verdict == "agrees" or record.note, record
        assert (record.verdict == "new") == (paper == "beyond")
        if record.verdict == "corrected":
            assert record.item.startswith(KNOWN_SLIPS[paper])


@pytest.mark.parametrize("paper", PAPERS)
def test_items_are_told_apart(paper):
    items = [record.item for record in records_of(paper)]
    assert len(items) == len(set(items))


@pytest.mark.parametrize("paper", TITLES)
def test_sections_say_what_they_are(paper):
    entries = sections([paper])
    names = [entry.section.name for entry in entries]
    assert len(names) == len(set(names))
    assert all(entry.section.title and entry.section.caption.endswith(".") for entry in entries)
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names), "they are parts of file names"


@pytest.mark.parametrize("paper", TITLES)
def test_every_figure_has_its_section(paper):
    names = " ".join(entry.section.name for entry in sections([paper]))
    for number in FIGURES[paper]:
        assert re.search(rf"\bfig{number}(?!\d)", names), number


def test_papers_come_in_the_order_named_and_once():
    papers = [entry.paper for entry in sections(["tian2020", "oostwal2019", "tian2020"])]
    assert list(dict.fromkeys(papers)) == ["tian2020", "oostwal2019"]
    assert len(papers) == len(sections(["tian2020"])) + len(sections(["oostwal2019"]))


@pytest.mark.slow
def test_the_end_of_straat2019_fig_4_is_a_minimum_of_the_error_over_the_weights():
    """The second route to 0.9463: Newton on ε_g(J), which knows no equations of motion."""
    scenario = tl.Scenario(tl.Committee(2, tl.ReLU()), tl.Committee(3, tl.ReLU()))

    @jax.jit
    def error(J):
        J, B = J.reshape(2, 3), jnp.eye(3)
        return tl.generalization_error(scenario, tl.Overlaps(Q=J @ J.T, R=J @ B.T, T=B))

    R = straat2019.fig_4()["R"].values[-1]
    J = jnp.asarray(np.round(R, 2).ravel())  # near the minimum, and not at the end of the run
    slope, curvature = jax.jit(jax.grad(error)), jax.jit(jax.hessian(error))
    for _ in range(8):
        J = J - jnp.linalg.solve(curvature(J), slope(J))
    # Curvatures are of order 0.1, averages right to 1e-13: the minimum is known to 1e-12.
    assert jnp.max(jnp.abs(slope(J))) < 1e-13
    assert jnp.min(jnp.linalg.eigvalsh(curvature(J))) > 0
    # The run was integrated with a tolerance of 1e-9 for each step.
    np.testing.assert_allclose(J.reshape(2, 3), R, atol=1e-6)


@pytest.mark.slow
def test_runs_on_either_side_of_the_critical_learning_rates_behave_differently():
    below, above = citton2025.CRITICAL["non_monotonic"][2], citton2025.CRITICAL["diverges"][2]
    runs = tl.online.evolve(
        citton2025.scenario(),
        citton2025.start(),
        learning_rate=np.array([*below, *above]),
        until=400.0,
        times=np.linspace(0.0, 400.0, 4001),
        tolerance=1e-10,
    )
    rises = np.nanmax(np.diff(runs["generalization_error"].values, axis=1), axis=1)
    # Steps are integrated to 1e-10; a rise of the error is a thousand times larger.
    assert rises[0] < 1e-9 and rises[1] > 1e-7
    assert list(runs["outcome"].values == "diverged") == [False, False, False, True]


@pytest.mark.slow
def test_the_plateau_of_citton2025_ends_in_a_fold_between_the_learning_rates_given():
    branch = citton2025.fig_2b()
    folds = branch["special_learning_rate"].values[branch["special_kind"].values == "fold"]
    low, high = citton2025.CRITICAL["plateau_vanishes"][2]
    assert low < folds[0] < high


def test_an_unknown_paper_is_refused_with_what_is_known():
    with pytest.raises(InputError, match=r"PAPER: got 'saad1995'.*oostwal2019"):
        reproduce(["saad1995"])
