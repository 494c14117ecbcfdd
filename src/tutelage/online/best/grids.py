"""Controls as functions of unknowns, on the ends of fixed steps.

A form of controls turns its unknowns and an end into the times and controls of the steps, and the
gradient by controls and step lengths (`tutelage.online.best.discretized`) into one by unknowns.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from tutelage.online.best.discretized import Path

# Knots and ends of steps are at times T (k/n)^1.5: students move fastest in the beginning.
EXPONENT = 1.5
# Smallest number of steps of a piece; bounds of ln(duration of a piece / duration of the last one).
FEWEST_STEPS_OF_A_PIECE, LOG_DURATIONS = 24, (-12.0, 12.0)


@dataclass(frozen=True)
class KnotGrid:
    """Controls that are linear in time between knots; their values there are the unknowns.

    knots, ends: the knots, and the ends of steps, as fractions of the end.
    """

    knots: Float[np.ndarray, " k"]
    ends: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, intervals: int, fewest: int) -> "KnotGrid":
        """Make a grid with steps of at most 1/``fewest`` of the final time."""
        knots = (np.arange(intervals + 1) / intervals) ** EXPONENT
        counts = np.maximum(2, np.ceil(np.diff(knots) * fewest).astype(int))
        parts = [
            a + (b - a) * np.arange(n) / n
            for a, b, n in zip(knots[:-1], knots[1:], counts, strict=True)
        ]
        return cls(knots, np.append(np.concatenate(parts), 1.0))

    @cached_property
    def hats(self) -> Float[np.ndarray, "n k"]:
        """The matrix that interpolates from the knots to the ends of steps."""
        rows = np.eye(len(self.knots))
        return np.stack([np.interp(self.ends, self.knots, row) for row in rows], axis=1)

    def weights(self) -> Float[np.ndarray, " k"]:
        """Return the fraction of the time for which each knot acts."""
        d = np.diff(self.knots)
        return 0.5 * (np.append(d, 0.0) + np.append(0.0, d))

    def discretized(self, values: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of the ends of steps, and the controls at these times."""
        return end * self.ends, self.hats @ values

    def gradient(self, run: Path, values: np.ndarray, end: float) -> np.ndarray:
        """Return the gradient of ln ε_g with respect to the values at the knots."""
        return self.hats.T @ run.by_control

    def scales(self, values: np.ndarray, end: float) -> np.ndarray:
        """Return the scales of the unknowns in the search: the square root of the time of each
        knot.
        """
        return np.sqrt(end * self.weights())[:, None] * np.ones_like(values)

    def limits(self, bounds: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds of the unknowns."""
        return bounds[:, 0] * np.ones_like(values), bounds[:, 1] * np.ones_like(values)

    def with_half_steps(self) -> "KnotGrid":
        """Return the grid with steps of half the length."""
        middle = 0.5 * (self.ends[:-1] + self.ends[1:])
        return KnotGrid(self.knots, np.sort(np.concatenate([self.ends, middle])))


@dataclass(frozen=True)
class ConstantPieces:
    """One control that is constant in n pieces.

    The unknowns are x = (u_1, …, u_n, s_1, …, s_(n-1)): piece i has the control u_i for the
    fraction w_i = exp(s_i)/Σ_j exp(s_j) of the time, with s_n = 0.  At a switch the control changes
    in a step of length zero.

    counts: the number of steps of each piece.
    """

    counts: tuple[int, ...]

    def fractions(self, x: np.ndarray) -> Float[np.ndarray, " n"]:
        """Return the fractions w of the time."""
        s = np.append(x[len(self.counts) :], 0.0)
        w: np.ndarray = np.exp(s - np.max(s))
        return w / np.sum(w)

    def discretized(self, x: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of the ends of steps, and the controls at these times."""
        lengths = end * self.fractions(x)
        begins = np.cumsum(lengths) - lengths
        times = [
            begin + length * (np.arange(n + 1) / n) ** EXPONENT
            for begin, length, n in zip(begins, lengths, self.counts, strict=True)
        ]
        controls = np.repeat(x[: len(self.counts)], np.array(self.counts) + 1)
        return np.concatenate(times), controls[:, None]

    def gradient(self, run: Path, x: np.ndarray, end: float) -> np.ndarray:
        """Return the gradient of ln ε_g with respect to x: ∂/∂s_i = ∂/∂ln w_i - w_i Σ_j ∂/∂ln
        w_j.
        """
        first = np.cumsum(np.array(self.counts) + 1)[:-1]
        by_control = [np.sum(part) for part in np.split(run.by_control[:, 0], first)]
        stretched = np.append(run.by_length * np.diff(run.times), 0.0)
        by_log = np.array([np.sum(part) for part in np.split(stretched, first)])
        by_s = by_log - self.fractions(x) * np.sum(by_log)
        return np.append(by_control, by_s[:-1])

    def scales(self, x: np.ndarray, end: float) -> np.ndarray:
        """Return the scales of the unknowns in the search: the square root of the time of each
        control.
        """
        roots = np.sqrt(end * self.fractions(x))
        return np.append(roots, np.ones(len(roots) - 1))

    def limits(self, bounds: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds of the unknowns."""
        n = len(self.counts)
        low, high = (
            np.append(np.full(n, bounds[0, side]), np.full(n - 1, LOG_DURATIONS[side]))
            for side in (0, 1)
        )
        return low, high

    def with_half_steps(self) -> "ConstantPieces":
        """Return the same pieces with twice as many steps."""
        return ConstantPieces(tuple(2 * n for n in self.counts))

    def with_longest_halved(self, x: np.ndarray) -> tuple["ConstantPieces", np.ndarray]:
        """Split the longest piece into two equal ones with the same number of steps in all."""
        n, w = len(self.counts), self.fractions(x)
        j, total = int(np.argmax(w)), sum(self.counts)
        w = np.insert(w, j, 0.5 * w[j])
        w[j + 1] *= 0.5
        counts = np.maximum(FEWEST_STEPS_OF_A_PIECE, np.ceil(total * w)).astype(int)
        split = np.append(np.insert(x[:n], j, x[j]), np.log(w[:-1] / w[-1]))
        return ConstantPieces(tuple(counts.tolist())), split


Form = KnotGrid | ConstantPieces


def interpolated(old: np.ndarray, values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Interpolate values at other knots."""
    return np.stack([np.interp(new, old, column) for column in values.T], axis=1)
