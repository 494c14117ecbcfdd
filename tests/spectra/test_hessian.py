"""The exact Hessian: finite differences, closed forms, symmetries; dense memory; indices."""

import equinox as eqx
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.spectra import Classifier, examples, hessian, hessian_eigenvalues
from tutelage.spectra.hessian import eigenvalues_of
from tutelage.spectra.layered import classifier_hessian
from tutelage.spectra.objective import Loss

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(12, 3))
NETWORKS = {
    "ReLU": (tl.ReLU(), "fixed"),
    "Sigmoid": (tl.Sigmoid(1.5), "per unit"),
    "Swish": (tl.Swish(0.7), "shared"),
    "Swish, per unit": (tl.Swish(0.7), "per unit"),
}


def loss_and_parameters(name, outputs):
    y = np.arange(12) % max(outputs, 2)
    result = examples(X, y)
    activation, beta = NETWORKS[name]
    network = Classifier((3, 4, 2, outputs), activation, beta)
    parameters = network.initial(jax.random.key(3))
    # Biases away from zero: no field of a ReLU unit lies on its kink.
    parameters = parameters._replace(biases=tuple(b + 0.1 for b in parameters.biases))
    return Loss(network, jnp.asarray(result.inputs), jnp.asarray(result.labels)), parameters


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        pytest.param("ReLU", 1, marks=pytest.mark.slow),
        pytest.param("Sigmoid", 3, marks=pytest.mark.slow),
        pytest.param("Swish", 1, marks=pytest.mark.slow),
        ("Swish, per unit", 3),
    ],
)
def test_the_hessian_is_the_derivative_of_the_gradient(name, outputs):
    loss, parameters = loss_and_parameters(name, outputs)
    flat, shape = ravel_pytree(parameters)
    gradient = jax.jit(jax.grad(lambda v: loss(shape(v))))
    h = 1e-5
    columns = [(gradient(flat + e) - gradient(flat - e)) / (2 * h) for e in h * np.eye(flat.size)]
    assert flat.size == loss.classifier.count
    # Central differences are off by h² times a fourth derivative, and 2⁻⁵³/h by rounding.
    np.testing.assert_allclose(hessian(loss, parameters), np.array(columns), atol=1e-8)


def test_without_hidden_units_the_hessian_is_that_of_logistic_regression():
    """H = X̃ᵀ D X̃/m with D = σ(z)σ(−z) and X̃ = (X, 1)."""
    y = (X[:, 0] > 0).astype(int)
    network = Classifier((3, 1), tl.ReLU())
    w, b = RANDOM.normal(size=(3, 1)), np.array([0.3])
    parameters = network.initial(jax.random.key(0))._replace(
        weights=(jnp.asarray(w),), biases=(jnp.asarray(b),)
    )
    z = X @ w[:, 0] + b
    p = 1 / (1 + np.exp(-z))
    extended = np.column_stack([X, np.ones(12)])
    exact = extended.T @ np.diag(p * (1 - p)) @ extended / 12
    result = hessian(Loss(network, jnp.asarray(X), jnp.asarray(y)), parameters)
    np.testing.assert_allclose(result, exact, atol=1e-15)  # of order 1, rounding of float64
    np.testing.assert_allclose(
        hessian_eigenvalues(Loss(network, jnp.asarray(X), jnp.asarray(y)), parameters),
        np.linalg.eigvalsh(exact),
        atol=1e-14,
    )


def test_softmax_has_one_zero_eigenvalue_for_each_way_to_shift_the_outputs():
    """z_k + c for all k changes nothing: 2 + 1 directions with 2 units in the last hidden layer."""
    loss, parameters = loss_and_parameters("Sigmoid", 3)
    fixed = eqx.tree_at(lambda loss: loss.classifier, loss, Classifier((3, 4, 2, 3), tl.Sigmoid()))
    λ = hessian_eigenvalues(fixed, parameters._replace(beta=()))
    # Rounding of an eigenvalue is some 2⁻⁵² max|λ|; others are not that small by chance.
    assert np.sum(np.abs(λ) < 1e-14 * np.abs(λ).max()) == 3


def test_dead_units_of_a_relu_network_have_zero_rows():
    loss, parameters = loss_and_parameters("ReLU", 1)
    dead = tuple(b - 100.0 if i == 0 else b for i, b in enumerate(parameters.biases))
    H = np.asarray(hessian(loss, parameters._replace(biases=dead)))
    first_layer = np.r_[0:12, 20:24]  # 12 weights of 20 come first, then the biases
    flat, _ = ravel_pytree(parameters)
    assert flat.size == 4 * 3 + 4 * 2 + 2 + 4 + 2 + 1
    assert np.all(H[:12] == 0) and np.count_nonzero(np.abs(H).sum(axis=0)) <= 29 - len(first_layer)


def test_any_tree_of_parameters_will_do():
    tree = {"a": jnp.array([1.0, 2.0]), "b": [jnp.array(3.0)]}

    def loss(t):
        return t["a"][0] ** 2 * t["b"][0] + 2 * t["a"][1] ** 2

    # In the order a₀, a₁, b: [[2b, 0, 2a₀], [0, 4, 0], [2a₀, 0, 0]].
    exact = np.array([[6.0, 0, 2], [0, 4, 0], [2, 0, 0]])
    np.testing.assert_allclose(hessian(loss, tree), exact, atol=1e-15)
    λ = hessian_eigenvalues(loss, tree)
    np.testing.assert_allclose(λ, np.linalg.eigvalsh(exact), atol=1e-14)


