"""Teachers and students of tian2020, by Section 8.16 or by the authors' public code."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, check_choice, finite_number, positive_integer, shape_of
from tutelage._given import ArrayLike, CheckedInside
from tutelage._memory import check_memory
from tutelage.deep.network import Network, as_jax, check_network
from tutelage.deep.training.examples import InputSource, as_examples
from tutelage.runs.seed import check_seed

# Number of examples from which the median of a field is estimated.  The fraction of other examples
# that activate the node then differs from one half by 1/(2 √1000) = 0.016.
FOR_BIASES = 1000
# Constructions of teachers and students: Section 8.16, or the authors' public code.
TEXT, CODE = CONSTRUCTIONS = ("text", "code")
# Possible weights, the bias and the initial scale (two layers) in the authors' code.
ENTRIES = np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
BIAS, START = -0.1, 0.005
# Purposes of random numbers, each with its own stream.
TEACHER, STUDENT, DATA, EVALUATION = range(4)


@validated
def teacher(
    hidden: CheckedInside[str | int | Sequence[int]],
    polarity: float = 0.0,
    *,
    inputs: int = 100,
    outputs: int = 50,
    data: CheckedInside[str | ArrayLike] = "gaussian",
    construction: str = TEXT,
    seed: int = 0,
) -> Network:
    """Make a teacher with distinct filters that about half of the data activate.

    Filters are independent random directions of length 1; biases are minus the median of the
    field over 1000 examples.  The fan-out of node j = 1, 2, … of the last hidden layer has

        ‖v_j‖ = 1/j^p        (tian2020, eq. (9));

    between hidden layers it decays in the same way, before filters get the length 1.

    The public code of the authors (``construction="code"``) takes entries of all weights from 0,
    ±0.25 and ±0.5 at random, and gives filters the length 1.  With two layers all biases are -0.1
    and ‖v_j‖ is about (C/8)^½/j^p, 2.5/j^p for 50 outputs; with more, biases are as above, and
    outputs get the mean 0 and the variance 1.

    Args:
        hidden: nodes of the hidden layers, such as (50, 75, 100, 125), "50-75-100-125" or 10.
        polarity: p >= 0; with 0 all nodes are equally strong.
        inputs: d >= 1.
        outputs: C >= 1.
        data: "gaussian" (σ = 10), "uniform" (on [-15, 15]), either with its width as in
            "gaussian:1", or an array of shape (rows, d).
        construction: "text" or "code".
        seed: a whole number of at least 0.

    >>> import numpy as np, tutelage as tl
    >>> made = tl.deep.teacher("4-3", inputs=20, outputs=5, polarity=1.0)
    >>> made.widths
    (20, 4, 3, 5)
    >>> np.linalg.norm(made.weights[-1], axis=1).round(3).tolist()
    [1.0, 0.5, 0.333]
    """
    widths = widths_of(hidden, inputs, outputs)
    finite_number("polarity", polarity, at_least=0.0, hint="polarity=1")
    examples = as_examples(data, widths[0])
    check_construction(construction, widths)
    network = make_teacher(
        generator(seed, TEACHER), widths, float(polarity), examples, construction
    )
    return as_jax(network)


@validated
def student(
    teacher: Network,
    multiple: int = 1,
    *,
    scale: float = 1.0,
    construction: str = TEXT,
    seed: int = 0,
) -> Network:
    """Make a student that is ``multiple`` times over-realized: n_l = multiple · m_l.

    Weights and biases are uniform on ± scale/√n_{l-1}.  Those of two layers in the public code of
    the authors (``construction="code"``) are Gaussian with the deviation 0.005 scale, and biases 0.

    Args:
        teacher: the student has the same depth, inputs and outputs.
        multiple: at least 1; 1, 2, 5 and 10 in the paper.
        scale: of the weights, greater than 0.
        construction: "text" or "code".
        seed: a whole number of at least 0.

    >>> import tutelage as tl
    >>> tl.deep.student(tl.deep.teacher("4-3", inputs=20, outputs=5), multiple=2).widths
    (20, 8, 6, 5)
    """
    check_network("teacher", teacher)
    finite_number("scale", scale, above=0.0, hint="scale=1")
    positive_integer("multiple", multiple, "multiple=5")
    size = lambda k: _bytes(*over_realized(teacher.widths, k))  # noqa: E731
    check_memory("multiple", multiple, size, "the weights of the student")
    widths = over_realized(teacher.widths, multiple)
    check_construction(construction, teacher.widths)
    return as_jax(make_student(generator(seed, STUDENT), widths, float(scale), construction))


def widths_of(hidden: Any, inputs: int, outputs: int) -> tuple[int, ...]:
    """Return d, m_1, …, C."""
    if isinstance(hidden, str):
        parts: Sequence[Any] = [int(n) if n.isdecimal() else n for n in hidden.split("-")]
    else:
        parts = [hidden] if shape_of("hidden", hidden) == () else list(hidden)
    if not parts:
        raise InputError("hidden", "no layers", "there has to be a hidden layer", '"50-75"')
    layers = [positive_integer("hidden", n, 'nodes of the hidden layers, "50-75"') for n in parts]
    d = positive_integer("inputs", inputs, "inputs=100")
    C = positive_integer("outputs", outputs, "outputs=50")
    what = "the weights and the fields that set the biases"
    check_memory("inputs", d, lambda n: _bytes(n, *layers, C), what)
    return (d, *layers, C)


def _bytes(*widths: int) -> int:
    """Count bytes of the weights, before and after scaling, and of the fields."""
    weights = sum(m * n for m, n in pairwise(widths))
    return 8 * (3 * weights + 2 * FOR_BIASES * max(widths[:-1]))


def over_realized(widths: tuple[int, ...], multiple: int) -> tuple[int, ...]:
    """Return the layer widths of a student with `multiple` times the teacher's hidden units."""
    return (widths[0], *(multiple * m for m in widths[1:-1]), widths[-1])


