"""straat2019, Sec. 2 and the single unit of Sec. 3: equations, eigenvalues, self-averaging."""

import math
from collections.abc import Iterator

import numpy as np

from tutelage import averages, online, simulation
from tutelage.activations import ReLU
from tutelage.model import Overlaps
from tutelage.online import Flow
from tutelage.papers.row import Row, closed_form, compare, correct, formula, worst
from tutelage.papers.section import Section
from tutelage.papers.sequential import sequential_claim
from tutelage.papers.simulated import statement
from tutelage.papers.straat2019 import KEY
from tutelage.papers.straat2019.runs import scenario, single_start, start_2

NOTE_R = (
    "straat2019, eq. (5), first line: printed ⟨θ(x_i) y_m y_m θ(y_m)⟩, which does not depend on n. "
    "The gradient step gives ⟨θ(x_i) y_n y_m θ(y_m)⟩, and quadrature of the averages the same "
    "rate: tests/papers/test_straat2019.py."
)
NOTE_Q = (
    "straat2019, eq. (5): the bracket is ⟨x_k δ_i⟩, and the added term is printed as η⟨x_k δ_i⟩ "
    "again, which is not symmetric in i and k. The text has it right: 'the same as the first term "
    "for i and k interchanged', ⟨x_i δ_k⟩: tests/papers/test_straat2019.py."
)
# Fields u, v, w from weights; the singular covariances are exactly singular.
COVARIANCES = {
    "a generic covariance": [[1.0, 0.3, -0.4], [0.3, 0.7, 0.2], [-0.4, 0.2, 1.5]],
    "Fig. 1 start, x x y": [[0.25, 0.25, 0.0], [0.25, 0.25, 0.0], [0.0, 0.0, 1.0]],
    "Fig. 2 plateau, x1 y2 y1": [[0.718, 0.52, 0.52], [0.52, 1.0, 0.0], [0.52, 0.0, 1.0]],
    "J = B, all fields equal": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
    "w = -u": [[1.0, 0.5, -1.0], [0.5, 1.0, -0.5], [-1.0, -0.5, 1.0]],
    "J2 = B2/2 (Fig. 3), x2 y2 x3": [[0.25, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 0.25]],
}
BELOW, ABOVE = (0.1, 0.5, 1.0, 1.5, 1.9), (2.1, 2.5)  # η_c = 2
NEWTON_RESIDUAL = 1e-12  # residual of Newton's method


def equation_5(full: bool) -> Iterator[Row]:
    """The rates of R_11 and Q_12 at the start of Fig. 2, as printed and as computed."""
    rates = Flow(scenario(2, 2))(start_2(), 0)
    C = np.asarray(start_2().covariance)  # x_1, x_2, y_1, y_2
    learned = _signal(C, 0, 2)  # ⟨δ_1 y_1⟩
    # In the printed form, the sum over all teachers' fields replaces y_1.
    squares = sum(equation_6(C[np.ix_(f, f)]) for f in ([0, 2, 2], [0, 3, 3]))
    products = sum(equation_6(C[np.ix_(f, f)]) for f in ([0, 2, 2], [0, 2, 3]))
    printed, first, second = learned + squares - products, _signal(C, 0, 1), _signal(C, 1, 0)
    yield correct(
        KEY,
        "eq. (5), dR_11/d(ηα) at the start of Fig. 2",
        formula(printed),
        formula(learned),
        float(rates.R[0, 0]),
        NOTE_R,
    )
    yield correct(
        KEY,
        "eq. (5), dQ_12/d(ηα) at the start of Fig. 2",
        formula(2 * first),
        formula(first + second),
        float(rates.Q[0, 1]),
        NOTE_Q,
    )


def _signal(C: np.ndarray, i: int, a: int) -> float:
    """⟨δ_i f_a⟩ = Σ_m ⟨θ(x_i) f_a y_m θ(y_m)⟩ - Σ_j ⟨θ(x_i) f_a x_j θ(x_j)⟩, K = M = 2."""
    terms = [equation_6(C[np.ix_([i, a, b], [i, a, b])]) for b in range(4)]
    return terms[2] + terms[3] - terms[0] - terms[1]


def three_points(full: bool) -> Iterator[Row]:
    """Eq. (6) at generic and at singular covariances."""
    points = []
    for name, entries in COVARIANCES.items():
        C = np.array(entries)
        published = formula(equation_6(C), scale=float(np.max(C)))
        points.append(compare(KEY, name, published, float(averages.i3(ReLU(), C))))
    yield worst("eq. (6), at six covariances, four of them singular", points)


def equation_6(S: np.ndarray) -> float:
    """σ12 √(σ11σ33 − σ13²)/(2πσ11) + σ23 asin(σ13/√(σ11σ33))/(2π) + σ23/4, as printed."""
    (s11, s12, s13), (_, _, s23), (_, _, s33) = S
    return float(
        s12 * math.sqrt(s11 * s33 - s13**2) / (2 * math.pi * s11)
        + s23 * math.asin(s13 / math.sqrt(s11 * s33)) / (2 * math.pi)
        + s23 / 4
    )


