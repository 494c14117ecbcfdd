"""Beyond site symmetry: every minimum of the free energy over all overlaps."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._findings import Finding
from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.equilibrium.general.blocks import Blocks, blocks, canonical_order
from tutelage.equilibrium.general.descent import Descent, descend
from tutelage.equilibrium.general.landscape import FreeEnergyLandscape
from tutelage.equilibrium.general.starts import starts as starting_points
from tutelage.model import Overlaps, Scenario
from tutelage.runs.seed import check_seed
from tutelage.runs.stored_jit import stored_jit

# Newton steps end at about 1e-14; a descent with a longer last step has not converged.
CONVERGED_STEP = 1e-8
# Eigenvalues below this part of the largest are zero: the state is about to split.
ZERO_EIGENVALUE = 1e-9
# Descents whose ends are closer than this found the same minimum; the distances of descents into
# one minimum are much smaller, those between different minima much larger.
SAME_MINIMUM_DISTANCE = 1e-6


@dataclass(frozen=True, repr=False)
class Minimum(Finding):
    """A minimum of βf over all overlaps.

    overlaps: Q, R and T, students and exchangeable teachers in canonical order.
    free_energy: βf; differences between states matter, constants do not.
    generalization_error: ε_g.
    eigenvalues: of ∂²βf with respect to all overlaps, ascending (`FreeEnergyLandscape.hessian`).
    residual: the last Newton step, relative to the coordinates z.
    found: how many of the starts ended here.
    blocks: its block structure, with its name.
    """

    overlaps: Overlaps
    free_energy: float
    generalization_error: float
    eigenvalues: Float[np.ndarray, " d"]
    residual: float
    found: int
    blocks: Blocks = field(repr=False)

    also = ("name", "stable")

    @property
    def name(self) -> str:
        """The state in words, such as "2 of 3 students specialized, …"."""
        return self.blocks.name

    @property
    def stable(self) -> bool:
        """True for a local minimum in all overlaps; at a transition it is False (GLOSSARY.md)."""
        return bool(self.eigenvalues[0] > ZERO_EIGENVALUE * self.eigenvalues[-1])


@validated
def minima(
    scenario: Scenario,
    load: float,
    *,
    starts: int = 64,
    seed: int = 0,
    method: Method | str | None = None,
) -> tuple[Minimum, ...]:
    """The minima of βf = α K ε_g - ½ ln det C over all overlaps, the lowest first.

    oostwal2019, eqs. (16) to (20), without the assumption of site symmetry, eq. (10).  Students
    have norm one, Q_ii = 1.  The load α = βP/(KN) multiplies K times the scenario's own ε_g;
    the outputs of the paper are those of ``output_scale=1/√K``.  Teachers may be as long as
    they like: students of norm one can learn the direction of a teacher with T_nn ≠ 1 but not
    its length, so that graded teachers leave an error even at infinite load.  If T is singular
    the entropy is that of students given the teachers' span (`FreeEnergyLandscape`).  Label noise
    adds a constant to the energy and weight decay is fixed by the norm: neither changes anything.

    Args:
        scenario: student and teacher; K, M, activations, readouts (of any value, fixed) and T
            are free.
        load: α >= 0.
        starts: how many descents; a minimum with a small basin needs many.
        seed: of the starts.
        method: how averages are computed; the best exact one by default.

    Returns:
        Each minimum that was found once, up to the names of students and of teachers that can
        be swapped; units with different readouts are not exchanged.  The list is as
        complete as the starts are many: ``found`` is the number of starts that end in a minimum.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.Erf())
    >>> state, = tl.equilibrium.minima(tl.Scenario(one, one), load=0.0, starts=4)
    >>> abs(float(state.overlaps.R[0, 0])) < 1e-12, state.stable
    (True, True)
    """
    alpha = float(finite_number("load", load, at_least=0.0, hint="load=10.0"))
    count = positive_integer("starts", starts, "starts=64")
    landscape = FreeEnergyLandscape(scenario, method)
    ends = descend(landscape, alpha, starting_points(landscape, count, check_seed(seed)))
    spectra, Q, R = (np.asarray(x) for x in _described(landscape, jnp.asarray(alpha), ends.place.z))
    groups = _distinct(np.asarray(ends.step), spectra, Q, R)
    if not groups:
        raise InputError(
            "starts",
            f"{count}, and no descent converged",
            "at least one has to converge",
            "more starts, another seed",
        )
    distinct = [_minimum(landscape, ends, spectra, Q, R, group) for group in groups]
    return tuple(sorted(distinct, key=lambda minimum: minimum.free_energy))


@stored_jit
def _described(
    landscape: FreeEnergyLandscape, load: Array, z: Float[Array, "n d"]
) -> tuple[Array, ...]:
    """Compute eigenvalues of the Hessian, Q and R of every state."""
    hessians = jax.vmap(lambda z: landscape.hessian(z, load))(z)
    return jnp.linalg.eigvalsh(hessians), *jax.vmap(landscape.overlaps)(z)


def _distinct(
    steps: np.ndarray, spectra: np.ndarray, Q: np.ndarray, R: np.ndarray
) -> list[list[int]]:
    """Group descents that ended in the same minimum, up to the names of the units.

    States that differ by names have the same overlaps in another order and the same spectrum.
    """
    n = len(R)
    names = [np.sort(x.reshape(n, -1), axis=1) for x in (Q, R)]
    signature = np.hstack([*names, spectra / (1 + np.abs(spectra[:, -1:]))])
    lowest = spectra[:, 0] > -ZERO_EIGENVALUE * np.abs(spectra[:, -1])
    arrived = (steps < CONVERGED_STEP) & lowest & np.all(np.isfinite(signature), axis=1)
    groups: list[list[int]] = []
    for i in np.flatnonzero(arrived):
        for group in groups:
            if np.max(np.abs(signature[i] - signature[group[0]])) < SAME_MINIMUM_DISTANCE:
                group.append(int(i))
                break
        else:
            groups.append([int(i)])
    return groups


def _minimum(landscape: FreeEnergyLandscape, ends: Descent, spectra, Q, R, group) -> Minimum:
    """Describe the descent with the smallest last step of several that end in one minimum."""
    i = min(group, key=lambda j: float(ends.step[j]))
    scenario = landscape.error.scenario
    overlaps = Overlaps(Q[i], R[i], scenario.T)
    if scenario.student.uniform and scenario.teacher.uniform:
        overlaps = canonical_order(overlaps)
    error = float(landscape.error(landscape.error.pairs(jnp.asarray(Q[i]), jnp.asarray(R[i]))))
    return Minimum(
        overlaps=overlaps,
        free_energy=float(ends.place.value[i]),
        generalization_error=error,
        eigenvalues=spectra[i],
        residual=float(ends.step[i]),
        found=len(group),
        blocks=blocks(overlaps),
    )
