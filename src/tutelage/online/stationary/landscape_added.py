"""Effect of an added unit on a minimum.

The error is convex in the measure Σ_i |w_i| δ(w_i/|w_i|) of ReLU units (docs/physics/online.md).
A unit added with the weight t u, |u| = 1, changes it by -t F(u) + O(t²),

    F(u) = v ⟨g(u·ξ) (τ - σ)⟩.

At a minimum with an error F vanishes at all students and is positive somewhere: the minimum opens,
first along argmax F.  The force on a unit with a small weight is ∇F(u), and F = u·∇F.
"""

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_number
from tutelage._jax import jnp
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.model.numbers import numbers_of
from tutelage.model.scenario import check_fits
from tutelage.online.stationary.landscape import check_landscape
from tutelage.online.stationary.landscape_descent import Atlas
from tutelage.online.stationary.landscape_gradient import Landscape, descend, errors, forces
from tutelage.online.stationary.landscape_paths import weights_in_span
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed

# Weights so small that the unit does not change the output, but has a direction.
PROBE = 1e-9
ASCENT_STEPS, ASCENT_RATE = 2000, 1.0
RANDOM_DIRECTIONS = 32
# Steps between two records of the path.
STEPS_PER_RECORD = 10
MAX_RECORDS = 100_000


@recorded
def added_unit(
    scenario: Scenario,
    start: Overlaps,
    *,
    until: float = 1000.0,
    norm: float = 1e-3,
    seed: int = 0,
) -> xr.Dataset:
    """Add a unit to a minimum where the error falls fastest, and follow gradient flow from there.

    Args:
        scenario: the scenario without the unit; its units have to be two straight lines.
        start: a minimum of `landscape`; students in the span of the teachers.
        until: the time of gradient flow, αη.
        norm: weight of the added unit at time 0.
        seed: of the random directions from which the largest F is searched, in addition to the
            directions of teachers and of sums of teachers.

    Returns:
        A Dataset over ``time``: generalization_error, R and Q of the K + 1 students, the last of
        which is the added one; over ``teacher``: direction, the overlaps of u with the
        teachers.  ``attrs``: gain, F(u), by which the error falls for each unit of added weight.

    >>> import tutelage as tl
    >>> one, two = tl.Committee(1, tl.ReLU()), tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(one, two)
    >>> minimum = tl.online.landscape(scenario, starts=4).isel(level=0)
    >>> best = tl.Overlaps(Q=minimum.Q, R=minimum.R, T=scenario.T)
    >>> path = tl.online.added_unit(scenario, best, until=400)
    >>> before, after = path.generalization_error.values[[0, -1]]
    >>> print(f"{before:.4f} {after:.4f}")
    0.0883 0.0000
    """
    check_fits("start", scenario, start, batches=((),))
    check_landscape(scenario)
    finite_number("until", until, above=0.0, hint="until=1000")
    finite_number("norm", norm, above=0.0, hint="norm=1e-3")
    check_seed(seed)
    before = Landscape(scenario)
    if before.kind != "lines":
        unit = scenario.student.activation.name
        allowed = "the added weight has a linear effect for piecewise linear units only"
        raise InputError("scenario", f"students with the unit {unit}", allowed, "tl.ReLU()")
    W, wider = weights_in_span(start, before.teachers), with_added_unit(scenario)
    landscape, rate = Landscape(wider), Atlas(wider).rate
    longest = MAX_RECORDS * STEPS_PER_RECORD * rate
    if until > longest:
        received, allowed = f"{until:g}", f"gradient descent goes up to the time {longest:.3g}"
        raise InputError("until", received, allowed, "until=1000")
    u, gain = best_direction(landscape, W, seed)
    return (
        _path(landscape, np.vstack([W, norm * u]), rate, until)
        .assign(direction=("teacher", before.teachers @ u))
        .assign_attrs(gain=gain)
    )


def with_added_unit(scenario: Scenario) -> Scenario:
    """Return the scenario with an additional student, whose readout is that of the
    first student.
    """
    v, student = np.asarray(scenario.student.weights), scenario.student
    wider = Committee(student.units + 1, student.activation, np.hstack([v, v[:, :1]]))
    return Scenario(wider, scenario.teacher, scenario.T, **numbers_of(scenario))


def best_direction(
    landscape: Landscape, W: Float[np.ndarray, "K r"], seed: int = 0
) -> tuple[Float[np.ndarray, " r"], float]:
    """Return argmax F over unit vectors in the span of the teachers, and the maximum.

    landscape: with the added unit.
    """
    B, rng = landscape.teachers, np.random.default_rng(seed)
    u = np.vstack([B, -B, np.sum(B, 0), rng.standard_normal((RANDOM_DIRECTIONS, B.shape[1]))])
    u = u / np.linalg.norm(u, axis=-1, keepdims=True)

    def slopes(u: np.ndarray) -> np.ndarray:
        states = np.concatenate(
            [np.broadcast_to(W, (len(u), *W.shape)), PROBE * u[:, None]], axis=1
        )
        return np.asarray(forces(landscape, jnp.asarray(states)))[:, -1]

    for _ in range(ASCENT_STEPS):
        slope = slopes(u)
        across = slope - np.sum(slope * u, -1, keepdims=True) * u
        if np.max(np.abs(across)) < 1e-10:
            break
        u = u + ASCENT_RATE * across
        u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    gains = np.sum(slopes(u) * u, axis=-1)
    best = int(np.argmax(gains))
    return u[best], float(gains[best])


def _path(landscape: Landscape, W: np.ndarray, rate: float, until: float) -> xr.Dataset:
    """Return the weights of gradient descent at equally spaced times."""
    B, states = landscape.teachers, [W]
    records = int(np.ceil(until / (rate * STEPS_PER_RECORD)))
    rates = np.full(1, until / (records * STEPS_PER_RECORD))
    for _ in range(records):
        descended = descend(landscape, jnp.asarray(states[-1][None]), rates, STEPS_PER_RECORD)
        states.append(np.asarray(descended[0])[0])
    every = np.array(states)
    return xr.Dataset(
        {
            "generalization_error": ("time", np.asarray(errors(landscape, jnp.asarray(every)))),
            "R": (("time", "student", "teacher"), every @ B.T),
            "Q": (("time", "student", "student_2"), every @ np.swapaxes(every, -1, -2)),
        },
        coords={
            "time": np.linspace(0.0, until, records + 1),
            "student": np.arange(1, len(W) + 1),
            "teacher": np.arange(1, len(B) + 1),
        },
    )
