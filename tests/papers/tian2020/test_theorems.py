"""Lemma 1, Corollary 1 and Theorems 1, 2, 3 and 5 of tian2020, and where they end."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.papers.tian2020 import theorems
from tutelage.papers.tian2020.theorems import (
    backpropagated_gradients,
    mixtures,
    recursive_gradients,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 8))


@pytest.mark.parametrize("hidden", ["5", "6-5", "6-5-4-7"])
def test_lemma_1_at_any_depth_to_rounding(hidden):
    teacher = tl.deep.teacher(hidden, inputs=8, outputs=3, data="gaussian:1")
    # Sums of at most 14 products, L times one after the other.
    assert theorems.recursion_error(tl.deep.student(teacher, 2), teacher, X) < 100 * 2.0**-52


def test_both_gradients_of_a_student_that_is_its_teacher_vanish_and_agree():
    teacher = tl.deep.teacher("6-5", inputs=8, outputs=3, data="gaussian:1")
    assert theorems.recursion_error(teacher, teacher, X) == 0.0


def test_lemma_1_gives_the_gradient_of_the_weights():
    """-∂J/∂W_l = E[f_{l-1} g_lᵀ] (eq. (1)), by differentiation with respect to the weights."""
    teacher = tl.deep.teacher("6-5", inputs=8, outputs=3, data="gaussian:1")
    student = tl.deep.student(teacher, 2)

    def loss(net):
        return 0.5 * jnp.mean(jnp.sum((net(X) - teacher(X)) ** 2, axis=1))

    expected = jax.jit(jax.grad(loss))(student)
    g = recursive_gradients(student, teacher, X)
    f = (X, *student.activations(X)[:-1])
    for layer in range(3):
        mean = np.asarray(f[layer]).T @ np.asarray(g[layer]) / len(X)
        assert np.allclose(mean, -expected.weights[layer], rtol=1e-10, atol=1e-13)
        bias = np.mean(g[layer], axis=0)
        assert np.allclose(bias, -expected.biases[layer], rtol=1e-10, atol=1e-13)


def test_the_recursion_would_be_wrong_without_the_bias_column():
    teacher = tl.deep.teacher("6-5", inputs=8, outputs=3, data="gaussian:1")
    student = tl.deep.student(teacher, 2)
    first = mixtures(student, teacher, X)[0]
    A, B = (np.asarray(M)[:, :, :-1] for M in (first.A, first.B))
    f, f_star = (np.asarray(net.activations(X)[0]) for net in (student, teacher))
    without = np.einsum("ekj,ej->ek", A, f_star) - np.einsum("ekj,ej->ek", B, f)
    without *= np.asarray(student.fields(X)[0]) > 0
    assert not np.allclose(without, backpropagated_gradients(student, teacher, X)[0], rtol=1e-3)


def test_corollary_1_mixtures_are_piecewise_constant():
    teacher = tl.deep.teacher("6-5-4", inputs=8, outputs=3, data="gaussian:1")
    student = tl.deep.student(teacher, 2)
    line = np.linspace(-3.0, 3.0, 2000)[:, None] * X[0] + X[1]
    results = [theorems.pieces(student, teacher, line, layer=layer) for layer in (1, 2, 3, 4)]
    # The same products of the same numbers, at most in another order.
    assert all(one.within < 100 * 2.0**-52 for one in results)
    assert results[0].number > results[1].number > 1 and results[0].between > 0.01
    assert results[3].number == 1  # there are no gates above the output
    # A line crosses the boundary of each of the nodes above the lowest layer only so often.
    assert results[0].number < 100


def test_theorem_1_every_example_is_at_rest_at_a_critical_point():
    teacher = tl.deep.teacher("5-4", inputs=8, outputs=3, data="gaussian:1")
    critical = theorems.disguise(teacher, 4, seed=1)
    scale = theorems.interpolation(tl.deep.student(teacher, 4), teacher, X).update
    result = theorems.interpolation(critical, teacher, X)
    # Outputs are sums of 20 products of numbers up to 10, differentiated through two layers.
    assert np.all(result.update < 1e-11)
    assert np.all(scale > 0.1)

    @jax.jit
    def gradient(net, mask):
        return jax.grad(lambda net: jnp.mean(mask[:, None] * (net(X) - teacher(X)) ** 2))(net)

    for batch in (slice(0, 1), slice(3, 19), slice(None)):
        mask = jnp.zeros(len(X)).at[batch].set(1.0)
        largest = [float(jnp.abs(g).max()) for g in jax.tree.leaves(gradient(critical, mask))]
        assert max(largest) < 1e-11


def test_theorem_1_says_more_than_a_zero_mean():
    """A point with zero mean gradient at which single examples have nonzero gradients."""
    teacher = tl.deep.network([[[1.0, -1.0]], [[1.0], [1.0]]])  # |x|
    # f = v σ(w x + b), at the least squares solution for the two examples x = 1 and x = 3.
    student = tl.deep.network([[[0.0, 0.0]], [[1.0], [0.0]]], [[2.0, 0.0], [0.0]])
    x = np.array([[-1.0], [-3.0], [1.0], [3.0]])
    whole = jax.jit(jax.grad(lambda net: jnp.mean((net(x) - teacher(x)) ** 2)))(student)
    assert max(float(jnp.abs(g).max()) for g in jax.tree.leaves(whole)) < 1e-15
    assert np.all(theorems.interpolation(student, teacher, x).update > 0.5)


@pytest.fixture(scope="module")
def trained():
    """Six two-layer students, three times over-realized, 250,000 steps of SGD each."""
    return tl.deep.train(
        4,
        3,
        inputs=8,
        outputs=5,
        epochs=250,
        recorded=[0, 250],
        examples=4000,
        evaluation=2000,
        learning_rate=0.2,
        runs=6,
        data="gaussian:1",
    )


@pytest.mark.slow
def test_theorem_2_every_observed_teacher_node_is_aligned_after_training(trained):
    x = np.random.default_rng(1).normal(size=(4000, 8))
    for run in range(6):
        student, teacher = tl.deep.networks(trained, run)
        result = theorems.alignment(student, teacher, x, tolerance=1e-2)
        assert result.observed.all()
        assert result.aligned.any(axis=0).all()


@pytest.mark.slow
def test_theorem_3_unaligned_nodes_can_be_pruned_after_training(trained):
    x = np.random.default_rng(1).normal(size=(4000, 8))
    for run in range(6):
        student, teacher = tl.deep.networks(trained, run)
        result = tl.deep.prune(student, teacher, x)
        assert result.removed[0] >= 3
        # Students are critical points up to √loss = 1e-4 of an output of size 1.
        assert result.change < 1e-3
        aligned = theorems.alignment(student, teacher, x, tolerance=1e-2)
        fires = np.mean(np.asarray(student.fields(x)[0]) > 0, axis=0)[aligned.unaligned]
        # Nodes that do not fire on the data have no boundary there, and the theorem does not apply
        # to them.
        assert np.median(aligned.fan_out[fires > 0.01]) < 1e-2


def test_theorem_3_at_an_exact_critical_point():
    teacher = tl.deep.teacher(4, inputs=8, outputs=5, data="gaussian:1")
    x = np.random.default_rng(1).normal(size=(4000, 8))
    student = theorems.disguise(teacher, 4, seed=2)
    result = theorems.alignment(student, teacher, x, tolerance=1e-9)
    assert result.observed.all() and result.aligned.any(axis=0).all()
    assert len(result.unaligned) == 6 and np.all(result.fan_out < 1e-12)
    assert np.any(np.linalg.norm(student.weights[1], axis=1)[result.unaligned] > 1)  # they cancel
    pruned = tl.deep.prune(student, teacher, x)
    assert pruned.removed == (6,) and pruned.change < 1e-13


def test_pruning_an_untrained_student_changes_its_output():
    teacher = tl.deep.teacher(4, inputs=8, outputs=5, data="gaussian:1")
    x = np.random.default_rng(1).normal(size=(1000, 8))
    assert tl.deep.prune(tl.deep.student(teacher, 4), teacher, x, threshold=0.3).change > 0.1


def test_a_node_has_to_be_left_after_pruning():
    teacher = tl.deep.teacher(4, inputs=8, outputs=5, data="gaussian:1")
    with pytest.raises(tl.InputError, match=r"^threshold.*layer 1"):
        tl.deep.prune(tl.deep.student(teacher, 2), teacher, X, threshold=0.999)


def test_theorem_2_and_corollary_2_hold_up_to_the_sign_of_a_filter():
    """Lemma 3 excludes w_j = γ w_j' with γ > 0 alone, but σ(h) - σ(-h) - h = 0 has γ = -1.

    So σ(w·x) = σ(-w·x) + w·x, and w·x is made of opposite pairs: a student without any node on
    the side of the teacher node does what it does, and nodes that follow nobody cannot be pruned.
    """
    w, u = np.array([1.0, 0.5]), np.array([0.2, 1.0])
    teacher = tl.deep.network([w[:, None], [[1.0]]])
    filters = np.stack([-w, u, -u, w - u, u - w], axis=1)
    student = tl.deep.network([filters, [[1.0], [1.0], [-1.0], [1.0], [-1.0]]])
    x = np.random.default_rng(2).normal(size=(500, 2))
    assert np.all(theorems.interpolation(student, teacher, x).update < 1e-14)
    result = theorems.alignment(student, teacher, x, tolerance=0.05)
    assert result.observed.all() and not result.aligned.any()
    assert tl.deep.prune(student, teacher, x, threshold=0.4).change > 0.1


@pytest.mark.slow
def test_theorem_5_angles_shrink_with_the_gradient():
    """Along a descent the exponent is 1, which the theorem allows: at least 1 - δ."""
    teacher = tl.deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    student = tl.deep.student(teacher, 2, seed=1)
    x = np.random.default_rng(0).normal(size=(1000, 5))
    path = theorems.descent(student, teacher, x, 0.3, steps=12_000, every=1000)
    late = jax.tree.map(lambda a: a[4:], path)
    result = theorems.noisy_recovery(late, teacher, x)
    assert np.all(np.diff(result.gradient) < 0)
    assert result.exponent.value > 1 - 3 * result.exponent.error - 0.05


@pytest.mark.parametrize("size", [1e-2, 1e-6])
def test_theorem_5_around_an_exact_critical_point(size):
    """Filters turned by about ``size``: gradient and sine both shrink in proportion."""
    teacher = tl.deep.teacher(3, inputs=5, outputs=4, data="gaussian:1")
    exact = theorems.disguise(teacher, 2)
    x = np.random.default_rng(0).normal(size=(500, 5))
    noise = np.random.default_rng(3).normal(size=exact.weights[0].shape)
    amounts = jnp.asarray(size * 2.0 ** -np.arange(5.0))
    turned = jax.tree.map(lambda a: jnp.broadcast_to(a, (5, *a.shape)), exact)
    first = turned.weights[0] + amounts[:, None, None] * noise[None]
    turned = tl.deep.Network((first, *turned.weights[1:]), turned.biases)
    result = theorems.noisy_recovery(turned, teacher, x)
    assert abs(result.exponent.value - 1) < 0.05
