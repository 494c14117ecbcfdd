"""Annealed free energy of K = 2 units.

    βf/K = −α̃ ln M(U, V, C) − ¼ ln A − ¼ ln B + (α̃/2) ln(1 + βς²),     M = ⟨exp(−β'Δ²/2)⟩

with A = 1 + C − U², B = 1 − C − V² and β' = β/(1 + βς²).  With ℓ = ln M and D = ℓ_V/V, which
becomes ℓ_VV at V = 0, a specialized state has

    U B D = A ℓ_U,      D (A − B) = 2 A ℓ_C,      α̃ = 1/(2BD),

and the unspecialized one, V = 0, has U = 2α̃Aℓ_U and A − B = 4α̃ABℓ_C.
"""

import functools
import math
from typing import Any

import numpy as np

from tutelage._checks import ComputationError
from tutelage._types import FloatOrArray
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.finite import FiniteTheory
from tutelage.equilibrium.symmetric.theory import MAX_STEPS, TOLERANCE, Equations, Point
from tutelage.equilibrium.symmetric.tracing import grid, trace_mirrored
from tutelage.equilibrium.thermal.two_units import NODES, AnnealedAverage, average_of
from tutelage.equilibrium.thermal.values import Values
from tutelage.solve.newton import Root, newton

# The curve ends here: closer to the teacher the overlaps lose the digits of 1 − V.
LARGEST_V = 1 - 1e-6
# Below this |V| the quotient ℓ_V/V is a parabola in V.
SMALL_V = 1e-3
# Range of loads of the unspecialized states, in units of T + ς² + 2κ̃(1), and the
# largest and the smallest step of the logarithm of the load.
FIRST_LOAD, LAST_LOAD = 1e-4, 1e7
FLAT_STEP, SMALLEST_STEP = 0.5, 1e-3
ROUNDING = 16 * float(np.finfo(np.float64).eps)


