"""Pruning: remove student nodes that follow no teacher node, and measure the change."""

from dataclasses import dataclass

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number
from tutelage._findings import Finding
from tutelage._given import ArrayLike
from tutelage.deep.measures import correlations
from tutelage.deep.network import Network, as_jax, check_examples, check_pair


@dataclass(frozen=True, repr=False)
class Pruned(Finding):
    """A pruned student, and the change of its output and loss on the examples.

    network: the student without unaligned nodes.
    remaining: for each hidden layer, the indices of the nodes that are left.
    removed: for each hidden layer, how many nodes are gone.
    change: root mean square of the change of the output, relative to that of the output.
    loss_before, loss_after: mean of (f*_L - f_L)² over examples and outputs.
    """

    network: Network
    remaining: tuple[np.ndarray, ...]
    removed: tuple[int, ...]
    change: float
    loss_before: float
    loss_after: float


@validated
def prune(
    student: Network, teacher: Network, examples: ArrayLike, *, threshold: float = 0.95
) -> Pruned:
    """Remove every hidden node whose best correlation with a teacher node is below a threshold.

    At a critical point of SGD with two layers this changes nothing, if these nodes have enough
    observers (tian2020, Theorem 3 and Corollary 2) and no two of them are opposite to each other;
    ``change`` measures the effect for a trained or a deep student.

    Args:
        student, teacher: of the same depth, no layer of the student narrower.
        examples: of shape (examples, d), at least two.
        threshold: greater than 0, at most 1; 0.95 in the paper.

    Raises:
        InputError: also if no node of a layer would be left.

    >>> import numpy as np, tutelage as tl
    >>> teacher = tl.deep.teacher("3", inputs=10, outputs=2)
    >>> x = np.random.default_rng(0).normal(size=(500, 10), scale=10.0)
    >>> filters = np.hstack([teacher.weights[0], x[:5].T])  # five further nodes
    >>> fan_outs = np.vstack([teacher.weights[1], np.zeros((5, 2))])  # that do nothing
    >>> student = tl.deep.network([filters, fan_outs], [[*teacher.biases[0], *5 * [0]], [0, 0]])
    >>> pruned = tl.deep.prune(student, teacher, x)
    >>> pruned.removed, pruned.change
    ((5,), 0.0)
    """
    check_pair(student, teacher, wider=True)
    finite_number("threshold", threshold, above=0.0, hint="threshold=0.95")
    x = check_examples("examples", examples, student.widths[0])
    remaining = tuple(
        np.flatnonzero(ρ.max(axis=1) >= threshold) for ρ in correlations(student, teacher, x)
    )
    for layer, nodes in enumerate(remaining, start=1):
        if not len(nodes):
            allowed = f"no node of layer {layer} would be left"
            raise InputError("threshold", repr(threshold), allowed, "a lower threshold")
    left = _only(student, remaining)
    before, after, target = (np.asarray(network(x)) for network in (student, left, teacher))
    return Pruned(
        left,
        remaining,
        tuple(n - len(nodes) for n, nodes in zip(student.widths[1:-1], remaining, strict=True)),
        float(np.sqrt(np.mean((after - before) ** 2) / np.mean(before**2))),
        float(np.mean((before - target) ** 2)),
        float(np.mean((after - target) ** 2)),
    )


def _only(network: Network, remaining: tuple[np.ndarray, ...]) -> Network:
    """Return the network with only these nodes of its hidden layers."""
    every = [np.arange(network.widths[0]), *remaining, np.arange(network.widths[-1])]
    W = tuple(
        np.asarray(W)[np.ix_(a, b)]
        for W, a, b in zip(network.weights, every, every[1:], strict=False)
    )
    b = tuple(np.asarray(b)[nodes] for b, nodes in zip(network.biases, every[1:], strict=True))
    return as_jax(Network(W, b))
