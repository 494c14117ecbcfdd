"""Fixed points of on-line learning, with eigenvalues and directions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

from tutelage._arguments import validated
from tutelage._checks import ComputationError, finite_number
from tutelage._findings import Finding
from tutelage._jax import jnp
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.model.layout import BLOCKS, layout_of
from tutelage.model.scenario import check_fits
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow, errors_of
from tutelage.online.linearization import rates_and_jacobian
from tutelage.solve.newton import newton

STEPS = 100
POLISHED = 1e-12
# Rates below this are rounding: next to a singular covariance a Newton step for them would change
# eigenvalues by 1e-12.
ROUNDING = 1e-14
# A covariance may have negative eigenvalues down to minus this, relative to its largest entry.
OUTSIDE = 1e-9
# Zero eigenvalues, as along a family of solutions, are computed as smaller than this, because
# averages are regularised by 1e-8 at a singular covariance.
ZERO = 1e-7


@dataclass(frozen=True, repr=False)
class FixedPoint(Finding):
    """A fixed point of the equations, with the Jacobian's eigenvalues and eigenvectors.

    overlaps: Q, R and T.
    readout: v of the student, shape (outputs, K); the scenario's if it does not learn.
    residual: the largest rate of change that is left, in units of η and of the largest overlap.
    eigenvalues: of the Jacobian, the largest real part first, shape (d,).  Time is α, or αη in
        the limit η → 0.
    eigenvectors: in the columns, in the order of ``labels``, shape (v, d).
    labels: names of the v variables, R_11 … and Q_11, Q_12 …; and v_1 … of a readout that learns.
    generalization_error: ε_g of the fixed point.
    splitting: c in d|J_i - J_k|²/dα = c |J_i - J_k| next to identical students whose activation has
        a kink; 0 everywhere else.  A state with c > 0 has no Jacobian: the derivative of the rate
        of Q_ik grows like c / (2 |J_i - J_k|), students with any difference separate within a
        finite time, and the first eigenvalue is +∞.  The others are then those for students that
        stay identical, and d < v.
    """

    overlaps: Overlaps
    readout: Float[np.ndarray, "outputs K"]
    residual: float
    eigenvalues: Complex[np.ndarray, " d"]
    eigenvectors: Complex[np.ndarray, "v d"]
    labels: tuple[str, ...]
    generalization_error: float
    splitting: float = 0.0

    also = ("stable",)

    @property
    def brief(self) -> str:
        away = self.unstable_directions.shape[1]
        words = "1 direction leads away" if away == 1 else f"{away} directions lead away"
        words = "stable" if self.stable else words
        return f"fixed point with ε_g = {self.generalization_error:.6g}, {words}"

    @property
    def stable(self) -> bool:
        """True if every small disturbance of any overlap decays (GLOSSARY.md).

        Along a family of solutions, where an eigenvalue vanishes, it does not.
        """
        return bool(self.eigenvalues[0].real < -ZERO)

    @property
    def stability(self) -> str:
        """Describe stability in words: unstable directions, growth rate, what to do next."""
        largest, count = float(self.eigenvalues[0].real), len(self.eigenvalues)
        away = self.unstable_directions.shape[1]
        if self.stable:
            return f"stable: every small disturbance decays, at the rate {-largest:.4g} or faster"
        if not away:
            zero = int(np.sum(np.abs(self.eigenvalues.real) <= ZERO))
            return (
                f"marginal: no direction leads away, but {zero} of {count} eigenvalues vanish,\n"
                "as they do along a family of fixed points"
            )
        verb = "leads" if away == 1 else "lead"
        return (
            f"unstable: {away} of {count} directions {verb} away, growth rate at most "
            f"{largest:.4g}\nRuns that start next to this point leave it; "
            "tl.online.evolve,\nfrom slightly different overlaps, shows where they end.  "
            "Other points: tl.online.fixed_points"
        )

    def _rows(self) -> Iterator[tuple[str, str]]:
        for name, text in super()._rows():
            yield ("stability", self.stability) if name == "stable" else (name, text)

    @property
    def shares(self) -> dict[str, Float[np.ndarray, " d"]]:
        """Fractions of every eigenvector in R, Q and v: sums of squares that add up to 1."""
        squares = np.abs(self.eigenvectors) ** 2
        squares = squares / np.sum(squares, axis=0)
        symbols = np.array([label.partition("_")[0] for label in self.labels])
        return {b.symbol: np.sum(squares[symbols == b.symbol], axis=0) for b in BLOCKS}

    @property
    def vector(self) -> Float[np.ndarray, " v"]:
        """The state in the order of ``labels``."""
        overlaps, v = self.overlaps, self.readout
        layout = layout_of(overlaps.K, overlaps.M, len(v))
        y = layout.vector({"Q": overlaps.Q, "R": overlaps.R, "readout": v})
        return np.asarray(y)[[layout.labels.index(label) for label in self.labels]]

    @property
    def unstable_directions(self) -> Complex[np.ndarray, "v n"]:
        """Eigenvectors whose eigenvalues have a positive real part."""
        return self.eigenvectors[:, self.eigenvalues.real > ZERO]


@validated
def fixed_point(
    scenario: Scenario,
    start: Overlaps,
    learning_rate: float,
    *,
    readout_rate: float = 0.0,
    batch: int = 1,
    method: Method | str | None = None,
) -> FixedPoint:
    """Find the fixed point next to a state, by damped Newton steps with an exact Jacobian.

    Args:
        scenario: student and teacher.
        start: where to begin; Newton's method goes to saddles as readily as to stable points.
        learning_rate: η >= 0; the number 0 is the limit η → 0.
        readout_rate: η_v of the second layer, as in `evolve`; with one v is part of the state, and
            the search begins at the scenario's.
        batch: examples for each step, as in `evolve`.
        method: how averages are computed; the best exact one by default.

    Raises:
        ComputationError: if no fixed point is found from ``start``.

    >>> import tutelage as tl
    >>> two = tl.Committee(2, tl.ReLU())
    >>> scenario = tl.Scenario(two, two)
    >>> near = tl.Overlaps(Q=[[0.7, 0.4], [0.4, 0.7]], R=[[0.5, 0.5], [0.5, 0.5]], T=scenario.T)
    >>> plateau = tl.online.fixed_point(scenario, near, learning_rate=0)
    >>> print(f"{plateau.overlaps.R[0, 0]:.6f}", plateau.stable)
    0.524579 False
    """
    finite_number("learning_rate", learning_rate, at_least=0.0, hint="1.0")
    check_fits("start", scenario, start, batches=((),))
    rate = rate_of(float(learning_rate))
    ratio = relative(readout_rate, learning_rate)
    flow = Flow(scenario, method, limit=rate.limit, batch=batch, readout_rate=ratio)
    return describe(flow, rate, *polished("start", flow, rate, flow.vector(start)))


def relative(readout_rate: float, learning_rate: float) -> float:
    """Return η_v/η; in the limit η → 0 the argument is already this ratio."""
    finite_number("readout_rate", readout_rate, at_least=0.0, hint="readout_rate=0.5")
    return float(readout_rate) / (float(learning_rate) or 1.0)


def polished(argument: str, flow: Flow, rate: Rate, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the fixed point next to a state and its residual, or raise `ComputationError`."""
    y, residual = settled(flow, rate, y)
    if residual > POLISHED:
        problem = f"Newton's method stops at rates of {residual:.1e}"
    elif not is_state(flow, y):
        problem = "Newton's method leaves the positive semi-definite covariances"
    else:
        return y, residual
    raise ComputationError(
        argument,
        problem,
        "there is no fixed point near this state",
        "the last state of tl.online.evolve, a state on the plateau, or tl.online.fixed_points "
        "for all fixed points",
    )


