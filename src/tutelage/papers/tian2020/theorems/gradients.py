"""The back-propagated gradient by the recursion of tian2020, Lemma 1, and by differentiation."""

from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.deep import Network


class Mixture(NamedTuple):
    """A_l(x) and B_l(x) of one layer, for every example.

    The last column belongs to the bias: activations are continued by f_{l, n_l + 1} = 1.
    """

    A: Float[Array, "examples n m_plus_1"]
    B: Float[Array, "examples n n_plus_1"]


@eqx.filter_jit
def mixtures(
    student: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]
) -> list[Mixture]:
    """Mixture coefficients of the layers l = 1, …, L (tian2020, eqs. (3) and (4)).

        A_l = V_lᵀ V*_l,   B_l = V_lᵀ V_l,   V_{l-1} = V_l D_l W_lᵀ,   V_L = V*_L = 1

    Args:
        student, teacher: of the same depth.
        x: examples, of shape (examples, d).
    """
    listed = []
    for V, V_star in zip(_fan_outs(student, x), _fan_outs(teacher, x), strict=True):
        Vt = jnp.swapaxes(V[:, :, :-1], 1, 2)
        listed.append(Mixture(Vt @ V_star, Vt @ V))
    return listed


@eqx.filter_jit
def recursive_gradients(
    student: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]
) -> list[Any]:
    """g_l(x) = D_l(x) [A_l(x) f*_l(x) - B_l(x) f_l(x)] of the layers l = 1, …, L (eq. (3)).

    >>> import numpy as np, tutelage as tl
    >>> teacher = tl.deep.teacher("3", inputs=10, outputs=2)
    >>> x = np.random.default_rng(0).normal(size=(5, 10))
    >>> [bool(np.abs(g).max() == 0) for g in recursive_gradients(teacher, teacher, x)]
    [True, True]
    """
    g = []
    h, last = student.fields(x), student.depth - 1
    f, f_star = student.activations(x), teacher.activations(x)
    for layer, (A, B) in enumerate(mixtures(student, teacher, x)):
        mixed = _apply(A, f_star[layer]) - _apply(B, f[layer])
        g.append(mixed if layer == last else jnp.where(h[layer] > 0, mixed, 0.0))
    return g


@eqx.filter_jit
def backpropagated_gradients(
    student: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]
) -> list[Any]:
    """g_l(x) = -∂/∂h_l ½ ‖f*_L(x) - f_L(x)‖² by differentiation, l = 1, …, L."""
    y = teacher(x)

    def loss(shifts: list[Array]) -> Any:
        f = x
        for W, b, shift in zip(student.weights, student.biases, shifts, strict=True):
            h = f @ W + b[None] + shift
            f = jnp.where(h > 0, h, 0.0)
        return 0.5 * jnp.sum((y - h) ** 2)

    zero = [jnp.zeros((len(x), n)) for n in student.widths[1:]]
    return [-g for g in jax.grad(loss)(zero)]


def recursion_error(
    student: Network, teacher: Network, x: Float[Array | np.ndarray, "examples d"]
) -> float:
    """Largest difference between both gradients, relative to the largest entry of a layer.

    >>> import numpy as np, tutelage as tl
    >>> teacher = tl.deep.teacher("3-2", inputs=10, outputs=2)
    >>> x = np.random.default_rng(0).normal(size=(50, 10))
    >>> recursion_error(tl.deep.student(teacher, 2), teacher, x) < 1e-12
    True
    """
    routes = (recursive_gradients, backpropagated_gradients)
    layers = zip(*(route(student, teacher, x) for route in routes), strict=True)
    return max(_relative(a, b) for a, b in layers)


def _relative(a: Array | np.ndarray, b: Array | np.ndarray) -> float:
    """Return the relative difference of two gradients; 0 if both vanish, as for a student equal to
    its teacher.
    """
    gap, largest = np.max(np.abs(a - b)), np.max(np.abs(b))
    with np.errstate(divide="ignore"):  # infinite if only one of them vanishes
        return 0.0 if gap == 0 else float(gap / largest)


class Pieces(NamedTuple):
    """Regions of the inputs in which A_l and B_l are constant, as far as examples show them.

    number: gating patterns of the layers above, of both networks, among the examples.
    within: largest difference of an entry between two examples of the same piece.
    between: largest difference between two pieces.
    """

    number: int
    within: float
    between: float


def pieces(
    student: Network,
    teacher: Network,
    x: Float[Array | np.ndarray, "examples d"],
    *,
    layer: int = 1,
) -> Pieces:
    """Return whether A_l(x) and B_l(x) are piecewise constant (tian2020, Corollary 1).

    Args:
        student, teacher: of the same depth.
        x: examples, of shape (examples, d); those on a line meet the same piece more than once.
        layer: l, from 1 to L.
    """
    above = [h > 0 for net in (student, teacher) for h in net.fields(x)[layer:-1]]
    gates = np.concatenate([np.zeros((len(x), 1), bool), *map(np.asarray, above)], axis=1)
    _, label = np.unique(gates, axis=0, return_inverse=True)
    mixture = mixtures(student, teacher, x)[layer - 1]
    values = np.concatenate([np.asarray(M).reshape(len(x), -1) for M in mixture], axis=1)
    spans = [np.ptp(values[label == one], axis=0).max() for one in range(label.max() + 1)]
    return Pieces(len(spans), float(max(spans)), float(np.ptp(values, axis=0).max()))


def _fan_outs(
    network: Network, x: Float[Array | np.ndarray, "examples d"]
) -> list[Float[Array, "examples outputs n_plus_1"]]:
    """V_l(x), l = 1, …, L, with a last column c_l for the biases above: f_L = V_l f_l + c_l."""
    C = network.widths[-1]
    V, c = jnp.broadcast_to(jnp.eye(C), (len(x), C, C)), jnp.zeros((len(x), C, 1))
    fan_outs = [jnp.concatenate([V, c], axis=2)]
    *hidden, _ = network.fields(x)
    gates = [*(h > 0 for h in hidden), jnp.ones((len(x), C), bool)]
    for z, W, b in zip(gates[:0:-1], network.weights[:0:-1], network.biases[:0:-1], strict=True):
        VD = jnp.where(z[:, None, :], V, 0.0)
        V, c = VD @ W.T, c + (VD @ b)[..., None]
        fan_outs.append(jnp.concatenate([V, c], axis=2))
    return fan_outs[::-1]


def _apply(M: Float[Array, "examples k j"], f: Float[Array, "examples nodes"]) -> Any:
    """M [f; 1] for every example."""
    f = jnp.concatenate([f, jnp.ones((len(f), 1))], axis=1)
    return jnp.einsum("ekj,ej->ek", M, f)
