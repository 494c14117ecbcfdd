"""Teachers and students are built as in tian2020, Section 8.16, or in its code."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.deep.training.examples import as_examples

X = np.random.default_rng(5).normal(0.0, 10.0, (4000, 30))


@pytest.mark.parametrize("hidden", ["12", "8-10-6", (4, 4)])
def test_about_half_of_new_data_activate_every_teacher_node(hidden):
    teacher = tl.deep.teacher(hidden, inputs=30, outputs=4, seed=3)
    for f in teacher.activations(X)[:-1]:
        active = np.mean(np.asarray(f) > 0, axis=0)
        # Medians of 1000 and means of 4000 examples: σ = ½ √(1/1000 + 1/4000) = 0.018.
        assert np.all(np.abs(active - 0.5) < 5 * 0.018)


def test_teacher_filters_are_distinct_and_of_length_one():
    teacher = tl.deep.teacher("8-10-6", inputs=30, outputs=4, polarity=1.0)
    for W in teacher.weights[:-1]:
        gram = np.asarray(W.T @ W)
        assert np.allclose(np.diag(gram), 1.0, rtol=1e-14)
        assert np.max(np.abs(gram - np.eye(len(gram)))) < 0.99


@pytest.mark.parametrize("p", [0.0, 1.0, 2.5])
def test_fan_out_decays_with_the_polarity(p):
    V = tl.deep.teacher("5-7", inputs=30, outputs=4, polarity=p).weights[-1]
    assert np.allclose(np.linalg.norm(V, axis=1), np.arange(1.0, 8.0) ** -p, rtol=1e-14)


def test_polarity_changes_nothing_but_the_strength():
    even, polar = (tl.deep.teacher(6, inputs=30, outputs=4, polarity=p) for p in (0.0, 2.0))
    assert np.array_equal(even.weights[0], polar.weights[0])
    assert np.array_equal(even.biases[0], polar.biases[0])


def test_students_are_over_realized_in_hidden_layers_alone():
    teacher = tl.deep.teacher("5-7", inputs=30, outputs=4)
    for multiple in (1, 2, 5, 10):
        result = tl.deep.student(teacher, multiple)
        assert result.widths == (30, 5 * multiple, 7 * multiple, 4)
        assert result.depth == 3


def test_a_network_is_its_formula():
    result = tl.deep.student(tl.deep.teacher("5-7", inputs=30, outputs=4), 2, seed=8)
    f = X[:50]
    for layer, (W, b) in enumerate(zip(result.weights, result.biases, strict=True)):
        f = f @ np.asarray(W) + np.asarray(b)
        f = np.maximum(f, 0.0) if layer < 2 else f
    assert np.allclose(result(X[:50]), f, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "σ"), [("gaussian", 10.0), ("uniform", 15 / 3**0.5)])
@pytest.mark.parametrize("way", ["draw", "sample"])
def test_inputs_have_the_moments_of_their_law(name, σ, way):
    from tutelage._jax import jax, jnp

    source = as_examples(name, 20)
    if way == "draw":
        x = np.asarray(source.draw(jax.random.key(3), jnp.arange(2000), 20))
    else:
        x = source.sample(np.random.default_rng(3), 2000, 20)
    n = x.size
    assert abs(x.mean()) < 4 * σ / n**0.5  # level 6e-5
    kurtosis = 3.0 if name == "gaussian" else 1.8
    assert abs(x.var() - σ**2) < 4 * σ**2 * ((kurtosis - 1) / n) ** 0.5
    assert name == "gaussian" or np.abs(x).max() <= 15.0


TEACHER = tl.deep.teacher("3-2", inputs=4, outputs=2)
CASES = [
    (lambda: tl.deep.teacher("", inputs=4), "hidden"),
    (lambda: tl.deep.teacher("3-x", inputs=4), "hidden"),
    (lambda: tl.deep.teacher([], inputs=4), "hidden"),
    (lambda: tl.deep.teacher(0), "hidden"),
    (lambda: tl.deep.teacher(3, inputs=0), "inputs"),
    (lambda: tl.deep.teacher(3, outputs=2.5), "outputs"),
    (lambda: tl.deep.teacher(3, polarity=-1.0), "polarity"),
    (lambda: tl.deep.teacher(3, polarity=float("nan")), "polarity"),
    (lambda: tl.deep.teacher(3, seed=-1), "seed"),
    (lambda: tl.deep.teacher(3, data="cauchy"), "data"),
    (lambda: tl.deep.teacher(3, data="gaussian:-1"), "data"),
    (lambda: tl.deep.teacher(3, data=np.zeros((5, 7))), "data"),
    (lambda: tl.deep.student(TEACHER, 0), "multiple"),
    (lambda: tl.deep.student("teacher"), "teacher"),
    (lambda: tl.deep.network([[[1.0]]]), "weights"),
    (lambda: tl.deep.network([[[1.0]], [[1.0], [2.0]]]), r"weights\[1\]"),
    (lambda: tl.deep.network([[[1.0]], [[np.inf]]]), r"weights\[1\]"),
    (lambda: tl.deep.network([[[1.0]], [[1.0]]], [[0.0], [0.0, 1.0]]), "biases"),
    (lambda: tl.deep.correlations(TEACHER, TEACHER, np.zeros((0, 4))), "examples"),
    (lambda: tl.deep.correlations(TEACHER, TEACHER, np.zeros((3, 5))), "examples"),
    (
        lambda: tl.deep.correlations(
            tl.deep.teacher(3, inputs=4, outputs=2), TEACHER, np.zeros((3, 4))
        ),
        "student: got 2 layers",
    ),
    (
        lambda: tl.deep.correlations(
            tl.deep.teacher("3-2", inputs=5, outputs=2), TEACHER, np.zeros((3, 4))
        ),
        "student: got 5 inputs",
    ),
    (
        lambda: tl.deep.prune(
            tl.deep.teacher("2-2", inputs=4, outputs=2), TEACHER, np.zeros((3, 4))
        ),
        "student: got widths",
    ),
]


@pytest.mark.parametrize(("call", "words"), CASES)
def test_bad_input_is_named(call, words):
    with pytest.raises(tl.InputError, match=f"^{words}"):
        call()


def test_two_layers_of_the_authors_code():
    """Entries from a short list, filters of length 1, biases -0.1, fan-out (C/8)^½/j^p."""
    result = tl.deep.teacher(12, 1.5, inputs=40, outputs=50, construction="code", seed=2)
    W, V = (np.asarray(one) for one in result.weights)
    steps = W / np.abs(W).max(axis=0)  # 0, ±1/2 and ±1, since 40 entries have one of ±0.5
    assert np.allclose(np.round(2 * steps), 2 * steps, atol=1e-12)
    assert np.allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-14)
    gram = W.T @ W
    assert np.max(np.abs(gram - np.diag(np.diag(gram)))) < 0.999
    assert all(np.all(np.asarray(b) == -0.1) for b in result.biases)
    entries = V * np.arange(1.0, 13.0)[:, None] ** 1.5
    values, counts = np.unique(entries.round(12), return_counts=True)
    assert np.array_equal(values, [-0.5, -0.25, 0.0, 0.25, 0.5])
    # 600 entries: 120 ± 10 of each.
    assert np.all(np.abs(counts - 120) < 5 * 10)


def test_students_of_two_layers_in_the_authors_code_start_small_and_without_biases():
    teacher = tl.deep.teacher(20, inputs=100, outputs=50, construction="code")
    for scale in (1.0, 0.1):
        result = tl.deep.student(teacher, 5, scale=scale, construction="code")
        for W in result.weights:  # 5000 and more numbers: 1 percent is the standard error of σ
            assert np.std(W) == pytest.approx(0.005 * scale, rel=0.05)
        assert all(not np.any(np.asarray(b)) for b in result.biases)


def test_deeper_teachers_of_the_authors_code_have_outputs_of_mean_0_and_variance_1():
    result = tl.deep.teacher("20-30", inputs=20, outputs=10, construction="code", seed=1)
    y = np.asarray(result(np.random.default_rng(0).normal(0.0, 10.0, (4000, 20))))
    # Estimated from 1000 examples and tested with 4000 others: ten means and deviations.
    assert np.all(np.abs(y.mean(axis=0)) < 5 * 0.035) and np.allclose(y.std(axis=0), 1.0, atol=0.15)
    # The start of deeper students is that of the text.
    pair = [tl.deep.student(result, 2, construction=one).weights[0] for one in ("code", "text")]
    assert np.array_equal(*pair)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"construction": "paper"}, "construction: got 'paper'"),
        ({"construction": "code", "inputs": 2}, "construction: .*5 filters of 2 entries"),
    ],
)
def test_constructions_that_cannot_be_are_refused(change, words):
    with pytest.raises(tl.InputError, match=f"^{words}"):
        tl.deep.teacher(5, **{"inputs": 6, "outputs": 4} | change)