def is_state(flow: Flow, y: np.ndarray) -> bool:
    """Return whether the covariance is positive semi-definite up to the error of a root finder."""
    C = np.asarray(flow.overlaps(jnp.asarray(y), flow.scenario.T).covariance)
    return bool(np.linalg.eigvalsh(C)[0] > -OUTSIDE * np.max(np.abs(C)))


def describe(flow: Flow, rate: Rate, y: np.ndarray, residual: float) -> FixedPoint:
    """Make the record of a fixed point: eigenvalues, eigenvectors and error."""
    scenario = flow.scenario
    values, vectors = np.linalg.eig(rate.unit * rates_and_jacobian(flow, rate, y)[1])
    order = np.argsort(-values.real, kind="stable")
    return FixedPoint(
        overlaps=flow.overlaps(jnp.asarray(y), scenario.T),
        readout=flow.readout(y),
        residual=residual,
        eigenvalues=values[order].astype(complex),
        eigenvectors=vectors[:, order].astype(complex),
        labels=flow.layout.labels,
        generalization_error=float(errors_of(flow, jnp.asarray(y), scenario.T)),
    )


def settled(flow: Flow, rate: Rate, y: np.ndarray, steps: int = STEPS) -> tuple[np.ndarray, float]:
    """Run Newton's method; return its end and the largest rate relative to the largest overlap."""

    def function(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rates_and_jacobian(flow, rate, y)

    root = newton(function, y, steps=steps, tolerance=POLISHED, rounding=ROUNDING)
    return root.x, float(root.residual / max(1.0, np.max(np.abs(root.x))))