@pytest.mark.parametrize(
    ("loss", "parameters", "memory", "message"),
    [
        (jnp.sum, jnp.zeros(10**5), 4 * 2**30, r"100000 parameters.*224 GiB.*spectra.density"),
        (jnp.sum, jnp.zeros(100), 1000, "100 parameters.*memory=BYTES"),
        (jnp.sum, jnp.zeros(3), 0, "memory: got 0"),
        (jnp.sum, jnp.zeros(3, int), 1e9, "parameters: got"),
        (jnp.sum, [], 1e9, "parameters: got"),
        (jnp.sum, jnp.array([1.0, np.nan]), 1e9, "parameters: got NaN"),
        (lambda x: 2 * x, jnp.zeros(3), 1e9, "loss: got.*it has to return one real number"),
    ],
)
def test_what_has_no_dense_hessian_is_refused(loss, parameters, memory, message):
    with pytest.raises(InputError, match=message):
        hessian_eigenvalues(loss, parameters, memory=memory)


def test_the_indices_follow_their_definition():
    λ = np.array([[-4.0, -1e-6, 0.0, 1e-9, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(tl.spectra.negative_fraction(λ, 1e-8), [0.4, 0.0])
    np.testing.assert_array_equal(tl.spectra.zero_fraction(λ, 1e-8), [0.4, 1.0])
    np.testing.assert_array_equal(
        tl.spectra.zero_fraction(λ, [1e-12, 1e-6]), [[0.2, 0.6], [1.0, 1.0]]
    )


@pytest.mark.parametrize(("sign", "negative"), [(1, [1 / 3, 2 / 3]), (-1, [1 / 3, 0.0])])
def test_zero_is_measured_by_the_largest_modulus_whatever_its_sign(sign, negative):
    """1.5e-8 is zero compared with ±2 but not with ∓1; a spectrum may have a single sign."""
    λ = sign * np.array([[-2.0, -1.5e-8, 1.0], [-4.0, -2.0, -3e-8]])
    np.testing.assert_allclose(tl.spectra.negative_fraction(λ, 1e-8), negative)
    np.testing.assert_allclose(tl.spectra.zero_fraction(λ, 1e-8), [1 / 3, 1 / 3])


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, np.nan, [1e-3, 0.0], "x"])
@pytest.mark.parametrize("index", [tl.spectra.negative_fraction, tl.spectra.zero_fraction])
def test_a_tolerance_of_zero_or_below_is_refused(index, tolerance):
    with pytest.raises(InputError, match="tolerance"):
        index([1.0, 2.0], tolerance)


def test_blank_pixels_and_shifts_of_the_outputs_are_all_the_zeros_of_the_digits():
    """Three pixels are blank in every image; softmax does not see a shift of weights or biases."""
    images, units = tl.spectra.digits(), 5
    blank = int(np.sum(~images.inputs.any(axis=0)))
    network = Classifier(images.sizes(units), tl.Sigmoid())
    loss = Loss(network, jnp.asarray(images.inputs), jnp.asarray(images.labels))
    λ = hessian_eigenvalues(loss, network.initial(jax.random.key(0)))
    assert blank == 3 and network.count == 385
    # Rounding is about 385 · 2⁻⁵³ of the largest, ten times less than what is allowed here.
    assert tl.spectra.zero_fraction(λ, 1e-12) * 385 == pytest.approx(blank * units + units + 1)


@pytest.mark.parametrize(
    ("activation", "beta", "sizes", "output"),
    [
        (tl.Swish(0.7), "every unit", (9, 7, 3, 2), "sigmoid"),
        pytest.param(tl.ReLU(), "fixed", (20, 6, 3), "softmax", marks=pytest.mark.slow),
        pytest.param(tl.Sigmoid(), "shared", (70, 1), "softmax", marks=pytest.mark.slow),
    ],
)
def test_the_first_layer_by_products_of_matrices_is_that_of_automatic_differentiation(
    activation, beta, sizes, output
):
    inputs = RANDOM.normal(size=(30, sizes[0]))
    labels = np.arange(30) % max(sizes[-1], 2)
    network = Classifier(sizes, activation, beta)
    loss = Loss(network, jnp.asarray(inputs), jnp.asarray(labels), output)
    parameters = network.initial(jax.random.key(1))
    parameters = parameters._replace(biases=tuple(b + 0.1 for b in parameters.biases))
    flat, shape = ravel_pytree(parameters)
    assert flat.size > 64  # a smaller one is not computed by layers
    H = np.asarray(jax.jit(lambda x: classifier_hessian(loss, shape, x))(flat))
    exact = np.asarray(hessian(loss, parameters))
    # Sums of 30 examples, in another order: some ten roundings of the largest entry.
    np.testing.assert_allclose(H, exact, rtol=0, atol=16 * 2.0**-52 * np.abs(exact).max())


def test_eigenvalues_on_one_thread_are_those_on_several_and_leave_their_number_alone():
    from threadpoolctl import threadpool_info, threadpool_limits

    A = RANDOM.normal(size=(250, 250))
    H = A + A.T
    with threadpool_limits(2, "blas"):
        before = threadpool_info()
        λ = eigenvalues_of(H)
        assert threadpool_info() == before
    # A backward stable solver is off by some n roundings of the largest.
    np.testing.assert_allclose(λ, np.linalg.eigvalsh(H), rtol=0, atol=250 * 2.0**-52 * λ.max())
    np.testing.assert_allclose(λ.sum(), np.trace(H), rtol=0, atol=250**2 * 2.0**-52 * λ.max())
