"""Free energy, energy and entropy of gates, and their back-propagation factor.

There are no connections within a layer, so that its free energy, energy and entropy are sums over
its gates, each with its own field and, if wanted, its own noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, is_traced, shape_of
from tutelage._findings import Finding
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp, match_rank
from tutelage.gates.base import AbstractGate, entropy_of
from tutelage.gates.derived import check_gate
from tutelage.gates.validation import check_betas


@jax.tree_util.register_dataclass
@dataclass(frozen=True, repr=False)
class Thermodynamics(Finding):
    """Free energy, energy and entropy of gates; F = U − S/β.

    free_energy: F = −log Z/β; −max_s(s h) at β = ∞.
    energy: U = −h ⟨s⟩, minus the transmitted signal.
    entropy: S = log Z − β h ⟨s⟩ = −Σ p log(p/w).
    """

    free_energy: Float[Array, "..."]
    energy: Float[Array, "..."]
    entropy: Float[Array, "..."]


@validated
def thermodynamics(gate: AbstractGate, beta: ArrayLike, fields: ArrayLike) -> Thermodynamics:
    """Free energy, energy and entropy of each gate in its field.

    The entropy of a `Gate` lies between log min w and log Σ w: with the default weights it is
    positive, and at most the logarithm of the number of states.  That of an `Interval` is the
    entropy of a density: at most log(high − low), and without a lower bound.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: β > 0, one or an array that is broadcast against the fields; ``math.inf`` is the
            exact limit.  At β = 0 the free energy is infinite.
        fields: h, any shape.

    >>> import tutelage as tl
    >>> tl.gates.thermodynamics(tl.gates.Gate([0, 1]), 2.0, 0.0)  # −log(2)/2, 0 and log 2
    Thermodynamics
      free_energy  -0.346574
      energy       0.
      entropy      0.693147
    """
    check_gate(gate)
    b = _positive(check_betas(beta))
    t = gate._argument(b, fields)
    energy = 0.0 - gate.transmitted(b, fields)  # avoids −0
    entropy = entropy_of(gate, t)
    return Thermodynamics(energy - entropy / match_rank(b, entropy), energy, entropy)


@validated
def layer(gate: AbstractGate, beta: ArrayLike, fields: ArrayLike) -> Thermodynamics:
    """Free energy, energy and entropy of a layer: sums over its units, the last axis.

    Args:
        gate: that of every unit.
        beta: β > 0, one for all units or one for each (β_i of ``milletari2019``).
        fields: h, shape (..., units).
    """
    if shape_of("fields", fields) == ():
        hint = "fields of shape (..., units)"
        raise InputError("fields", "a number", "a layer has its units in the last axis", hint)
    units = thermodynamics(gate, beta, fields)
    return jax.tree.map(lambda x: jnp.sum(x, axis=-1), units)


@validated
def backpropagation_factor(
    gate: AbstractGate, beta: ArrayLike, field: ArrayLike
) -> Float[Array, "..."]:
    """ĝ(h) = d⟨j⟩/dh = ⟨s⟩ + βh (⟨s²⟩ − ⟨s⟩²)   (``milletari2019`` eq. (7)).

    Open gates pass the error on; gates in doubt add their fluctuations.  For the states {0, 1}
    this is σ(βh)[1 + βh σ(−βh)], which is negative for βh < −1.278465.

    Args:
        gate: a `Gate` or an `Interval`.
        beta: β ≥ 0, broadcast against the field; ``math.inf`` is the exact limit.
        field: h, any shape.

    >>> import tutelage as tl
    >>> print(tl.gates.backpropagation_factor(tl.gates.Gate([0, 1]), 1.0, [-800.0, 0.0, 800.0]))
    [0.  0.5 1. ]
    """
    check_gate(gate)
    t = gate._argument(check_betas(beta), field)
    return gate._mean(t) + t * gate._variance(t)


def _positive(beta: Any) -> Any:
    if not is_traced(beta) and np.any(beta == 0):
        hint = "gate.mean(0, h), or a small beta"
        raise InputError("beta", "0", "F = −log Z/β needs a β above 0", hint)
    return beta
