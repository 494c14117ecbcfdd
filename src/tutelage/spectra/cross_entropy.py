"""The cross-entropy and its derivatives, without cancellation as the loss goes to zero.

A loss of 10⁻¹² is a difference of numbers of order one if it is written as ln(1 + e^z) − y z, and
then known to four digits only; so are 1 − p in the second derivative p(1 − p), and p − y.  Here
every one of them is a product of small numbers that are known to their last digits.
"""

from typing import Any, Literal

from jaxtyping import Array, Float, Int

from tutelage._jax import jax, jnp

Output = Literal["softmax", "sigmoid"]


@jax.custom_jvp
def logistic(x: Float[Array, "..."]) -> Any:
    """σ(x), to the last digits also where it is small."""
    return jnp.exp(jnp.minimum(x, 0.0)) / (1.0 + jnp.exp(-jnp.abs(x)))


@logistic.defjvp
def _logistic(primals: tuple[Array], tangents: tuple[Array]) -> Any:
    """σ' = σ(x) σ(−x)."""
    (x,), (t,) = primals, tangents
    p = logistic(x)
    return p, p * logistic(-x) * t


@jax.custom_jvp
def softplus(x: Float[Array, "..."]) -> Any:
    """ln(1 + e^x)."""
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@softplus.defjvp
def _softplus(primals: tuple[Array], tangents: tuple[Array]) -> Any:
    (x,), (t,) = primals, tangents
    return softplus(x), logistic(x) * t


@jax.custom_jvp
def softmax(z: Float[Array, "... classes"]) -> Any:
    """p_k = e^{z_k}/Σ_j e^{z_j}, over the last axis."""
    return jax.nn.softmax(z, axis=-1)


@softmax.defjvp
def _softmax(primals: tuple[Array], tangents: tuple[Array]) -> Any:
    """dp_k = p_k (u_k − Σ_j p_j u_j), with u counted from the most probable class r: u_r = 0."""
    (z,), (t,) = primals, tangents
    p = softmax(z)
    best = jax.nn.one_hot(jnp.argmax(z, axis=-1), z.shape[-1])
    others = p * (1.0 - best)
    u = t - jnp.sum(t * best, axis=-1, keepdims=True)
    return p, others * u - p * jnp.sum(others * u, axis=-1, keepdims=True)


@jax.custom_jvp
def surprise(z: Float[Array, "... classes"], right: Float[Array, "... classes"]) -> Any:
    """−ln p_y = ln(1 + e^L),  L = ln Σ_{k≠y} e^{z_k} − z_y;  `right` is 1 at y and 0 elsewhere."""
    others = jax.nn.logsumexp(jnp.where(right > 0, -jnp.inf, z), axis=-1)
    return softplus(others - jnp.sum(z * right, axis=-1))


@surprise.defjvp
def _surprise(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> Any:
    """Σ_{k≠y} p_k (t_k − t_y)."""
    (z, right), (t, _) = primals, tangents
    wrong = softmax(z) * (1.0 - right)
    along = jnp.sum(wrong * t, axis=-1)
    return surprise(z, right), along - jnp.sum(t * right, axis=-1) * jnp.sum(wrong, axis=-1)


def cross_entropy(
    logits: Float[Array, "m outputs"], labels: Int[Array, " m"], output: Output = "softmax"
) -> Float[Array, ""]:
    """The mean of −ln of the probability of the right answer.

    One output z:  ln(1 + e^{−s z}), s = 2y − 1  (milletari2019, eq. (16));  several, as softmax:
    ln Σ_k e^{z_k} − z_y;  several, as sigmoids: the mean over outputs of that of one output, the
    first of which answers whether the label is 1, the second whether it is 2, and so on.

    >>> ln2 = cross_entropy(jnp.zeros((5, 1)), jnp.array([0, 1, 1, 0, 1]))
    >>> round(float(jnp.exp(ln2)), 12)
    2.0
    """
    if separate(logits, output):
        return jnp.mean(softplus((1.0 - 2.0 * targets(logits, labels)) * logits))
    # A sum over a one-hot row: the derivative of a gather is a slow scatter.
    return jnp.mean(surprise(logits, jax.nn.one_hot(labels, logits.shape[1])))


def residuals(
    logits: Float[Array, "m outputs"], labels: Int[Array, " m"], output: Output = "softmax"
) -> Float[Array, "m outputs"]:
    """e^μ = (ŷ^μ − y^μ)/m   (milletari2019, Section 3)."""
    m = logits.shape[0]
    if separate(logits, output):
        sign = 1.0 - 2.0 * targets(logits, labels)
        return sign * logistic(sign * logits) / m
    right = jax.nn.one_hot(labels, logits.shape[1])
    wrong = softmax(logits) * (1.0 - right)
    return (wrong - right * jnp.sum(wrong, axis=1, keepdims=True)) / m


def accuracy(
    logits: Float[Array, "m outputs"], labels: Int[Array, " m"], output: Output = "softmax"
) -> Float[Array, ""]:
    """Fraction of the examples whose most probable class is the right one."""
    if separate(logits, output):
        none = jnp.all(logits <= 0, axis=1)
        chosen = jnp.where(none, 0, jnp.argmax(logits, axis=1) + 1)
    else:
        chosen = jnp.argmax(logits, axis=1)
    return jnp.mean((chosen == labels).astype(float))  # the mean of booleans is in float32


def separate(logits: Float[Array, "m outputs"], output: Output) -> bool:
    """Return whether each output is an independent probability, as for a single output."""
    return output == "sigmoid" or logits.shape[1] == 1


def targets(
    logits: Float[Array, "m outputs"], labels: Int[Array, " m"]
) -> Float[Array, "m outputs"]:
    """Return targets: 1 at the output of the label; class 0 has no output."""
    return jax.nn.one_hot(labels - 1, logits.shape[1])
