"""The sections of oostwal2019: its figures, equations and passages."""

import math
from collections.abc import Iterator

from tutelage.activations import Erf, ReLU
from tutelage.papers import recorded
from tutelage.papers.oostwal2019 import (
    KEY,
    error,
    escape,
    figures,
    free_energy,
    loads,
    samples,
    states,
    temperature,
)
from tutelage.papers.row import Row, closed_form, compare, worst
from tutelage.papers.section import Figure, Section

SAMPLES = "weights drawn with N = 2000 inputs, 200 sweeps and 8 chains instead of 1600, 50 and 4"


def _fig1(full: bool) -> Iterator[Row | Figure]:
    """Eq. (2); eq. (3) is the definition of the ReLU."""
    yield figures.architecture()
    sigmoidal = error.SIGMOIDAL
    for x, text, value in ((-40.0, "0", 0.0), (40.0, "2", 2.0)):
        item = f"below eq. (2), limit of g for large |x|, x = {x:g}"
        yield compare(KEY, item, closed_form(text, value), float(sigmoidal(x)))
    values = {x: closed_form("2 Φ(x)", math.erfc(-x / math.sqrt(2))) for x in (-0.8, 0.7)}
    points = (compare(KEY, f"x = {x:g}", values[x], float(sigmoidal(x))) for x in values)
    yield worst("eq. (2), g(x) at x = -0.8 and 0.7", points)
    yield states.other_sigmoids()


def _eq20(full: bool) -> Iterator[Row]:
    yield from free_energy.free_energy()
    yield from temperature.high_temperature()


def _fig2(full: bool) -> Iterator[Row | Figure]:
    yield figures.learning_curves(Erf(), (2, 5), full)
    yield from loads.sigmoidal_loads()
    yield loads.exponent(Erf())
    yield from states.sigmoidal_regimes()
    yield from samples.trapped(full)


def _large_sigmoidal(full: bool) -> Iterator[Row]:
    yield from loads.sigmoidal_limits()
    yield from error.plateau("erf")
    yield from states.sigmoidal_limit()


def _fig3(full: bool) -> Iterator[Row | Figure]:
    yield figures.learning_curves(ReLU(), (2, 10), full)
    yield from loads.rectified_loads()
    yield loads.exponent(ReLU())
    yield from states.rectified_regimes()


def _fig4(full: bool) -> Iterator[Row | Figure]:
    yield figures.large_networks()
    yield from loads.rectified_limit()
    yield from error.plateau("ReLU")
    yield from states.rectified_plateau()
    yield error.mirror_images()
    yield from states.rectified_limits()


def _fig5(full: bool) -> Iterator[Row | Figure]:
    yield figures.student_overlaps(full)
    yield loads.cross_overlap()
    yield from states.student_overlaps()


def _eq32(full: bool) -> Iterator[Row]:
    yield from error.single_unit()
    yield from free_energy.one_unit()


def _appendix_d(full: bool) -> Iterator[Row]:
    yield from error.appendix_d()
    yield free_energy.weak_alignment()


