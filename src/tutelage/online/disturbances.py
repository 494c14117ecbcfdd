"""Whether a disturbance of a state at rest grows: the largest real part of the Jacobian's
eigenvalues.

The program of an exact Jacobian takes nearly as long to compile as that of a run.  The first runs
of a process at rest therefore compute the Jacobian from differences of rates, which the program of
the run gives; the exact one decides where their error leaves it open, and later runs.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Array, Float

from tutelage._jax import jax
from tutelage._types import AnyArray
from tutelage.model.teachers import Teachers
from tutelage.model.timing import Rate, Scheduled
from tutelage.online.flow import Flow
from tutelage.online.integration import GROWS, Trajectory, rates_of_states
from tutelage.runs.stored_jit import stored_jit

# Calls by a Jacobian that is not optimized.  For ReLUs, optimization takes some 2.5 s, and saves
# nothing of a call with two units, 0.1 ms with three, and 1 ms with four.
UNOPTIMIZED_JACOBIANS = 10_000
# Runs of a process whose Jacobian is computed from differences, a few milliseconds each.
MAX_BY_DIFFERENCES = 20
# The length of a disturbance.  Its error bound is of the same order, that of rounding far smaller.
STEP = 1e-6
# A disturbance of one overlap alone could leave the set of covariances, where averages are not
# smooth; added to Q in this proportion to the identity, it leads into the set.
SHARE = 0.25
# Differences decide if the eigenvalue is this many times their error bound.
CLEAR = 10.0

_by_differences = itertools.count()


def grows(
    flow: Flow, end: Trajectory, teachers: Teachers, rate: Rate | Scheduled, run: tuple[int, ...]
) -> bool:
    """Return whether a disturbance of the last state of a run grows; True if it is not known.

    run: the index of the run; () for the only one, whose program is compiled.
    """
    has_program = not run and isinstance(rate, Rate) and flow.moments.fits_one_kernel
    if has_program and next(_by_differences) < MAX_BY_DIFFERENCES:
        rates_of = partial(rates_of_states, flow, end, teachers, rate)
        value, bound = _from_differences(flow, rates_of, end.last)
        if abs(value - GROWS) > CLEAR * bound:
            return value >= GROWS
    T = np.asarray(teachers.at(end.ended_at))[run]
    now = rate.of_run(run).at(end.ended_at[run])
    return not _largest_eigenvalue(flow, end.last[run], T, now) < GROWS


def _from_differences(
    flow: Flow,
    rates_of: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, "n d"]],
    y: Float[np.ndarray, " d"],
) -> tuple[float, float]:
    """Return the largest real part of an eigenvalue at a state, and a bound on its error.

    The derivatives are of second order in the step; their error is less than the difference to
    those of first order.  It moves an eigenvalue by at most this times the condition number of the
    eigenvectors (Bauer and Fike, 1960).
    """
    scenario, d = flow.scenario, len(y)
    blocks = {"Q": np.eye(scenario.K), "R": np.zeros((scenario.K, scenario.M))}
    blocks["readout"] = np.zeros((scenario.outputs, scenario.K))
    inwards = flow.layout.vector(blocks)
    steps = STEP * np.vstack([inwards, inwards + SHARE * np.eye(d)])
    rates = rates_of(np.vstack([y, y + steps, y + 2 * steps]))
    if not np.all(np.isfinite(rates)):
        return math.nan, math.nan
    here, near, far = rates[0], rates[1 : d + 2], rates[d + 2 :]
    first, second = (
        (slopes[1:] - slopes[0]).T / SHARE
        for slopes in ((near - here) / STEP, (4 * near - far - 3 * here) / (2 * STEP))
    )
    values, vectors = np.linalg.eig(second)
    error = np.linalg.norm(second - first, 2) * np.linalg.cond(vectors)
    return float(np.max(values.real)), float(error)


def _largest_eigenvalue(
    flow: Flow, y: Float[np.ndarray, " d"], T: Float[np.ndarray, "M M"], rate: Rate
) -> float:
    """Return the largest real part; NaN if a derivative is not finite."""
    jacobian = np.asarray(_jacobian(flow, y, T, rate))
    # Eigenvalues by NumPy: a compiled program that calls LAPACK could not be stored.
    if not np.all(np.isfinite(jacobian)):
        return math.nan
    return float(np.max(np.linalg.eigvals(jacobian).real))


@partial(stored_jit, optimize_after=UNOPTIMIZED_JACOBIANS)
def _jacobian(
    flow: Flow, y: Float[AnyArray, " d"], T: Float[AnyArray, "M M"], rate: Rate
) -> Float[Array, "d d"]:
    return jax.jacfwd(lambda y: flow.rates(y, T, rate))(y)
