"""The training dynamics of tian2020: Theorems 6 and 7, the slow escape, the symmetric case.

Theorem 6 is decided twice.  For inputs x ~ N(0, 1) and unit weights at an angle θ,

    E[x θ(w_k·x) (w*_j·x)₊]  ∝  (π − θ) w*_j + sin θ w_k.

Its component along any vector e is a three-point average of the fields w_k·x, e·x and
w*_j·x.  The proportionality leaves the ratio sin θ/(π − θ) to be compared; sampling decides
about the factor 1/2π that `theorems.mean_push` has.
"""

import math
from functools import partial

import numpy as np

from tutelage import averages, deep
from tutelage.activations import ReLU
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, closed_form, compare, correct, method, worst
from tutelage.papers.sequential import sequential_claim
from tutelage.papers.tian2020 import KEY, theorems
from tutelage.papers.tian2020.critical import zero

PREFACTOR_NOTE = (
    "tian2020, Theorem 6 and Sec. 8.14: the mean push is proportional to ‖w*_j‖, but does not "
    "depend on ‖w_k‖, because z_k = 1 for w_k·x > 0 whatever the length is; for N(0, 1) the factor "
    "in front of [(π - θ) w̄*_j + sin θ w̄_k] is ‖w*_j‖/2π. Eq. (8) counts on a factor ‖w_k‖."
)
STAGES_AT_REST = 7  # the number of starts doubles from 8 to 512
ANGLES = {"π/6": math.pi / 6, "π/2": math.pi / 2, "5π/6": 5 * math.pi / 6}


def push() -> list[Row]:
    """Check Theorem 6 by exact averages and by sampling."""
    ratios = (
        compare(
            KEY,
            f"θ = {name}",
            # The ratio is a solution of equations with the determinant sin²θ ≥ 1/4.
            closed_form(
                "sin θ/(π - θ)", math.sin(angle) / (math.pi - angle), scale=math.sin(angle) ** -2
            ),
            _ratio(angle),
        )
        for name, angle in ANGLES.items()
    )
    sampled = (_sampled(name, angle) for name, angle in ANGLES.items())
    angles = f"θ = {', '.join(ANGLES)}"
    return [
        worst(f"Theorem 6, coefficient of w_k over that of w*_j, {angles}", ratios),
        worst(f"Theorem 6, E[x z_k f*_j]·w*_j by 400,000 samples, {angles}", sampled),
        _twice_as_long(),
    ]


def _twice_as_long() -> Row:
    """Check the printed factor ‖w_k‖ of Theorem 6: the gate of a node does not depend on its
    length.
    """
    once, twice = (_component(math.pi / 2, length) for length in (1.0, 2.0))
    return correct(
        KEY,
        "Theorem 6, E[x z_k f*_j]·w*_j if w_k is twice as long, over that before",
        closed_form("2, from ‖w*_j‖ ‖w_k‖", 2.0),
        closed_form("1", 1.0),
        twice / once,
        PREFACTOR_NOTE,
    )


def _component(angle: float, length: float) -> float:
    """Compute E[x z_k f*_j]·w*_j as an average over three fields, for a filter w_k of
    this length.
    """
    cross = length * math.cos(angle)
    C = np.array([[length**2, cross, cross], [cross, 1.0, 1.0], [cross, 1.0, 1.0]])
    return float(averages.i3(ReLU(), C))


def _ratio(angle: float) -> float:
    gram = np.array([[1.0, math.cos(angle)], [math.cos(angle), 1.0]])  # of w_k and w*_j
    k, j = 0, 1
    components = [float(averages.i3(ReLU(), gram[np.ix_([k, e, j], [k, e, j])])) for e in (k, j)]
    of_student, of_teacher = np.linalg.solve(gram, components)
    return float(of_student / of_teacher)


def _sampled(name: str, angle: float) -> Row:
    """Sample the component along w*_j; the factor is that of N(0, 1)."""
    x = np.random.default_rng(6).normal(size=(400_000, 2))
    w, t = np.array([math.cos(angle), math.sin(angle)]), np.array([1.0, 0.0])
    samples = (x @ t) * (x @ w > 0) * np.maximum(x @ t, 0.0)
    error = float(samples.std() / math.sqrt(len(x)))
    value = float(theorems.mean_push(w, t) @ t)
    # Four standard errors: the level is 6e-5.
    return compare(
        KEY,
        f"θ = {name}",
        method("[π - θ + sin θ cos θ]/2π", value, 3 * error),
        float(samples.mean()),
        error,
    )