SECTIONS = (
    Section(
        "fig1",
        "Figure 1: the network and its activations",
        "Left: N inputs, K hidden units with adaptive weights (solid), and an output that adds "
        "them up with fixed weights 1/√K (dashed). Right: the sigmoidal activation "
        "1 + erf(x/√2) (solid) and the ReLU (dashed).",
        _fig1,
    ),
    Section(
        "eq11",
        "Equations (9) to (12): generalization error of site-symmetric students",
        "ε_g of students that know nothing, of students that know everything, and at three states "
        "(R, S, C) between. Computed from eq. (9) with Gaussian averages, and compared with eqs. "
        "(11) and (12) as printed.",
        lambda full: error.section_ii(),
    ),
    Section(
        "eq20",
        "Equations (13) to (21): entropy and free energy",
        "The entropy of eq. (19) against ½ ln det of all overlaps, the free energy of eq. (20) at "
        "two states, the number of directions in which a state may be unstable, the noise that "
        "makes exp(-βE) stationary, and the effect of a factor γ of the activation. Training and "
        "generalization error at finite temperatures, whose limit are eqs. (14) to (16).",
        _eq20,
    ),
    Section(
        "fig2",
        "Figure 2: learning curves of sigmoidal networks, K = 2 and K = 5",
        "R and S (left) and ε_g (right) of every minimum of the free energy over the load α: R "
        "solid and S dashed where R ≥ S, chain line and dotted where R < S; ε_g solid for R > S, "
        "dashed for R = S, dotted for R < S; thin where only site-symmetric states are compared. "
        "Two units (above) specialize continuously, five (below) with a jump; α_s is marked by a "
        "dotted, α_c by a dashed and α_d by a short vertical line. Symbols are sampled weights of "
        "1600 inputs, from the teacher downwards in α and, for K = 5, from random ones upwards.",
        _fig2,
        SAMPLES,
    ),
    Section(
        "text3a",
        "Section III A: large sigmoidal networks",
        "The loads α_s, α_c and α_d for K → ∞, how R and C of the unspecialized state scale with "
        "K, and the error at which that state stays.",
        _large_sigmoidal,
    ),
    Section(
        "trapped",
        "Sections III A and IV: how long networks stay unspecialized",
        "Mean number of Monte Carlo sweeps from the state R = S until ε_g is halfway to that of "
        "R > S, over N, for K = 5: the sigmoidal network beyond α_c, where R = S is metastable "
        "(circles), and the ReLU network at the load with the same R - S (squares). Dashed: the "
        "slope that the barrier of the free energy gives, through the times of the largest N.",
        escape.escapes,
        "Runs all chains again, in about six minutes of one core.",
        lambda: recorded.digest(KEY),
    ),
    Section(
        "fig3",
        "Figure 3: learning curves of ReLU networks, K = 2 and K = 10",
        "As Figure 2 for the ReLU with K = 2 (above) and K = 10 (below): R solid and S dashed in "
        "the state R > S, R as a chain line and S dotted in R < S, whose ε_g is nearly as low. For "
        "K = 10 the transition looks continuous and has a small jump. Symbols: sampled weights of "
        "1600 inputs, from the teacher downwards in α and from students that point away from one "
        "teacher each; for K = 10 the transition is still rounded at this size.",
        _fig3,
        SAMPLES,
    ),
    Section(
        "fig4",
        "Figure 4: ReLU networks for K → ∞",
        "Left: R of the two minima beyond α_c = 2π, R > 0 solid and R < 0 dotted. Right: "
        "their generalization error, which is one curve, with the plateau 1/4 - 1/(2π) before α_c.",
        _fig4,
    ),
    Section(
        "fig5",
        "Figure 5: overlap C of two students",
        "C over the load for the sigmoidal network with K = 5 near its transition (left) and for "
        "the ReLU network with K = 10 (right; the text of Sec. III C says K = 5): R > S solid, "
        "R = S dashed, R < S dotted. Sigmoidal students are anticorrelated, those of the ReLU "
        "correlated from α = 3.2 on. Symbols: sampled weights, as in Figures 2 and 3.",
        _fig5,
        SAMPLES,
    ),
    Section(
        "eq26",
        "Equations (25) to (28): generalization error for any overlaps",
        "ε_g of three students and three teachers without any symmetry, and the average of two "
        "ReLUs at several covariances, against the printed formulas.",
        lambda full: error.appendix_b(),
    ),
    Section(
        "eq32",
        "Equations (29) to (33): one student and one teacher",
        "Error, entropy and load of a single unit against the printed formulas, and how R and ε_g "
        "approach their limits for α → ∞.",
        _eq32,
    ),
    Section(
        "appendix_d",
        "Appendix D: weakly and negatively aligned ReLUs",
        "The mean response of a student to one teacher, to first order in their overlap S, and the "
        "overlap (K - 1) S = 2 with which the others make up for a student at R = -1.",
        _appendix_d,
    ),
)
