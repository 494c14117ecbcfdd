"""Gaussian averages of every activation by nested quadrature.

    I2 = ⟨g(u) h(w)⟩,   I3 = ⟨g'(u) v h(w)⟩,   I4 = ⟨g1'(u) g2'(v) h(w) k(z)⟩

The fields are x = L y with standard normal y and a triangular factor C = L Lᵀ, in which a
vanishing pivot is a zero column: singular covariances need no special care.  Smooth
activations converge exponentially in the number of nodes.  Kinks are ends of panels and
their delta functions are integrated exactly; four-point averages of fields with kinks that
are nearly dependent converge slowly, which the error shows.  Derivatives come from Price's
theorem (see `_quadrature_fields`).

The error comes from the change of the result on coarser grids, plus what no grid sees (tails,
narrow layers, rounding).  For four ReLUs with dependent or nearly dependent fields and few nodes
the grids can agree by accident: at 20 nodes the error was understated for 3 of 3000 random
covariances (by up to a factor of 6), at 32 nodes for none of 750.
"""

from collections.abc import Callable

from jaxtyping import Array, Float

from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.activations import Activation
from tutelage.averages.estimate import Estimate
from tutelage.averages.quadrature.fields import Effort, Field, average, total
from tutelage.runs.stored_jit import stored_jit

# Nodes per axis of integrals with 0, 1, …, 4 axes: a millisecond for up to two axes, some tens of
# milliseconds for four.
DEFAULT_NODES = (0, 160, 160, 64, 52)
# Items of a batch that are integrated in one block: 2 axes x 160 nodes x 64 items is 13 MB.
COVARIANCES_PER_BATCH = 64
# More points would take minutes in one call that Ctrl-C cannot interrupt; points per second are
# measured with tanh on one core.
MOST_POINTS = 10**10
SPEED = 3e7


@stored_jit
def i2(
    activations: tuple[Activation, Activation],
    C: Float[Array, "... 2 2"],
    *,
    nodes: int | None = None,
) -> Estimate:
    """⟨g(u) h(w)⟩ as a two-dimensional integral.

    Arguments:
        activations: (g, h).
        C: covariance of (u, w), shape (..., 2, 2).
        nodes: per axis; the default depends on the number of axes.
    """
    g, h = activations
    fields = (Field(g, 0), Field(h, 0))
    return _batched(
        lambda A, n: average(fields, jnp.zeros(2), A, n), C, nodes, COVARIANCES_PER_BATCH
    )


@stored_jit
def slopes(
    activations: tuple[Activation, Activation],
    C: Float[Array, "... 2 2"],
    *,
    nodes: int | None = None,
) -> Estimate:
    """⟨g'(u) h'(w)⟩ as a two-dimensional integral."""
    g, h = activations
    fields = (Field(g, 1), Field(h, 1))
    return _batched(
        lambda A, n: average(fields, jnp.zeros(2), A, n), C, nodes, COVARIANCES_PER_BATCH
    )


@stored_jit
def i3(
    activations: tuple[Activation, Activation],
    C: Float[Array, "... 3 3"],
    *,
    nodes: int | None = None,
) -> Estimate:
    """⟨g'(u) v h(w)⟩ = C_uv ⟨g''(u) h(w)⟩ + C_vw ⟨g'(u) h'(w)⟩ by Stein's lemma.

    Arguments:
        activations: (g, h).
        C: covariance of (u, v, w), shape (..., 3, 3).
        nodes: per axis; the default depends on the number of axes.
    """
    g, h = activations

    def one(A: Array, n: Effort) -> Estimate:
        B, mean = A[::2, ::2], jnp.zeros(2)
        return total(
            (A[0, 1], average((Field(g, 2), Field(h, 0)), mean, B, n)),
            (A[1, 2], average((Field(g, 1), Field(h, 1)), mean, B, n)),
        )

    return _batched(one, C, nodes, COVARIANCES_PER_BATCH)


@stored_jit
def i4(
    activations: tuple[Activation, Activation, Activation, Activation],
    C: Float[Array, "... 4 4"],
    *,
    nodes: int | None = None,
) -> Estimate:
    """⟨g1'(u) g2'(v) h(w) k(z)⟩ as a four-dimensional integral.

    Arguments:
        activations: (g1, g2, h, k).
        C: covariance of (u, v, w, z), shape (..., 4, 4).
        nodes: per axis; the default depends on the number of axes.
    """
    if nodes is not None and nodes**4 > MOST_POINTS:
        received = f"{nodes} with four fields"
        allowed = f"that is {nodes**4:.1g} points, about {nodes**4 / SPEED:.1g} s for one average"
        most = int(MOST_POINTS**0.25)
        raise InputError(
            "nodes", received, allowed, f"nodes={most} or less; 100 are as exact as floats"
        )
    g1, g2, h, k = activations
    fields = (Field(g1, 1), Field(g2, 1), Field(h, 0), Field(k, 0))
    return _batched(lambda A, n: average(fields, jnp.zeros(4), A, n), C, nodes, 1)


def _batched(
    one: Callable[[Array, Effort], Estimate], C: Array, nodes: int | None, together: int
) -> Estimate:
    """Apply `one` to every covariance of a batch, in blocks that bound memory."""
    n = Effort(DEFAULT_NODES if nodes is None else (nodes,) * len(DEFAULT_NODES))
    batch = C.shape[:-2]
    if 0 in batch:
        return Estimate(jnp.zeros(batch), jnp.zeros(batch))
    flat = C.reshape(-1, *C.shape[-2:])
    size = min(together, flat.shape[0])
    results = jax.lax.map(lambda A: one(A, n), flat, batch_size=size if size > 1 else None)
    return Estimate(*(r.reshape(batch) for r in results))
