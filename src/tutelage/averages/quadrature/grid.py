"""One nested sum: field i depends on the coordinates 1…i, so sums over later coordinates come
first.

⟨Π f_i⟩ = Σ_{y_1} w f_1(L_11 y_1) Σ_{y_2} w f_2(L_21 y_1 + L_22 y_2) …
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax, jnp
from tutelage.averages.quadrature.rules import (
    FARTHEST,
    RANK_TOLERANCE,
    SMALLEST_VARIANCE,
    factor,
    first_node,
    narrowest_transition,
    panels,
    trapezoid,
)


def ordered_factor(fields: Sequence[Any], C: Array) -> tuple[Array, np.ndarray]:
    """Order fields with kinks first, so that kinks depend on few coordinates; also the factor."""
    order = np.argsort([not field.kinks for field in fields], kind="stable")
    return factor(C[np.ix_(order, order)]), order


class Absolute(eqx.Module):
    """|f| for error estimates, integrated like a function without kinks."""

    field: Callable[[Array], Array]
    kinks: tuple[Any, ...] = ()

    def __call__(self, x: Array) -> Array:
        return jnp.abs(self.field(x))


class Grid(NamedTuple):
    """Fields, their means and the triangular factor L of their covariance."""

    fields: tuple[Any, ...]
    mean: Float[Array, " d"]
    L: Float[Array, "d d"]

    def sum(self, nodes: int, shifted: bool = False, finest: int | None = None) -> Float[Array, ""]:
        """Return the integral with ``nodes`` per axis, and which narrow transitions `finest`
        resolves.
        """
        d = len(self.fields)
        narrowest = narrowest_transition(finest or nodes)

        def inside(i: int, centre: Array) -> Array:
            if i == d:
                return jnp.ones(())
            y, w = self._rule(i, centre[0], nodes, shifted, narrowest)
            f = self.fields[i](centre[0] + self.L[i, i] * y)

            def given(y_i: Array) -> Array:
                return inside(i + 1, centre[1:] + self.L[i + 1 :, i] * y_i)

            # The outermost axis runs one node at a time, which limits memory to n^(d-1).
            one_by_one = i == 0 and d >= 3
            rest = jax.lax.map(given, y) if one_by_one else jax.vmap(given)(y)
            return jnp.sum(w * f * rest)

        return inside(0, self.mean)

    def unresolved(self, nodes: int) -> Float[Array, ""]:
        """Bound the error of transitions too narrow for the grid, in units of Π ‖f_i‖₄.

        A jump misplaced by the width w of a layer costs w, a kink w².  Jumps closer than
        √(rounding) differ by what float64 covariances leave open.
        """
        narrowest, first = narrowest_transition(nodes), first_node(nodes)
        bound = jnp.zeros(())
        for w in self._transition_widths(0, jumps=True):
            least = jnp.maximum(w, np.sqrt(RANK_TOLERANCE))
            bound += jnp.where(w < narrowest, 0.5 * least, 0.0)
        for i in range(len(self.fields)):
            for w in self._transition_widths(i, jumps=False):
                bound += jnp.where(w < 2 * first, 0.25 * w**2, 0.0)
        return bound * self._norms()

    def largest(self, nodes: int) -> Float[Array, ""]:
        """Return Π_i max |f_i| on the nodes, for the bound of the part that is cut off."""
        return jnp.prod(jnp.stack([jnp.max(jnp.abs(f)) for f in self._marginal(nodes)]))

    def _norms(self) -> Float[Array, ""]:
        """Π_i ⟨f_i⁴⟩^¼, which bounds ⟨Π |f_i|⟩."""
        _, w = trapezoid(64, shifted=True)
        return jnp.prod(jnp.stack([jnp.sum(w * f**4) for f in self._marginal(64)])) ** 0.25

    def _marginal(self, nodes: int) -> list[Float[Array, " n"]]:
        """Return each f_i on the nodes of its field."""
        y, _ = trapezoid(nodes, shifted=True)
        s = jnp.sqrt(jnp.sum(self.L**2, axis=-1))
        return [f(self.mean[i] + s[i] * y) for i, f in enumerate(self.fields)]

    def _transition_widths(self, i: int, jumps: bool) -> list[Float[Array, ""]]:
        """Widths in y_i of the transitions that jumps or kinks of later fields become."""
        widths = []
        for j, field in enumerate(self.fields[i + 1 :], start=i + 1):
            if self.fields[i].kinks and field.kinks and (field.order >= 1) == jumps:
                later = jnp.sqrt(jnp.sum(self.L[j, i + 1 :] ** 2))
                along = jnp.abs(self.L[j, i])
                ratio = later / jnp.where(along > 0, along, 1.0)
                widths.append(jnp.where(along > 0, ratio, FARTHEST))
        return widths

    def _rule(
        self, i: int, centre: Array, nodes: int, shifted: bool, narrowest: float
    ) -> tuple[Array, Array]:
        """Nodes of one axis, with the kinks of its field as ends of panels.

        A field of variance zero at its kink stands for an infinitesimal one: θ is ½ there.
        """
        kinks = self.fields[i].kinks
        if not kinks:
            y, w = trapezoid(nodes, shifted)
            return jnp.asarray(y), jnp.asarray(w)
        spread = jnp.maximum(self.L[i, i], SMALLEST_VARIANCE)
        breaks = [(kink.position - centre) / spread for kink in kinks]
        # On the first axis the jumps of centred fields lie at the kink of the first field; on later
        # axes they lie anywhere, and nodes concentrated at one kink would be missing elsewhere.
        layer = jnp.asarray(FARTHEST)
        for width in self._transition_widths(0, jumps=True) if i == 0 else ():
            layer = jnp.minimum(layer, jnp.where(width < narrowest, FARTHEST, width))
        return panels(breaks, layer, 9 * nodes // 10 if shifted else nodes)
