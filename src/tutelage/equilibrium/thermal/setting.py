"""Temperature, label noise and approximation, and the theory that they select."""

import functools
import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from tutelage._checks import InputError, check_choice, finite_number, is_number
from tutelage._given import CheckedInside
from tutelage.activations import Activation
from tutelage.equilibrium.kernel.kernel import Kernel, kernel_of
from tutelage.equilibrium.thermal.annealed import AnnealedTheory
from tutelage.equilibrium.thermal.annealed_pair import AnnealedPairTheory
from tutelage.equilibrium.thermal.minimizer import MinimizerTheory
from tutelage.equilibrium.thermal.near_one import NearOne
from tutelage.equilibrium.thermal.nishimori import NishimoriTheory
from tutelage.equilibrium.thermal.quenched import QuenchedTheory
from tutelage.equilibrium.thermal.two_units import NODES

Approximation = Literal["quenched", "annealed"]
ThermalTheory = QuenchedTheory | AnnealedTheory | AnnealedPairTheory
# A temperature equal to the noise variance up to rounding is the Nishimori temperature.
NISHIMORI_TOLERANCE = 1e-14
# κ̃(1) in units of κ'(0) below which a unit is linear up to rounding.
LINEAR_TOLERANCE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ThermalSetting:
    """All parameters of the free energy except the load.

    temperature: T ≥ 0.
    noise: ς², the variance of the labels.
    approximation: "quenched" or "annealed".
    units: K: infinite, or 2 for the annealed theory.
    nodes: of the quadrature for each field, for two smooth units.
    """

    activation: Activation
    kernel: Kernel
    temperature: float
    noise: float
    approximation: Approximation
    units: float = math.inf
    nodes: int = NODES

    @classmethod
    def of(cls, activation: Activation, *rest: Any) -> "ThermalSetting":
        """The setting of an activation with temperature, noise and approximation."""
        return cls(activation, kernel_of(activation), *rest)

    @property
    def is_bayes_optimal(self) -> bool:
        """Return whether T = ς² and the free energy is quenched: then q = R."""
        same = abs(self.temperature - self.noise) <= NISHIMORI_TOLERANCE * self.noise
        return self.approximation == "quenched" and same

    @property
    def learns_perfectly(self) -> bool:
        """Return whether R = 1 is the state at every load above 1: at T = 0 without noise."""
        return self.temperature == 0 and self.noise == 0

    @property
    def has_quadrature(self) -> bool:
        """Return whether values have an error of quadrature: for two smooth units."""
        form = self.activation.closed_form
        return self.units == 2 and not (form is not None and form.is_homogeneous)

    @property
    def is_quenched_pair(self) -> bool:
        """Return whether the setting is two units with the quenched free energy."""
        return self.units == 2 and self.approximation == "quenched"

    @property
    def is_linear(self) -> bool:
        """Return whether κ̃ vanishes: nothing remains to be learned after the linear part."""
        return float(self.kernel.tilde(1.0)) <= LINEAR_TOLERANCE * self.kernel.slope

    @functools.cached_property
    def theory(self) -> ThermalTheory:
        """The theory of states with q < 1."""
        if self.units == 2:
            return AnnealedPairTheory(
                self.activation, self.kernel, self.temperature, self.noise, self.nodes
            )
        if self.approximation == "annealed":
            return AnnealedTheory(self.kernel, self.temperature, self.noise)
        kind = NishimoriTheory if self.is_bayes_optimal else QuenchedTheory
        return kind(self.kernel, self.temperature, self.noise)

    @functools.cached_property
    def minimizers(self) -> MinimizerTheory | None:
        """The theory of states with q = 1 and χ finite: at T = 0 with noisy labels."""
        quenched = self.approximation == "quenched"
        if not quenched or self.temperature > 0 or self.noise == 0:
            return None
        return MinimizerTheory(NearOne(self.kernel), self.noise)


def setting_of(
    activation: Activation,
    units: CheckedInside[float],
    temperature: float | str | None,
    approximation: str,
    label_noise: float,
    *,
    is_for_states: bool = False,
) -> ThermalSetting | None:
    """Return the setting given by arguments; None without a temperature.

    is_for_states: two units with the quenched free energy have states, but no curves.
    """
    check_choice("approximation", approximation, ("quenched", "annealed"))
    noise = float(finite_number("label_noise", label_noise, at_least=0.0, hint="label_noise=0.1"))
    if temperature is None:
        _check_unused(approximation, noise)
        return None
    T = _temperature(temperature, noise)
    K = _checked_units(units, approximation, is_for_states)
    setting = ThermalSetting.of(activation, T, noise**2, approximation, K)
    if setting.units == 2:
        _check_pair(setting)
    return setting


def _temperature(value: float | str, noise: float) -> float:
    """Return T from a number, or from "bayes"."""
    if isinstance(value, str) and value == "bayes":
        if noise == 0:
            raise InputError(
                "temperature",
                "'bayes' without label noise",
                "the Bayes-optimal temperature is the variance of the label noise",
                "label_noise=0.3",
            )
        return noise**2
    if not is_number(value):
        allowed = 'it has to be None, a number T ≥ 0, or "bayes"'
        raise InputError("temperature", repr(value), allowed, "temperature=0.1")
    return float(finite_number("temperature", value, at_least=0.0, hint="temperature=0.1"))


def _check_unused(approximation: str, noise: float) -> None:
    """Refuse arguments that change nothing in the limit of high temperature."""
    for argument, value, unused in (
        ("label_noise", noise, 0.0),
        ("approximation", approximation, "quenched"),
    ):
        if value != unused:
            raise InputError(
                argument,
                repr(value),
                "it changes nothing in the limit of high temperature, temperature=None",
                "temperature=0.1",
            )


def _checked_units(units: CheckedInside[float], approximation: str, is_for_states: bool) -> float:
    """Return K, infinite or 2; refuse numbers of units without a theory."""
    if isinstance(units, float) and units == math.inf:
        return math.inf
    two = isinstance(units, Integral) and not isinstance(units, bool) and int(units) == 2
    if two and (approximation == "annealed" or is_for_states):
        return 2.0
    allowed = f"with a temperature the {approximation} theory is that of K → ∞ or K = 2"
    if approximation == "quenched" and not is_for_states:
        allowed += ", and for K = 2 it has states at a load only"
    raise InputError(
        "units",
        repr(units),
        allowed,
        "units=math.inf; tl.equilibrium.states(..., units=2, ...); units=2 with "
        'approximation="annealed"; temperature=None for a finite number of units; or '
        "tl.equilibrium.sample(..., examples=..., temperature=...)",
    )


def _check_pair(setting: ThermalSetting) -> None:
    """Refuse T = 0, and units without a linear or without a nonlinear part, for K = 2."""
    if setting.temperature == 0:
        raise InputError("temperature", "0", "for units=2 it has to be above 0", "temperature=0.01")
    if setting.is_linear or setting.kernel.slope == 0:
        kind = "a linear" if setting.is_linear else "an even"
        raise InputError(
            "activation",
            str(setting.activation),
            f"with units=2 and a temperature {kind} unit has no specialization from R = S > 0",
            "tl.ReLU(), or units=math.inf",
        )
