"""Fixed points of on-line learning, and where they lead."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Complex, Float

from tutelage._jax import jax, jnp
from tutelage.averages.methods import Method
from tutelage.checks import InputError, finite_number
from tutelage.generalization import generalization_error
from tutelage.networks import Scenario
from tutelage.online.equations import Flow
from tutelage.online.state import labels, to_overlaps, to_vector
from tutelage.overlaps import Overlaps

STEPS = 100
POLISHED = 1e-12


class FixedPoint(eqx.Module):
    """A state that does not move, and what happens beside it.

    overlaps: Q, R and T.
    residual: the largest rate of change that is left.
    eigenvalues: of the Jacobian, the largest real part first, shape (d,).
    eigenvectors: in the columns, in the order of ``labels``, shape (d, d).
    labels: names of the d variables, R_11 … and Q_11, Q_12 ….
    generalization_error: ε_g there.
    """

    overlaps: Overlaps
    residual: float
    eigenvalues: Complex[np.ndarray, " d"]
    eigenvectors: Complex[np.ndarray, "d d"]
    labels: tuple[str, ...] = eqx.field(static=True)
    generalization_error: float

    @property
    def stable(self) -> bool:
        """True if every small disturbance decays; zero eigenvalues (a family of solutions) do not."""
        return bool(self.eigenvalues[0].real < -POLISHED)

    @property
    def unstable_directions(self) -> Complex[np.ndarray, "d n"]:
        """The eigenvectors that lead away."""
        return self.eigenvectors[:, self.eigenvalues.real > 1e-9]


def fixed_point(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    method: Method | str | None = None,
) -> FixedPoint:
    """The fixed point next to a state, by damped Newton steps with an exact Jacobian.

    Args:
        scenario: who learns from whom.
        start: where to begin; Newton's method goes to saddles as readily as to stable points.
        learning_rate: η >= 0; the number 0 is the limit η → 0.
        method: how averages are computed; the best exact one by default.

    Raises:
        InputError: if no fixed point is found from there.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(two, two)
    >>> near = tl.Overlaps(Q=[[0.7, 0.4], [0.4, 0.7]], R=[[0.5, 0.5], [0.5, 0.5]], T=scenario.T)
    >>> plateau = tl.online.fixed_point(scenario, near, learning_rate=0)
    >>> print(f"{plateau.overlaps.R[0, 0]:.6f}", plateau.stable)
    0.524579 False
    """
    finite_number("learning_rate", learning_rate, at_least=0.0, hint="1.0")
    generalization_error(scenario, start)
    flow = Flow(scenario, method)
    eta = 0 if learning_rate == 0 else jnp.asarray(learning_rate, dtype=jnp.float64)
    y, residual = _newton(flow, eta, np.asarray(to_vector(start)))
    jacobian = np.asarray(_rates_and_jacobian(flow, eta, jnp.asarray(y))[1])
    values, vectors = np.linalg.eig(jacobian)
    order = np.argsort(-values.real, kind="stable")
    state = to_overlaps(jnp.asarray(y), scenario.T, scenario.K)
    error = generalization_error(scenario, state, method)
    return FixedPoint(
        overlaps=state,
        residual=residual,
        eigenvalues=values[order],
        eigenvectors=vectors[:, order],
        labels=tuple(labels(scenario.K, scenario.M)),
        generalization_error=float(error),
    )


def _newton(flow: Flow, eta: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Newton steps, shortened until the rates fall; a singular Jacobian gets the shortest step."""
    f, J = (np.asarray(x) for x in _rates_and_jacobian(flow, eta, jnp.asarray(y)))
    for _ in range(STEPS):
        size = np.max(np.abs(f))
        if size < POLISHED * 1e-2:
            break
        step = np.linalg.lstsq(J, -f, rcond=1e-13)[0]
        for shrink in 0.5 ** np.arange(12):
            candidate = y + shrink * step
            g, K = (np.asarray(x) for x in _rates_and_jacobian(flow, eta, jnp.asarray(candidate)))
            if np.all(np.isfinite(g)) and np.max(np.abs(g)) < size:
                break
        else:
            break  # as close as rounding allows, or stuck: the residual says which
        y, f, J = candidate, g, K
    residual = float(np.max(np.abs(f)))
    if residual > POLISHED:
        raise InputError(
            "start",
            f"a state from which Newton's method stops at rates of {residual:.1e}",
            "it has to be near a fixed point",
            "the last state of tl.online.evolve, or a state on the plateau",
        )
    return y, residual


@eqx.filter_jit
def _rates_and_jacobian(
    flow: Flow, eta: Any, y: Float[Array, " d"]
) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    def rates(y: Float[Array, " d"]) -> Float[Array, " d"]:
        state = to_overlaps(y, flow.scenario.T, flow.scenario.K)
        return to_vector(flow(state, eta))

    return rates(y), jax.jacfwd(rates)(y)
