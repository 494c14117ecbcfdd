"""The kind of a transition, from the Hermite coefficients of the activation.

For K → ∞ the curve of specialized states is explicit (`large_k`),

    1/α(R) = (1 − R²) Σ_{n≥2} n c_n² R^{n−2}
           = 2c_2² + 3c_3² R + (4c_4² − 2c_2²) R² + (5c_5² − 3c_3²) R³ + …,

and a specialized state exists at α if 1/α is below the maximum of the right hand side over R:

- no c_n with n ≥ 2: linear units, nothing specializes;
- c_2 = 0 (an odd function plus a constant): 1/α(0) = 0, the unspecialized state is stable at
  every load, the transition is discontinuous;
- c_2 ≠ 0: the unspecialized state is unstable beyond α = 1/(2c_2²), and the transition is
  - discontinuous if c_3 ≠ 0, weakly if c_3² is small: R ≈ 3c_3²/(4c_2² − 8c_4²) at the maximum;
  - discontinuous if c_3 = 0 and 2c_4² > c_2²;
  - continuous if the maximum is at R = 0, for which it is enough that n c_n² vanishes for odd
    n ≥ 3 and never grows from one even n to the next: then no coefficient of R² … is positive.

x f(x) with f − ½ odd (ReLU, leaky ReLU, Swish, GELU) has c_3 = c_5 = … = 0.

For finite K the same is asked of α(V), V = R − S.  For K = 2 it is even in V, and the transition
is continuous if the lowest load is at V = 0.  For K ≥ 3 permutations of the units do not map V to
−V.  dα/dV at V = 0 then vanishes only if g is even (c_1 = 0, where (R, S) → (−R, −S) is a
symmetry); otherwise the transition is discontinuous.  Where the coefficients make it continuous
for K → ∞, the jump shrinks like 1/K.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tutelage._arguments import validated
from tutelage._findings import Finding
from tutelage._given import CheckedInside
from tutelage.activations import Activation
from tutelage.averages import Estimate
from tutelage.equilibrium.kernel.kernel import Kernel
from tutelage.equilibrium.symmetric.branches import FLAT, follow_branches
from tutelage.equilibrium.symmetric.theory import Theory, theory_of
from tutelage.equilibrium.symmetric.transitions import Kind, transitions_of
from tutelage.equilibrium.thermal.setting import setting_of
from tutelage.equilibrium.thermal.solution import Solution, solution_of
from tutelage.equilibrium.thermal.transitions import transitions_of as thermal_transitions_of

ZERO_SQUARE_FRACTION = 1e-13  # c_n² below this part of Σ c_n² is rounding
ORDER = 40


@dataclass(frozen=True, repr=False)
class TransitionKind(Finding):
    """The kind of a transition and the coefficients that decide.

    order: "continuous", "discontinuous" or "none", found from the whole curve α(V).
    because: the deciding fact, in words.
    squares: c_0², …, c_4².
    unstable: the load at which the unspecialized state loses its stability: 1/(2c_2²) for
        K → ∞; None if it never does, for which ``because`` is the reason.
    slope: dα/dV at V = 0; for K → ∞ it is −3c_3²/(4c_2⁴).  None without ``unstable``.
    units: K, for which all fields hold.
    """

    order: Kind
    because: str
    squares: np.ndarray
    unstable: Estimate | None
    slope: float | None
    units: float

    @property
    def reasons(self) -> Mapping[str, str]:
        """Reasons why fields are None, by the name of the field."""
        return dict.fromkeys(("unstable", "slope"), self.because)


@validated
def transition_kind(
    activation: Activation,
    units: CheckedInside[float] = math.inf,
    *,
    temperature: float | str | None = None,
    approximation: str = "quenched",
    label_noise: float = 0.0,
) -> TransitionKind:
    """Continuous or discontinuous, and which Hermite coefficient makes it so.

    Args:
        activation: g, the same for student and teacher.
        units: K.  By default K → ∞, where the coefficients decide alone; a finite K may differ:
            with sin units the unspecialized state is stable at every load for K → ∞, but only up
            to α = 8.44 for K = 3.
        temperature, approximation, label_noise: as in `states`; the kind is then read off the
            branch, as the sign of dα̃/d(R²) for R → 0.

    >>> import tutelage as tl
    >>> kind = transition_kind(tl.ReLU())
    >>> print(kind.order, f"{kind.unstable.value:.9f}")  # 2π
    continuous 6.283185307
    >>> transition_kind(tl.Erf()).because
    'K → ∞, c_2 = 0: the unspecialized state is stable at every load'
    """
    setting = setting_of(activation, units, temperature, approximation, label_noise)
    if setting is not None:
        return _at_temperature(solution_of(activation, setting))
    theory = theory_of(activation, units)
    branch_curve = follow_branches(theory)
    transitions = transitions_of(theory, branch_curve)
    squares = _squares(theory.kernel)
    slope = None if branch_curve.start is None else float(theory.slope(branch_curve.start)[1])
    return TransitionKind(
        order=transitions.order,
        because=_because(theory, transitions.order, squares, slope),
        squares=squares[:5],
        unstable=transitions.unstable,
        slope=slope,
        units=theory.units,
    )


def _squares(kernel: Kernel) -> np.ndarray:
    """c_n², zero where they are rounding."""
    squares = kernel.squares(ORDER)
    return np.where(squares > ZERO_SQUARE_FRACTION * np.sum(squares[1:]), squares, 0.0)


def _at_temperature(solution: Solution) -> TransitionKind:
    """Classify the transition at a temperature from the branch."""
    transitions, units = thermal_transitions_of(solution), solution.setting.units
    many = math.isinf(units)
    if transitions.order == "none":
        because = "c_n = 0 for n ≥ 2: the units are linear"
    elif transitions.bend is not None:
        x = "R" if many else "(R − S)"
        because = f"the load changes with {x}² at the rate {transitions.bend.value:.6g} for {x} → 0"
        if transitions.order == "discontinuous" and transitions.bend.value > 0:
            because += ", but is lower at a fold"
    else:
        because = transitions.reasons["bend"]
    return TransitionKind(
        order=transitions.order,
        because=f"{'K → ∞' if many else 'K = 2'}, {because}",
        squares=_squares(solution.setting.kernel)[:5],
        unstable=transitions.unstable,
        slope=None,
        units=units,
    )


def _because(theory: Theory, order: Kind, squares: np.ndarray, slope: float | None) -> str:
    if order == "none":
        return "one unit" if theory.units == 1 else "c_n = 0 for n ≥ 2: the units are linear"
    if math.isinf(theory.units):
        return f"K → ∞, {_infinite(order, squares)}"
    if theory.units > 2 and slope is not None and abs(slope) > FLAT:
        return f"K ≥ 3: the load has the slope {slope:.3g} in R − S where R = S"
    if order == "continuous":
        return f"K = {theory.units:.0f}: the load is even in R − S and lowest where R = S"
    return "the load is lower at a fold than where R = S"


def _infinite(order: Kind, squares: np.ndarray) -> str:
    c2, c3, c4 = squares[2:5]
    if c2 == 0:
        return "c_2 = 0: the unspecialized state is stable at every load"
    if c3 > 0:
        return "c_3 ≠ 0 and c_2 ≠ 0: the load falls with R"
    if 2 * c4 > c2:
        return "c_3 = 0 and 2 c_4² > c_2²: the load falls with R²"
    if order == "continuous":
        return "c_3 = 0 and the load is lowest at R = 0"
    return "c_3 = 0, 2 c_4² < c_2², but higher coefficients lower the load at a fold"
