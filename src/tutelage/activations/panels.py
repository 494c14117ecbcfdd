"""Gauss–Legendre rules on panels whose width halves repeatedly towards the kinks of a function.

Poles at any distance above 2^-halvings from a centre are resolved, so that steep functions cost
nothing extra.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutelage._jax import jax, jnp, match_rank


def graded_edges(
    limit: float, centres: Sequence[Any], per_unit: int = 1, halvings: int = 16
) -> Any:
    """Return edges of panels: equal panels from -limit to limit, halved repeatedly towards each
    centre.

    Args:
        centres: numbers; or arrays of shape (..., 1), for edges of shape (..., n).
        per_unit: equal panels in an interval of length one.
        halvings: how often the panel next to a centre is halved.
    """
    edges = np.arange(-limit * per_unit, limit * per_unit + 1) / per_unit
    spokes = np.concatenate([0.5 ** np.arange(halvings, 0, -1), [1.0, 2.0]]) / per_unit
    fan = np.concatenate([-spokes[::-1], [0.0], spokes])
    fixed = [c + fan for c in centres if isinstance(c, float)]
    edges = np.unique(np.clip(np.concatenate([edges, *fixed]), -limit, limit))
    moving = [c + fan for c in centres if not isinstance(c, float)]
    if not moving:
        return edges
    xp: Any = jnp if any(isinstance(c, jax.Array) for c in moving) else np
    edges = xp.broadcast_to(edges, (*moving[0].shape[:-1], len(edges)))
    return xp.sort(xp.clip(xp.concatenate([edges, *moving], axis=-1), -limit, limit), axis=-1)


def on_panels(edges: Any, points: int) -> tuple[Any, Any]:
    """Return nodes and weights of a Gauss-Legendre rule on each panel, shape (..., nodes)."""
    x, w = np.polynomial.legendre.leggauss(points)
    middle, half = (edges[..., 1:] + edges[..., :-1]) / 2, (edges[..., 1:] - edges[..., :-1]) / 2
    shape = (*edges.shape[:-1], -1)
    middle, half = middle[..., None], half[..., None]
    x, w = match_rank(x, half), match_rank(w, half)
    nodes, weights = middle + half * x, half * w
    return nodes.reshape(shape), weights.reshape(shape)
