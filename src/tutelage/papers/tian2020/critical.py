"""The critical points of tian2020: Lemmas 1, 3 and 4, Corollaries 1 and 2, Theorems 1 to 3 and 5.

Each where it can be decided in a moment: identities and exact critical points to rounding, small
trained students (Theorems 2 and 3), an exponent (Theorem 5).
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np

from tutelage import deep
from tutelage._jax import jax, jnp
from tutelage.papers.claim import counterexample
from tutelage.papers.row import Row, closed_form, compare, correct, digits, method
from tutelage.papers.tian2020 import KEY, theorems

RUNS = 4
BIAS_NOTE = (
    "tian2020, Sec. 8.2: with the bias term g_l is a column of U_l, for which the lines before "
    "have [2(|B| - 1) + 1]ε/|B|, which is 5ε/3 for three examples, and not ε. The linear programme "
    "reaches that."
)
POLYTOPE_NOTE = (
    "tian2020, Sec. 3: ReLUs fold a polytope. With W_1 = 1 the quadrilateral with the corners "
    "(-1, 0.9), (-1, 1.1), (1, -1.1) and (1, -0.9) goes to two arms along the axes, with images "
    "near (0, 1) and (1, 0) and none near (½, ½). Proofs need only that R_l is open at boundaries."
)


def zero(item: str, computed: float, allowed: float, text: str = "0") -> Row:
    """Return the row of a number that is zero up to rounding, or up to a stated size."""
    return compare(KEY, item, method(text, 0.0, allowed), computed)


def recursion() -> list[Row]:
    """Check Lemma 1 and Corollary 1."""
    teacher = deep.teacher("6-5-4", inputs=8, outputs=3, data="gaussian:1")
    student = deep.student(teacher, 2)
    x = np.random.default_rng(0).normal(size=(200, 8))
    line = np.linspace(-3.0, 3.0, 500)[:, None] * x[0] + x[1]
    pieces = theorems.pieces(student, teacher, line)
    return [
        # Four layers of sums of at most 12 products.
        zero(
            "Lemma 1, recursion against back-propagation, L = 4, relative difference",
            theorems.recursion_error(student, teacher, x),
            100 * 2.0**-52,
        ),
        zero(
            f"Corollary 1, largest change of A_1, B_1 within one of {pieces.number} pieces",
            pieces.within,
            100 * 2.0**-52,
        ),
    ]


def critical() -> list[Row]:
    """Theorem 1 and Corollary 2 at an exact critical point, and the bound after Theorem 1."""
    teacher = deep.teacher("5-4", inputs=8, outputs=3, data="gaussian:1")
    student = theorems.disguise(teacher, 4)
    x = np.random.default_rng(0).normal(size=(200, 8))
    # Outputs are sums of 16 products of numbers up to 10, differentiated through two layers.
    rounding = 1e-11
    return [
        zero(
            "Theorem 1, largest update by one example at an exact critical point",
            float(theorems.interpolation(student, teacher, x).update.max()),
            rounding,
        ),
        zero(
            "Corollary 2, change of the output when its unaligned nodes are pruned",
            deep.prune(student, teacher, x).change,
            rounding,
        ),
        *_examples(),
    ]


def _examples(examples: int = 6, batch: int = 3) -> Iterator[Row]:
    """Check Theorem 1 and the bounds of Section 8.2 by sums over all batches of 3 of 6 examples.

    Section 8.2 argues |B| ‖U_i‖ <= [2 (|B| - 1) + 1] ε from |Σ_{i in B} U_i| <= ε.  With a bias
    U_i has a column g_l(x_i), which obeys the same bound and no better one.
    """
    from scipy.optimize import linprog

    batches = list(combinations(range(examples), batch))
    sums = np.array([[float(i in chosen) for i in range(examples)] for chosen in batches])
    yield compare(
        KEY,
        "Theorem 1, rank of the sums over all batches of 3 out of 6 examples",
        closed_form("6: they determine every U_i", float(examples)),
        float(np.linalg.matrix_rank(sums)),
    )
    objective = np.eye(examples)[0]
    solution = linprog(
        -objective, np.vstack([sums, -sums]), np.ones(2 * len(sums)), bounds=(None, None)
    )
    # The simplex method has 1e-7 as its tolerance.
    bound = method("[2 (|B| - 1) + 1]/|B|", (2 * batch - 1) / batch, 1e-7)
    item = "largest {}/ε if no batch of 3 has a gradient above ε"
    yield compare(KEY, f"Sec. 8.2, {item.format('‖U_i‖')}", bound, -float(solution.fun))
    yield correct(
        KEY,
        f"Sec. 8.2, with the bias term: {item.format('‖g_l‖')}",
        method("1", 1.0, 1e-7),
        bound,
        -float(solution.fun),
        BIAS_NOTE,
    )


def image() -> Row:
    """Decide Section 3: whether the image of a polytope under a layer is a polytope."""
    # R_0: around the straight line from (-1, 1) to (1, -1), with the corners (-1, 1 ± h), ....
    corners = np.array([[-1.0, 0.9], [-1.0, 1.1], [1.0, -1.1], [1.0, -0.9]])
    shares = np.random.default_rng(3).dirichlet(np.ones(4), 20_000)
    inside = np.maximum(shares @ corners, 0.0)
    # Between the images of (-1, 1) and (1, -1); no image has both coordinates above 0.1.
    middle = 0.5 * (np.maximum([-1.0, 1.0], 0.0) + np.maximum([1.0, -1.0], 0.0))
    away = np.min(inside, axis=1).max() < 0.2 < middle.min()
    item = "Sec. 3, R_l is a convex polytope, one layer of two ReLU nodes"
    return counterexample(KEY, item, "and also a convex polytope", bool(away), POLYTOPE_NOTE)


@cache
def _students() -> tuple[list, np.ndarray]:
    """Return trained two-layer students with their teachers, and examples to test them."""
    runs = deep.train(
        4,
        3,
        inputs=8,
        outputs=5,
        recorded=[100],
        examples=4000,
        evaluation=500,
        learning_rate=0.2,
        runs=RUNS,
        data="gaussian:1",
    )
    x = np.random.default_rng(1).normal(size=(2000, 8))
    return [deep.networks(runs, run) for run in range(RUNS)], x


def trained() -> list[Row]:
    """Check Theorems 2 and 3 on trained students."""
    pairs, x = _students()
    alignments = [
        theorems.alignment(student, teacher, x, tolerance=0.05) for student, teacher in pairs
    ]
    aligned = [np.mean(one.aligned[:, one.observed].any(axis=0)) for one in alignments]
    changes = [deep.prune(student, teacher, x).change for student, teacher in pairs]
    return [
        compare(
            KEY,
            f"Theorem 2, fraction of observed teacher nodes aligned after training, {RUNS} runs",
            digits("1.00"),
            float(np.mean(aligned)),
        ),
        zero(
            "Theorem 3, relative change of the output by pruning after training, largest",
            max(changes),
            0.01,
            "0 to 1 %",
        ),
    ]


def noisy() -> Row:
    """Rotate the filters of an exact critical point by smaller and smaller angles."""
    teacher = deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    exact = theorems.disguise(teacher, 2)
    x = np.random.default_rng(0).normal(size=(500, 5))
    noise = np.random.default_rng(3).normal(size=exact.weights[0].shape)
    amounts = jnp.asarray(1e-3 * 2.0 ** -np.arange(6.0))
    same = jax.tree.map(lambda a: jnp.broadcast_to(a, (len(amounts), *a.shape)), exact)
    first = same.weights[0] + amounts[:, None, None] * noise[None]
    turned = deep.Network((first, *same.weights[1:]), same.biases)
    law = theorems.noisy_recovery(turned, teacher, x)
    return compare(
        KEY,
        "Theorem 5, exponent of sin θ against the gradient, at least 1 - δ",
        # For rotations by 1e-3 the next order in the angle changes a slope by about as much.
        method("1", 1.0, 0.01),
        *law.exponent,
    )


def independence() -> list[Row]:
    """Check Lemma 3 where w_2 = -w_1, and Lemma 4."""
    random = np.random.default_rng(5)
    h = random.normal(size=1000)
    # c = (1, -1) for the two nodes, and c• w• = -w_1 for the linear part.
    vanishes = np.abs(np.maximum(h, 0.0) - np.maximum(-h, 0.0) - h).max() == 0.0
    a, b = (w / np.linalg.norm(w) for w in random.normal(size=(2, 5)))
    cosine = float(a @ b)
    sine = float(np.linalg.norm(b - cosine * a))
    return [
        counterexample(
            KEY,
            "Lemma 3, coefficients of ReLU nodes vanish where the sum does, w_2 = -w_1",
            "for w_j ≠ γ w_j' with any γ > 0",
            vanishes,
            "tian2020, Lemma 3: for w_2 = -w_1 the sum σ(h) - σ(-h) - h is 0 everywhere, with "
            "coefficients that are not 0. So γ < 0 has to be excluded too, as Lemma 2 does. "
            "Theorem 2 then holds with alignment up to the sign of a filter: a student at a "
            "critical point without any aligned node is in "
            "tests/papers/tian2020/test_theorems.py (docs/deep.md).",
        ),
        compare(
            KEY,
            "Lemma 4, w̃_j'·ũ for ũ = P w̃_j'/sin θ",
            closed_form("sin θ", math.sqrt(1 - cosine**2)),
            float(b @ (b - cosine * a)) / sine,
        ),
    ]