def growth() -> list[Row]:
    """Check Theorem 7 along a descent, and the slow escape."""
    η, ε, angle = 1e-3, 1e-3, math.pi / 2
    teacher = deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    x = np.random.default_rng(0).normal(size=(300, 5))
    path = theorems.descent(deep.student(teacher, 2, seed=1), teacher, x, η, steps=10)
    rates = theorems.growth(path, teacher, x)
    gaps = [
        np.diff(rates.logarithmic_ratio(k, 0)) / η - rates.predicted(k, 0)[:-1] for k in range(1, 6)
    ]
    time = float(theorems.escape_time(ε, angle)) / (1 / ε - 1 / (math.pi - angle))
    return [
        # Rates are of order 1, and differences over a step of η have errors of order η.
        zero("Theorem 7, d/dt ln ‖w_k‖/‖w_k'‖ along a descent", float(np.abs(gaps).max()), η),
        compare(
            KEY,
            "Sec. 5.3, slow escape, t₀ over 1/ε - 1/(π - θ₀), ε = 0.001, θ₀ = π/2",
            method("1", 1.0, ε),  # corrections to 1/ε are of order 1
            time,
        ),
    ]


TARGET, COEFFICIENTS = np.array([1.0, 0.5]), np.array([1.0, 0.7, 0.2])
# Entries of the filters: those of the authors' code, and large ones; the paper does not state them.
STARTS = (0.005, 0.3)


def symmetric() -> list[Row]:
    """Check the symmetric case after Theorem 7, from starts with positive overlap with w*."""
    times = np.linspace(0.0, 20.0, 4001)
    gaps = []
    for seed in range(8):
        w, h = theorems.symmetric_flow(_start(seed, STARTS[-1]), TARGET, COEFFICIENTS, times)
        S = np.linalg.norm(w, axis=2) @ COEFFICIENTS
        difference = h[:, 0] - h[:, 1]
        slope = np.gradient(difference, times)
        gaps.append(np.abs(slope + difference * (h[:, 0] + h[:, 1] + S))[2:-2].max())
    item = "Sec. 5.3, cosine of w̄_k and w* at rest in the symmetric case, least of 3"
    readings = {
        f"start N(0, {scale:g}²)": sequential_claim(
            KEY, item, partial(_cosines, scale), ">", 0.99, stages=STAGES_AT_REST
        )
        for scale in STARTS
    }
    return [
        # Central differences over steps of 0.005 have errors of 4e-6 times the third derivative,
        # which is below 100 for rates of order 1 that change within times of order 1/4.
        zero("Eq. (68), change of w̄_k·r - w̄_k'·r along the flow", float(max(gaps)), 4e-4),
        in_each_reading(
            item,
            "the length of the filters at the start",
            readings,
            "The flow comes to rest where Σ a_k w_k = w*, before all filters have turned to w*; "
            "only those that start short get all the way (docs/deep.md and "
            "tests/papers/tian2020/test_dynamics.py).",
        ),
    ]


def _start(seed: int, scale: float) -> np.ndarray:
    start = scale * np.random.default_rng(seed).normal(size=(3, 2))
    # Section 8.15 assumes w̄_k·r > 0.
    return start * np.sign(start @ TARGET)[:, None]


def _cosines(scale: float, first: int, count: int) -> np.ndarray:
    """Return the smallest final cosine with w*, over the starts with these indices."""
    cosines = []
    for seed in range(first, first + count):
        w, _ = theorems.symmetric_flow(_start(seed, scale), TARGET, COEFFICIENTS, [0.0, 20.0])
        end = w[-1] / np.linalg.norm(w[-1], axis=1, keepdims=True)
        cosines.append(float((end @ TARGET).min() / np.linalg.norm(TARGET)))
    return np.array(cosines)


def half() -> Row:
    """Check half activity: biases are medians of 1000 examples, activity is measured with 4000
    others.
    """
    teacher = deep.teacher("10-10", inputs=20, outputs=4)
    x = 10 * np.random.default_rng(4).normal(size=(4000, 20))
    active = [np.asarray(h) > 0 for h in teacher.fields(x)[:-1]]
    error = 0.5 * math.sqrt(1 / 1000 + 1 / 4000)
    return compare(
        KEY,
        "Sec. 8.16, fraction of data activating a node, farthest of 20 from half",
        # 20 nodes; the largest of them is within 4 standard errors at the level 1e-3.
        method("0.5", 0.5, 3 * error),
        0.5 + max((float(a.mean(axis=0)[i]) - 0.5 for a in active for i in range(10)), key=abs),
        error,
    )
