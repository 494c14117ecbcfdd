"""Tian, Student specialization in deep ReLU networks with finite width (2020).

The theorems of the paper, each where it can be decided in a moment: identities (Lemma 1,
Corollary 1, Theorem 7) and exact critical points (Theorems 1, 3) to rounding, small trained
students (Theorems 2, 3), exponents (Theorem 5) and limits (the slow escape).

Theorem 6 is decided twice.  For inputs x ~ N(0, 1) and unit weights at an angle θ,

    E[x θ(w_k·x) (w*_j·x)₊]  ∝  (π − θ) w*_j + sin θ w_k.

Its component along any vector e is a three-point average of the fields w_k·x, e·x and
w*_j·x.  The proportionality leaves the ratio sin θ/(π − θ) to be compared; sampling decides
about the factor 1/2π that `tutelage.deep.mean_push` has.
"""

import math
from functools import cache

import numpy as np

from tutelage import averages, deep
from tutelage._jax import jax, jnp
from tutelage.activations import ReLU
from tutelage.papers.record import Record, closed_form, compare, digits, method

PAPER = "tian2020"
ANGLES = {"π/6": math.pi / 6, "π/2": math.pi / 2, "5π/6": 5 * math.pi / 6}
RUNS = 4


def records() -> list[Record]:
    """The theorems in the order of the paper, and the construction of the teachers."""
    return [*_recursion(), *_critical(), *_trained(), _noisy(), *_push(), *_dynamics(), _half()]


def _zero(item: str, computed: float, allowed: float, text: str = "0") -> Record:
    """Something that vanishes up to rounding, or up to a stated size."""
    return compare(PAPER, item, method(text, 0.0, allowed), computed)


def _recursion() -> list[Record]:
    teacher = deep.teacher("6-5-4", inputs=8, outputs=3, data="gaussian:1")
    student = deep.student(teacher, 2)
    x = np.random.default_rng(0).normal(size=(200, 8))
    line = np.linspace(-3.0, 3.0, 500)[:, None] * x[0] + x[1]
    pieces = deep.pieces(student, teacher, line)
    return [
        # Four layers of sums of at most 12 products.
        _zero(
            "Lemma 1, recursion against back-propagation, L = 4, relative difference",
            deep.recursion_error(student, teacher, x),
            100 * 2.0**-52,
        ),
        _zero(
            f"Corollary 1, largest change of A_1, B_1 within one of {pieces.number} pieces",
            pieces.within,
            100 * 2.0**-52,
        ),
    ]


def _critical() -> list[Record]:
    teacher = deep.teacher("5-4", inputs=8, outputs=3, data="gaussian:1")
    student = deep.disguise(teacher, 4)
    x = np.random.default_rng(0).normal(size=(200, 8))
    # Outputs are sums of 16 products of numbers up to 10, differentiated through two layers.
    rounding = 1e-11
    return [
        _zero(
            "Theorem 1, largest update by one example at an exact critical point",
            float(deep.interpolation(student, teacher, x).update.max()),
            rounding,
        ),
        _zero(
            "Corollary 2, change of the output when its unaligned nodes are pruned",
            deep.prune(student, teacher, x).change,
            rounding,
        ),
    ]


@cache
def _students() -> tuple[list, np.ndarray]:
    """Trained two-layer students with their teachers, and examples to look at them."""
    runs = deep.train(
        4,
        3,
        inputs=8,
        outputs=5,
        epochs=[100],
        examples=4000,
        evaluation=500,
        learning_rate=0.2,
        runs=RUNS,
        data="gaussian:1",
    )
    x = np.random.default_rng(1).normal(size=(2000, 8))
    return [deep.networks(runs, run) for run in range(RUNS)], x


def _trained() -> list[Record]:
    pairs, x = _students()
    found = [deep.alignment(student, teacher, x, tolerance=0.05) for student, teacher in pairs]
    aligned = [np.mean(one.aligned[:, one.observed].any(axis=0)) for one in found]
    changes = [deep.prune(student, teacher, x).change for student, teacher in pairs]
    return [
        compare(
            PAPER,
            f"Theorem 2, fraction of observed teacher nodes aligned after training, {RUNS} runs",
            digits("1.00"),
            float(np.mean(aligned)),
        ),
        _zero(
            "Theorem 3, relative change of the output by pruning after training, largest",
            max(changes),
            0.01,
            "0 to 1 %",
        ),
    ]


