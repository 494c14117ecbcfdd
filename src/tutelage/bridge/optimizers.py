"""Settings of a user's optimizer, and their meaning in the theory.

The equations describe plain gradient descent, w ← w - ρ ∇.  Momentum μ with dampening d,

    u ← μ u + (1 - d) ∇,   w ← w - ρ u,

with or without Nesterov's change, sums every gradient to ρ (1 - d)/(1 - μ) times it within about
1/(1 - μ) steps, a time of order 1/N: on-line it acts like that learning rate.  Weight decay λ
shrinks weights by ρ λ in each step, which is γ = N ρ λ.

No framework is imported: optimizers are recognised by the modules of their classes.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

import xarray as xr

from tutelage._checks import InputError, finite_number, short_repr
from tutelage.bridge.frameworks.arrays import as_array

# Names of plain gradient descent in the frameworks, in lower case.
PLAIN = ("sgd", "gd", "gradient descent")
# Keys of a mapping that describes an optimizer.
KEYS = ("name", "learning_rate", "momentum", "dampening", "nesterov", "weight_decay")
DESCRIPTION = '{"name": "sgd", "learning_rate": 0.01, "momentum": 0.9}'
ATTRIBUTE = "optimizer"
# Keras holds rates in float32.
SAME_RATE = 1e-6
# Settings that are not numbers.
FLAGS = ("nesterov", "decoupled")


@dataclass(frozen=True)
class OptimizerSettings:
    """Settings of an optimizer.

    name: of its class, such as "SGD" or "Adam".
    rates: learning rates of its groups of parameters, each once; empty if they are unknown.
    momentum: μ;  dampening: d;  nesterov: whether it is Nesterov's;  weight_decay: λ.
    decoupled: whether the decay is no part of the gradient, and not multiplied by momentum.
    """

    name: str
    rates: tuple[float, ...] = ()
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    decoupled: bool = False

    @property
    def is_gradient_descent(self) -> bool:
        """Whether a step is a multiple of a gradient, or of a sum of gradients."""
        return self.name.lower() in PLAIN

    @property
    def rate_factor(self) -> float:
        """(1 - d)/(1 - μ), with which momentum multiplies the learning rate."""
        return (1 - self.dampening) / (1 - self.momentum)

    def includes_momentum(self, rate: float) -> bool:
        """Whether a given learning rate already is ρ (1 - d)/(1 - μ)."""
        return any(math.isclose(rate, ρ * self.rate_factor, rel_tol=SAME_RATE) for ρ in self.rates)

    def effective_rate_factor(self, rate: float) -> float:
        """The factor by which momentum increases a given learning rate."""
        if not self.is_gradient_descent or self.includes_momentum(rate):
            return 1.0
        return self.rate_factor

    def decay(self, rate: float, dimension: int) -> float:
        """γ = N ρ λ for a given learning rate, with the factor of momentum."""
        ρ = rate / self.rate_factor if self.includes_momentum(rate) else rate
        factor = 1.0 if self.decoupled else self.rate_factor
        return dimension * ρ * factor * self.weight_decay

    @property
    def attribute(self) -> str:
        """The settings as JSON, for the attributes of a record."""
        return json.dumps(asdict(self))


def of_record(record: xr.Dataset) -> OptimizerSettings | None:
    """Return the optimizer in the attributes of a record; None if the recorder had none."""
    text = record.attrs.get(ATTRIBUTE)
    if text is None:
        return None
    try:
        settings = json.loads(str(text))
        return _checked(settings.pop("name"), settings.pop("rates"), **settings)
    except (ValueError, TypeError, KeyError, AttributeError):
        allowed = "it has to be as tl.bridge.Recorder writes it"
        raise InputError(f"record.attrs[{ATTRIBUTE!r}]", short_repr(text), allowed) from None


def read_optimizer(optimizer: object) -> OptimizerSettings:
    """Read the settings of a PyTorch or Keras optimizer, or of a mapping of settings."""
    packages = {parent.__module__.partition(".")[0] for parent in type(optimizer).__mro__}
    if "torch" in packages and hasattr(optimizer, "param_groups"):
        return _of_groups(type(optimizer).__name__, optimizer.param_groups)
    if "keras" in packages and hasattr(optimizer, "learning_rate"):
        return _of_keras(optimizer)
    if isinstance(optimizer, Mapping):
        return _by_hand(optimizer)
    if hasattr(optimizer, "init") and hasattr(optimizer, "update"):
        received = "an Optax transformation"
        allowed = "the settings of an Optax transformation cannot be read: describe it by hand"
    else:
        received = short_repr(optimizer)
        allowed = "it has to be a PyTorch or Keras optimizer, or a description by hand"
    raise InputError("optimizer", received, allowed, f"optimizer={DESCRIPTION}")


def _of_groups(name: str, groups: list[dict[str, Any]]) -> OptimizerSettings:
    """Read PyTorch's parameter groups; where they differ, take the largest value."""

    def largest(key: str) -> float:
        return max((float(group.get(key) or 0.0) for group in groups), default=0.0)

    return _checked(
        name,
        [float(group["lr"]) for group in groups],
        momentum=largest("momentum"),
        dampening=largest("dampening"),
        nesterov=bool(largest("nesterov")),
        weight_decay=largest("weight_decay"),
    )


def _of_keras(optimizer: Any) -> OptimizerSettings:
    """Read a Keras optimizer; a schedule gives the rate of the present step."""
    return _checked(
        type(optimizer).__name__,
        [float(as_array("optimizer.learning_rate", optimizer.learning_rate))],
        momentum=float(getattr(optimizer, "momentum", None) or 0.0),
        nesterov=bool(getattr(optimizer, "nesterov", False)),
        weight_decay=float(getattr(optimizer, "weight_decay", None) or 0.0),
        decoupled=True,
    )


def _by_hand(settings: Mapping[Any, Any]) -> OptimizerSettings:
    for key in settings:
        if key not in KEYS:
            close = get_close_matches(str(key), KEYS, 1)
            hint = f"{close[0]!r}" if close else f"optimizer={DESCRIPTION}"
            allowed = f"a description has {', '.join(KEYS)}"
            raise InputError("optimizer", f"the key {key!r}", allowed, hint)
    if not isinstance(settings.get("name"), str):
        allowed = "a description needs the name of the optimizer"
        raise InputError(
            "optimizer", short_repr(dict(settings)), allowed, f"optimizer={DESCRIPTION}"
        )
    numbers = {key: settings[key] for key in KEYS[2:] if key in settings}
    rate = settings.get("learning_rate")
    return _checked(settings["name"], [] if rate is None else [rate], **numbers)


def _checked(name: str, rates: list[Any], **settings: Any) -> OptimizerSettings:
    for rate in rates:
        finite_number("optimizer.learning_rate", rate, at_least=0.0, hint="0.01")
    for key, value in settings.items():
        if key not in FLAGS:
            finite_number(f"optimizer.{key}", value, at_least=0.0, hint="0.0")
    if settings.get("momentum", 0.0) >= 1:
        allowed = "it has to be below 1; otherwise the sum of gradients grows without bound"
        raise InputError("optimizer.momentum", repr(settings["momentum"]), allowed, "0.9")
    numbers: dict[str, Any] = {
        key: bool(x) if key in FLAGS else float(x) for key, x in settings.items()
    }
    return OptimizerSettings(name, tuple(dict.fromkeys(map(float, rates))), **numbers)