class AnnealedPairTheory(FiniteTheory):
    """States of two units at a temperature above 0.

    noise: the variance ς² of the labels.
    nodes: of the quadrature for each field; piecewise linear units need none.
    """

    def __init__(
        self,
        activation: Activation,
        kernel: Kernel,
        temperature: float,
        noise: float = 0.0,
        nodes: int = NODES,
    ):
        super().__init__(kernel, 2)
        self.temperature, self.noise = temperature, noise
        self.average = average_of(activation, 1 / (temperature + noise), nodes)

    def _log(self, U: FloatOrArray, V: FloatOrArray, C: FloatOrArray) -> AnnealedAverage:
        """Return ln M and its derivatives; NaN where their matrix is not positive definite."""
        U, V, C = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (U, V, C)))
        inside = (1 + C - U**2 > 0) & (1 - C - V**2 > 0)
        M = self.average(*(np.where(inside, x, 0.0) for x in (U, V, C)))
        ell = M.gradient / M.value[..., None]
        second = M.hessian / M.value[..., None, None] - ell[..., :, None] * ell[..., None, :]
        logarithm = AnnealedAverage(np.log(M.value), M.in_beta / M.value, ell, second)
        missing = [np.where(inside, 0.0, np.nan).reshape(U.shape + (1,) * n) for n in (0, 0, 1, 2)]
        return AnnealedAverage(*(x + y for x, y in zip(logarithm, missing, strict=True)))

    def _at(self, point: Point) -> tuple[AnnealedAverage, Any, Any, Any, Any]:
        """Return ln M, U, V, A and B of a point."""
        at = self.overlap(point)
        V, U = np.asarray(point.V, dtype=float), 1 + self.n * np.asarray(point.d, dtype=float)
        return self._log(U, V, at.C), U, V, self.n * at.KA, at.B

    def is_state(self, point: Point) -> Any:
        at = self.overlap(point)
        return (at.B > 0) & (at.KA > 0)

    def is_inside(self, point: Point) -> Any:
        return self.is_state(point)

    def limit(self, V: np.ndarray) -> Point:
        """States in the limit of high temperature, from which those of any T are found."""
        hot = FiniteTheory(self.kernel, 2)
        return hot.at(V, hot.limit(V))

    def trace(self) -> Point:
        V = grid(self.K)
        return trace_mirrored(self, V[(V > 0) & (V <= LARGEST_V)])

    def _quotient(
        self, log: AnnealedAverage, U: FloatOrArray, V: FloatOrArray, C: FloatOrArray
    ) -> tuple[Any, np.ndarray]:
        """Return D = ℓ_V/V and its derivatives in (V, U, C)."""
        small = np.abs(V) < SMALL_V
        W = np.where(small, SMALL_V, V)
        at = self._log(U, W, C) if np.any(small) else log
        D = at.gradient[..., 1] / W
        first = (at.hessian[..., 1, :] - D[..., None] * np.array([0.0, 1.0, 0.0])) / W[..., None]
        if np.any(small):
            zero = self._log(U, 0 * V, C).hessian[..., 1, 1]
            part = np.where(small, V / W, 1.0)
            D = np.where(small, zero + (D - zero) * part**2, D)
            first = first * np.stack([np.ones_like(part), part, np.ones_like(part)], -1)
        return D, first[..., [1, 0, 2]]

    def equations(self, point: Point) -> Equations:
        """The two equations for (d, c) at a given V, and 1/α̃ = 2BD."""
        log, U, V, A, B = self._at(point)
        C = self.overlap(point).C
        D, D_x = self._quotient(log, U, V, C)
        zero, one = np.zeros_like(V), np.ones_like(V)
        # Derivatives in (V, U, C) on the last axis.
        A_x, B_x = np.stack([zero, -2 * U, one], -1), np.stack([-2 * V, zero, -one], -1)
        U_x, order = np.stack([zero, one, zero], -1), [1, 0, 2]
        ell_U, ell_C = log.gradient[..., 0], log.gradient[..., 2]
        U_row, C_row = log.hessian[..., 0, order], log.hessian[..., 2, order]
        U, A, B, D, ell_U, ell_C = (np.asarray(x)[..., None] for x in (U, A, B, D, ell_U, ell_C))
        F = np.concatenate([U * B * D - A * ell_U, D * (A - B) - 2 * A * ell_C], -1)
        rows = [
            U_x * B * D + U * (B_x * D + B * D_x) - A_x * ell_U - A * U_row,
            D_x * (A - B) + D * (A_x - B_x) - 2 * (A_x * ell_C + A * C_row),
        ]
        rate = np.array([1.0, self.n, self.n**2])  # of (V, U, C) with (V, d, c)
        J = np.stack(rows, -2) * rate
        gradient = 2 * (B_x * D + B * D_x) * rate
        return Equations(F, J[..., 1:], J[..., 0], 2 * (B * D)[..., 0], gradient)

    def _unspecialized(self, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve for d and c, starting from interpolated states of `_followed`, which are smooth in
        U and ln A.
        """
        known_loads, U, A = self._followed
        x = np.log(np.clip(loads, known_loads[0], known_loads[-1]))
        # Below the first load U grows like the load.
        U = np.interp(x, np.log(known_loads), U) * np.minimum(loads / known_loads[0], 1.0)
        A = np.exp(np.interp(x, np.log(known_loads), np.log(A)))
        root = self._flat(loads, np.stack([self.K * (U - 1), self.K**2 * (A - 1 + U**2)], -1))
        if not np.all(root.converged):
            at = float(loads[np.argmin(root.converged)])
            raise ComputationError(
                "the unspecialized state", f"no solution at the load {at:g}", "a lower load"
            )
        return root.x[..., 0], root.x[..., 1]

    @functools.cached_property
    def _followed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Follow the unspecialized state from load 0; return loads, U and A."""
        width = self.temperature + self.noise + 2 * self.tilde_at_one
        log_load, step = math.log(FIRST_LOAD * width), FLAT_STEP
        current, rows = np.array([-self.K, 0.0]), []
        while log_load < math.log(LAST_LOAD * width) and step > SMALLEST_STEP:
            root = self._flat(np.array([math.exp(log_load)]), current[None])
            if root.converged[0]:
                current, step = root.x[0], FLAT_STEP
                rows.append((math.exp(log_load), current))
            elif rows:
                step, log_load = step / 2, math.log(rows[-1][0])
            else:
                log_load -= FLAT_STEP
                continue
            log_load += step
        loads, x = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        point = Point(np.zeros(len(x)), x[:, 0], x[:, 1])
        return loads, 1 + self.n * point.d, self.n * self.overlap(point).KA

    def _flat(self, loads: np.ndarray, start: np.ndarray) -> Root:
        """Newton's method for (d, c) of unspecialized states."""

        def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            log, U, _, A, B = self._at(Point(np.zeros(x.shape[:-1]), x[..., 0], x[..., 1]))
            (ell_U, _, ell_C), second = np.moveaxis(log.gradient, -1, 0), log.hessian
            a = 2 * loads
            F = np.stack([U - a * A * ell_U, A - B - 2 * a * A * B * ell_C], -1)
            J = np.stack([
                1 - a * (-2 * U * ell_U + A * second[..., 0, 0]),
                -a * (ell_U + A * second[..., 0, 2]),
                -2 * U - 2 * a * B * (-2 * U * ell_C + A * second[..., 0, 2]),
                2 - 2 * a * ((B - A) * ell_C + A * B * second[..., 2, 2]),
            ], -1)  # fmt: skip
            return F, J.reshape(*J.shape[:-1], 2, 2) * np.array([self.n, self.n**2])

        def allowed(x: np.ndarray) -> np.ndarray:
            return np.asarray(self.is_state(Point(np.zeros(x.shape[:-1]), x[..., 0], x[..., 1])))

        # A ∝ 1/α̃ at high loads: rounding of A is multiplied by the load.
        tolerance = max(TOLERANCE, ROUNDING * float(np.max(loads)))
        return newton(residual, start, steps=MAX_STEPS, tolerance=tolerance, allowed=allowed)

    def free_energy(self, load: FloatOrArray, point: Point) -> Any:
        """βf/K − (α̃/2) ln(1 + βς²)."""
        log, _, _, A, B = self._at(point)
        return -load * log.value - 0.25 * (np.log(A) + np.log(B))

    def load_derivative(self, point: Point) -> Any:
        """∂/∂α̃ of `free_energy`."""
        return -self._at(point)[0].value

    @property
    def common(self) -> float:
        """½ ln(1 + βς²), the term omitted in `load_derivative`."""
        return 0.5 * math.log1p(self.noise / self.temperature)

    def replicon(self, load: FloatOrArray, point: Point) -> Any:
        """Not defined: there are no replicas."""
        return np.full(np.broadcast_shapes(np.shape(load), np.shape(point.V)), np.nan)

    def curvatures(self, load: FloatOrArray, point: Point) -> np.ndarray:
        """Second derivatives of βf/K in (U, V, C)."""
        log, U, V, A, B = self._at(point)
        H = -np.asarray(load)[..., None, None] * log.hessian
        H[..., 0, 0] += (U / A) ** 2 + 0.5 / A
        H[..., 1, 1] += (V / B) ** 2 + 0.5 / B
        H[..., 2, 2] += 0.25 / A**2 + 0.25 / B**2
        H[..., 0, 2] -= 0.5 * U / A**2
        H[..., 1, 2] += 0.5 * V / B**2
        H[..., 2, 0], H[..., 2, 1] = H[..., 0, 2], H[..., 1, 2]
        return H

    def matrices(self, load: FloatOrArray, point: Point) -> dict[str, np.ndarray]:
        """Return the Hessian of βf/K in the site-symmetric directions (U, V, C)."""
        return {"trivial": self.curvatures(load, point)}

    def values(self, load: FloatOrArray, point: Point) -> Values:
        """Return the values of states at given loads."""
        load, *rest = np.broadcast_arrays(np.asarray(load, dtype=float), *point)
        at = Point(*(np.asarray(x, dtype=float) for x in rest))
        R, S, C = self.order(at)
        width = self.temperature + self.noise
        in_beta = self._at(at)[0].in_beta * (self.temperature / width) ** 2
        return Values(
            R=R,
            q=R**2 + S**2,
            susceptibility=np.full(R.shape, np.nan),
            generalization_error=self.error(at),
            training_error=0.5 * self.noise * self.temperature / width - in_beta,
            free_energy_per_unit=self.free_energy(load, at) + load * self.common,
            curvature=_in_V(self.curvatures(load, at)),
            replicon=self.replicon(load, at),
            S=S,
            C=C,
        )


def _in_V(H: np.ndarray) -> np.ndarray:
    """The second derivative in V with U and C at their extremum; negative for every saddle."""
    others = H[..., [0, 2], :][..., [0, 2]]
    mixed = H[..., 1, [0, 2]]
    along = np.sum(mixed * np.linalg.solve(others, mixed[..., None])[..., 0], -1)
    lowest = np.linalg.eigvalsh(others)[..., 0]
    return np.where(lowest > 0, H[..., 1, 1] - along, lowest)