def check_construction(construction: str, widths: tuple[int, ...]) -> str:
    """Check the construction, and that there are enough entries for distinct filters."""
    check_choice("construction", construction, CONSTRUCTIONS)
    drawn = list(pairwise(widths)) if len(widths) > 3 else [widths[:2]]
    for m, n in drawn if construction == CODE else ():
        if n > 2**m:
            allowed = f"{n} filters of {m} entries from a short list cannot be distinct"
            raise InputError("construction", repr(construction), allowed, "wider layers")
    return str(construction)


def make_teacher(
    random: np.random.Generator,
    widths: tuple[int, ...],
    p: float,
    examples: InputSource,
    construction: str = TEXT,
) -> Network:
    """Make a teacher from validated arguments, with NumPy's random numbers."""
    if construction == CODE and len(widths) == 3:
        return _short_lists(random, widths, p)
    f = examples.sample(random, FOR_BIASES, widths[0]).astype(float)
    weights, biases, strength = [], [], np.ones(widths[0])
    for m, n in pairwise(widths[:-1]):
        drawn = _distinct(random, m, n) if construction == CODE else random.standard_normal((m, n))
        W = drawn * strength[:, None]
        weights.append(W / np.linalg.norm(W, axis=0))
        h = f @ weights[-1]
        biases.append(-np.median(h, axis=0))
        f = np.maximum(h + biases[-1], 0.0)
        strength = np.arange(1.0, n + 1.0) ** -p
    if construction == CODE:
        V = strength[:, None] * _distinct(random, *widths[-2:])
        mean, deviation = np.mean(f @ V, axis=0), np.std(f @ V, axis=0)
        return Network((*weights, V / deviation), (*biases, -mean / deviation))
    V = random.standard_normal(widths[-2:])
    weights.append(strength[:, None] * V / np.linalg.norm(V, axis=1, keepdims=True))
    return Network(tuple(weights), (*biases, np.zeros(widths[-1])))


def _short_lists(random: np.random.Generator, widths: tuple[int, ...], p: float) -> Network:
    """Make the two-layer teacher of the authors' public code."""
    d, m, C = widths
    W = _distinct(random, d, m)
    V = random.choice(ENTRIES, (m, C)) * (np.arange(1.0, m + 1.0) ** -p)[:, None]
    W /= np.linalg.norm(W, axis=0)
    return Network((W, V), (np.full(m, BIAS), np.full(C, BIAS)))


def _distinct(random: np.random.Generator, m: int, n: int) -> np.ndarray:
    """Draw columns with entries from a list; none is zero and no two are parallel."""
    columns: dict[tuple[float, ...], np.ndarray] = {}
    while len(columns) < n:
        w = random.choice(ENTRIES, m)
        if w.any():
            columns.setdefault(tuple(w / np.abs(w).max()), w)
    return np.stack(list(columns.values()), axis=1)


def make_student(
    random: np.random.Generator,
    widths: tuple[int, ...],
    scale: float = 1.0,
    construction: str = TEXT,
) -> Network:
    """Make a student from validated arguments."""
    if construction == CODE and len(widths) == 3:
        drawn = tuple(scale * START * random.standard_normal(shape) for shape in pairwise(widths))
        return Network(drawn, tuple(np.zeros(n) for n in widths[1:]))
    weights, biases = [], []
    for m, n in pairwise(widths):
        weights.append(scale * m**-0.5 * random.uniform(-1.0, 1.0, (m, n)))
        biases.append(scale * m**-0.5 * random.uniform(-1.0, 1.0, n))
    return Network(tuple(weights), tuple(biases))


def generator(seed: int, purpose: int, run: int = 0) -> np.random.Generator:
    """Make a generator from the seed, the purpose and the number of the run."""
    return np.random.default_rng([check_seed(seed), purpose, run])