def _noisy() -> Record:
    """Filters of an exact critical point turned by smaller and smaller amounts."""
    teacher = deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    exact = deep.disguise(teacher, 2)
    x = np.random.default_rng(0).normal(size=(500, 5))
    noise = np.random.default_rng(3).normal(size=exact.weights[0].shape)
    amounts = jnp.asarray(1e-3 * 2.0 ** -np.arange(6.0))
    same = jax.tree.map(lambda a: jnp.broadcast_to(a, (len(amounts), *a.shape)), exact)
    turned = deep.Network(
        (exact.weights[0] + amounts[:, None, None] * noise, *same.weights[1:]), same.biases
    )
    found = deep.noisy_recovery(turned, teacher, x)
    return compare(
        PAPER,
        "Theorem 5, exponent of sin θ against the gradient, at least 1 - δ",
        # For turns of 1e-3 the next order in the angle moves a slope by about as much.
        method("1", 1.0, 0.01),
        found.exponent,
        found.error,
    )


def _push() -> list[Record]:
    ratios = [
        compare(
            PAPER,
            f"Theorem 6, coefficient of w_k over that of w*_j, θ = {name}",
            # The ratio is a solution of equations with the determinant sin²θ ≥ 1/4.
            closed_form(
                "sin θ/(π - θ)", math.sin(angle) / (math.pi - angle), scale=math.sin(angle) ** -2
            ),
            _ratio(angle),
        )
        for name, angle in ANGLES.items()
    ]
    return [*ratios, *(_sampled(name, angle) for name, angle in ANGLES.items())]


def _ratio(angle: float) -> float:
    gram = np.array([[1.0, math.cos(angle)], [math.cos(angle), 1.0]])  # of w_k and w*_j
    k, j = 0, 1
    components = [float(averages.i3(ReLU(), gram[np.ix_([k, e, j], [k, e, j])])) for e in (k, j)]
    of_student, of_teacher = np.linalg.solve(gram, components)
    return float(of_student / of_teacher)


def _sampled(name: str, angle: float) -> Record:
    """The component along w*_j by sampling; the factor is that of N(0, 1)."""
    x = np.random.default_rng(6).normal(size=(400_000, 2))
    w, t = np.array([math.cos(angle), math.sin(angle)]), np.array([1.0, 0.0])
    samples = (x @ t) * (x @ w > 0) * np.maximum(x @ t, 0.0)
    error = float(samples.std() / math.sqrt(len(x)))
    value = float(deep.mean_push(w, t) @ t)
    # Four standard errors: the level is 6e-5.
    return compare(
        PAPER,
        f"Theorem 6, E[x z_k f*_j]·w*_j by 400,000 samples, θ = {name}",
        method("[π - θ + sin θ cos θ]/2π", value, 4 * error),
        float(samples.mean()),
    )


def _dynamics() -> list[Record]:
    η, ε, angle = 1e-3, 1e-3, math.pi / 2
    teacher = deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    x = np.random.default_rng(0).normal(size=(300, 5))
    path = deep.descent(deep.student(teacher, 2, seed=1), teacher, x, η, 10)
    found = deep.growth(path, teacher, x)
    gaps = [
        np.diff(found.logarithmic_ratio(k, 0)) / η - found.predicted(k, 0)[:-1] for k in range(1, 6)
    ]
    time = float(deep.escape_time(ε, angle)) / (1 / ε - 1 / (math.pi - angle))
    return [
        # Rates are of the order of 1, and differences over a step of η are off by η of that.
        _zero("Theorem 7, d/dt ln ‖w_k‖/‖w_k'‖ along a descent", float(np.abs(gaps).max()), η),
        compare(
            PAPER,
            "Sec. 5.3, slow escape, t₀ over 1/ε - 1/(π - θ₀), ε = 0.001, θ₀ = π/2",
            method("1", 1.0, ε),  # what follows 1/ε is of the order of 1
            time,
        ),
    ]


def _half() -> Record:
    """Biases are medians of 1000 examples; the nodes are looked at with 4000 others."""
    teacher = deep.teacher("10-10", inputs=20, outputs=4)
    x = 10 * np.random.default_rng(4).normal(size=(4000, 20))
    active = [np.asarray(h) > 0 for h in teacher.fields(x)[:-1]]
    return compare(
        PAPER,
        "Sec. 8.16, fraction of data activating a node, farthest of 20 from half",
        # 20 nodes; the largest of them is within 4 standard errors at the level 1e-3.
        method("0.5", 0.5, 4 * 0.5 * math.sqrt(1 / 1000 + 1 / 4000)),
        0.5 + max((float(a.mean(axis=0)[i]) - 0.5 for a in active for i in range(10)), key=abs),
    )