def self_averaging(full: bool) -> Iterator[Row]:
    """Sec. 2: "the order parameters self-average": networks of more inputs scatter less."""
    item = "Sec. 2, self-averaging: distance of R from its mean, N = 100 less N = 10⁴"
    yield sequential_claim(KEY, item, _scatter, runs=100)


def _scatter(first: int, count: int) -> np.ndarray:
    """Return how much farther networks of few inputs are from their mean than those of many."""
    distance = []
    for N in (100, 10_000):
        options = {"dimension": N, "until": 5.0, "runs": count, "seed": 3 + first, "times": [5.0]}
        runs = simulation.chain(scenario(1, 1), single_start(), 0.5, **options)
        R = runs["R"].values.ravel()
        distance.append(np.abs(R - np.mean(R)))
    return distance[0] - distance[1]


def _solution(eta: float) -> online.FixedPoint:
    learned = Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
    return online.fixed_point(scenario(1, 1), learned, learning_rate=eta)


def _eigen(eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors at (R, Q) = (1, 1): first along (1/2, 1), then (0, 1)."""
    point = _solution(eta)
    along_r = np.argsort(-np.abs(point.eigenvectors[0]))
    return point.eigenvalues[along_r].real, point.eigenvectors[:, along_r].real


def single_unit(full: bool) -> Iterator[Row]:
    """Sec. 3: λ = {−η/2, η²/2 − η} with u_1 = (1/2, 1) and u_2 = (0, 1)."""
    points = {eta: _solution(eta) for eta in (*BELOW, *ABOVE)}
    item, words = "Sec. 3, K = M = 1, η from 0.1 to 2.5", "fixed point (1, 1) for all meaningful η"
    states = np.array([[p.overlaps.R.item(), p.overlaps.Q.item()] for p in points.values()])
    yield statement(KEY, item, words, np.abs(states - 1) < NEWTON_RESIDUAL)
    first, second = [], []
    for eta in (0.1, 0.5, 1.5, 2.5):
        values, vectors = _eigen(eta)
        name, printed = f"η = {eta:g}", closed_form("−η/2", -eta / 2)
        first.append(compare(KEY, name, printed, values[0]))
        printed = closed_form("η²/2 − η", eta**2 / 2 - eta, scale=eta**2)
        second.append(compare(KEY, name, printed, values[1]))
    yield worst("Sec. 3, K = M = 1, λ_1 at η = 0.1, 0.5, 1.5 and 2.5", first)
    yield worst("Sec. 3, K = M = 1, λ_2 at η = 0.1, 0.5, 1.5 and 2.5", second)
    ratios = vectors[0] / vectors[1]
    for name, text, u, ratio in (
        ("u_1", "1/2 : 1", 0.5, ratios[0]),
        ("u_2", "0 : 1", 0, ratios[1]),
    ):
        yield compare(KEY, f"Sec. 3, K = M = 1, {name}, R : Q", closed_form(text, u), ratio)
    holds = [points[eta].stable == (eta in BELOW) for eta in points]
    item, words = "Sec. 3, K = M = 1, stability at η from 0.1 to 2.5", "stable for η < 2"
    yield statement(KEY, item, words, holds)
    yield _critical()


def _critical() -> Row:
    """Sec. 3: λ_2 = 0 at η_c = 2, found by the rule of false position."""
    low, high = 1.5, 2.5
    below, above = (_eigen(eta)[0][1] for eta in (low, high))
    for _ in range(60):
        eta = (low * above - high * below) / (above - below)
        value = _eigen(eta)[0][1]
        if value == 0 or eta in (low, high):
            break
        low, below, high, above = (
            (eta, value, high, above) if value < 0 else (low, below, eta, value)
        )
    return compare(KEY, "Sec. 3, K = M = 1, η_c where λ_2 = 0", closed_form("2", 2.0), eta)


SECTIONS = (
    Section(
        "eq5",
        "Equation (5): equations of motion",
        "The rates of R_11 and Q_12 at the start of Fig. 2, from the printed sums of averages and "
        "from the equations. Both lines have a slip in an index.",
        equation_5,
    ),
    Section(
        "eq6",
        "Equation (6): the average of three fields",
        "⟨θ(u) v w θ(w)⟩ by the printed formula and by the package, at a generic covariance and at "
        "those of the paper's runs, singular ones among them.",
        three_points,
    ),
    Section(
        "averaging",
        "Section 2: self-averaging",
        "One unit with η = 0.5 at α = 5: how far R of each run is from the mean over runs, for "
        "N = 100 and N = 10⁴.",
        self_averaging,
    ),
    Section(
        "perceptron",
        "Section 3: one unit",
        "K = M = 1: the solution (R, Q) = (1, 1), the eigenvalues and eigenvectors there, and "
        "the learning rate η_c = 2 above which it is unstable.",
        single_unit,
    ),
)
