"""Validation of arguments: errors name the argument, the value, what is allowed, what to try.

Every public function refuses bad input with these functions.  Nothing is clipped, repaired or
turned into a warning.  Inside ``jit`` or ``grad`` values are not known; only shapes are checked.
"""

import math
import sys
from collections.abc import Collection
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np

from tutelage._precision import OPTION

# Relative rounding error that a covariance may have: that of a sum of 10⁶ float64 products is
# about √(10⁶)·2⁻⁵³ ≈ 10⁻¹³ of the largest term.
ROUNDING = 1e-12
# Equations multiply up to four numbers: products of larger numbers overflow, products of smaller
# ones underflow.
LARGEST_NUMBER = 1e75
SMALLEST_NUMBER = 1 / LARGEST_NUMBER
TINY = float(np.finfo(float).tiny)
# Types whose values are never traced.
UNTRACED = frozenset({float, int, bool, str, type(None), np.ndarray, np.float64})
# Characters of a value that a message shows.
REPR_LENGTH = 60


class InputError(ValueError):
    """An argument that cannot be used: its name, its value, what is allowed, what to try."""

    def __init__(self, argument: str, received: str, allowed: str, hint: str = ""):
        self.argument, self.received, self.allowed, self.hint = argument, received, allowed, hint
        message = f"{argument}: got {received}, but {allowed}."
        super().__init__(f"{message} Try: {hint}." if hint else message)


class ComputationError(ArithmeticError):
    """A computation that cannot be finished although its arguments are allowed.

    Names the argument that matters most, what happened, why that ends the computation, what to try.
    """

    def __init__(self, argument: str, received: str, allowed: str, hint: str = ""):
        self.argument, self.received, self.allowed, self.hint = argument, received, allowed, hint
        message = f"{argument}: {received}; {allowed}."
        super().__init__(f"{message} Try: {hint}." if hint else message)


def short_repr(value: object) -> str:
    """Represent a value on one line; a long one by its type and first characters.

    >>> short_repr(0.5), short_repr(list(range(100)))
    ('0.5', 'list [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1…')
    """
    kind = type(value).__name__
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a whole number with more digits than Python prints
        return kind
    return text if len(text) <= REPR_LENGTH else f"{kind} {text[:REPR_LENGTH]}…"


def value_of(argument: str, function: Any, *given: object, allowed: str, hint: str = "") -> Any:
    """Call a function of the user; if it fails, raise an InputError that quotes its error."""
    try:
        return function(*given)
    except (InputError, ComputationError):
        raise
    except Exception as problem:
        words = " ".join(str(problem).split())[:REPR_LENGTH]
        received = f"a function that fails with {type(problem).__name__} ({words})"
        raise InputError(argument, received, allowed, hint) from problem


def is_traced(value: object) -> bool:
    """Return whether a value is traced by ``jit``, ``grad`` or ``vmap``, so that its numbers are
    unknown.
    """
    if type(value) in UNTRACED:
        return False
    import jax

    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value))


def check_float64() -> None:
    """Refuse to compute after the user has switched float64 off."""
    if "jax" in sys.modules and not sys.modules["jax"].config.x64_enabled:
        allowed = "tutelage computes in float64, which `import tutelage` has switched on for JAX"
        raise InputError(OPTION, "False", allowed, f'jax.config.update("{OPTION}", True)')


def check_choice(argument: str, value: str, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        allowed = f"it has to be one of {', '.join(map(repr, choices))}"
        raise InputError(
            argument, short_repr(value), allowed, f"{argument}={next(iter(choices))!r}"
        )


def positive_integer(argument: str, value: Any, hint: str = "") -> int:
    """Check a whole number of at least one, such as a number of units, nodes or dimensions."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < 1:
        raise InputError(
            argument, short_repr(value), "it has to be a whole number of at least 1", hint
        )
    if int(value) >= 2**63:  # array sizes and generator counters are 64-bit
        raise InputError(argument, short_repr(value), "it has to be less than 2⁶³", hint)
    return int(value)


def finite_number(
    argument: str,
    value: Any,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    hint: str = "",
) -> Any:
    """Check a finite real number within bounds; traced values pass."""
    if type(value) is float and at_least <= value and above < value and within_range(value):
        return value
    if is_traced(value):
        return value
    if not is_number(value) or not _finite(value):
        raise InputError(argument, short_repr(value), "it has to be a finite real number", hint)
    if not within_range(value):
        sizes = f"{1 / LARGEST_NUMBER:g} to {LARGEST_NUMBER:g} in size, or 0"
        raise InputError(argument, short_repr(value), f"it has to be {sizes}", hint)
    if value < at_least:
        raise InputError(argument, short_repr(value), f"it has to be at least {at_least:g}", hint)
    if value <= above:
        raise InputError(argument, short_repr(value), f"it has to be greater than {above:g}", hint)
    return float(value) if isinstance(value, Fraction) else value


def within_range(value: Any) -> bool:
    """Return whether a number is 0, or of a magnitude whose products neither overflow nor
    underflow.

    >>> within_range(0.5), within_range(0), within_range(1e-80), within_range(math.nan)
    (True, True, False, False)
    """
    return bool(value == 0 or SMALLEST_NUMBER <= abs(value) <= LARGEST_NUMBER)


def per_run_array(value: Any) -> Any:
    """Convert a list of numbers, one per run, to an array; return anything else unchanged.

    >>> per_run_array([0.1, 0.2]), per_run_array(0.1)
    (array([0.1, 0.2]), 0.1)
    """
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    array = kind in ("i", "u", "f") and value.ndim == 1 and value.size > 0
    numbers = isinstance(value, list) and value and all(map(is_number, value))
    if is_traced(value) or not (array or numbers):
        return value
    try:
        return np.asarray(value, dtype=np.float64)
    except OverflowError:  # a whole number beyond all floats
        return value


def finite_numbers(argument: str, value: Any, **bounds: Any) -> Any:
    """Check a finite real number within bounds, or an array of such numbers, one per run."""
    if type(value) is float:
        return finite_number(argument, value, **bounds)
    values = per_run_array(value)
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return finite_number(argument, value, **bounds)
    for number in values.tolist():
        finite_number(argument, number, **bounds)
    return values


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, or an array without axes; True and False are not.

    >>> is_number(0.5), is_number(np.array(2)), is_number(True), is_number("2")
    (True, True, False, False)
    """
    if type(value) in (float, int):  # isinstance with abstract classes is slower
        return True
    if isinstance(value, bool | np.bool_):
        return False
    # NumPy makes an array of objects from a Fraction, although it is a Real.
    without_axes = getattr(value, "ndim", None) == 0 and hasattr(value, "dtype")
    return isinstance(value, Real) or (without_axes and value.dtype.kind in "iuf")


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def shape_of(argument: str, value: Any) -> tuple[int, ...]:
    """Return the shape of a value as an array; refuse values without one, such as ragged lists."""
    try:
        return np.shape(value)
    except (TypeError, ValueError) as problem:
        received = f"{type(value).__name__} ({problem})"
        raise InputError(argument, received, "it has to be an array of real numbers") from None


def finite_array(argument: str, value: object, largest: float = LARGEST_NUMBER) -> np.ndarray:
    """Convert to a float64 array; refuse entries that are not finite or larger than ``largest``."""
    array = real_array(argument, value)
    if not is_usable(array, largest):
        usable = np.abs(array) <= largest
        where = tuple(int(i) for i in np.argwhere(~usable)[0])
        finite = np.isfinite(array[where])
        allowed = f"at most {largest:g} in size" if finite else "a finite number"
        received = f"{array[where]}{_at(where)}"
        raise InputError(argument, received, f"every entry has to be {allowed}")
    return array


def is_usable(array: np.ndarray, largest: float = LARGEST_NUMBER) -> bool:
    """Return whether all entries are finite and none exceeds ``largest`` in magnitude."""
    return bool((np.abs(array) <= largest).all())  # False for NaN


def real_array(argument: str, value: Any) -> np.ndarray:
    """Convert to a float64 array; NaN and infinity are allowed."""
    try:
        if value is None or np.iscomplexobj(value):  # NumPy would convert None to NaN
            raise TypeError("no real numbers")
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InputError(
            argument, f"{type(value).__name__} ({problem})", "it has to be an array of real numbers"
        ) from None
    return array


def increasing_array(
    argument: str, value: object, *, at_least: float = -np.inf, hint: str = ""
) -> np.ndarray:
    """Check an array of at least one finite number, in increasing order."""
    array = finite_array(argument, value)
    if array.ndim != 1 or not len(array) or np.any(np.diff(array) <= 0) or array[0] < at_least:
        from_where = "" if at_least == -np.inf else f" and must not be below {at_least:g}"
        allowed = f"numbers have to increase{from_where}"
        raise InputError(argument, f"{array.tolist()!r:.80}", allowed, hint)
    return array


def check_variables(argument: str, dataset: Any, *names: str, made_by: str) -> None:
    """Check that a Dataset has these variables or coordinates."""
    missing = [name for name in names if name not in getattr(dataset, "variables", ())]
    if missing:
        available = ", ".join(map(str, dataset.variables)) or "nothing"
        allowed = f"it has to have {', '.join(missing)}"
        raise InputError(argument, f"a Dataset with {available}", allowed, f"a result of {made_by}")


def epochs_to_record(
    argument: str, value: object, last: int, *, at_least_one: bool = True
) -> np.ndarray:
    """Check epochs: increasing whole numbers from 0, the start, to the last epoch."""
    epochs = finite_array(argument, value)
    if epochs.ndim != 1 or np.any(epochs != np.rint(epochs)) or np.any(np.diff(epochs) <= 0):
        allowed = "epochs are increasing whole numbers"
        raise InputError(argument, short_repr(value), allowed, f"{argument}=[0, 10, 100]")
    if epochs.size and (epochs[0] < 0 or epochs[-1] > last):
        allowed = f"epochs go from 0 to epochs = {last}"
        raise InputError(argument, f"{epochs[0]:g} … {epochs[-1]:g}", allowed)
    if at_least_one and not epochs.size:
        raise InputError(
            argument, "no epoch", "there has to be at least one epoch", f"{argument}=[0, 100]"
        )
    return epochs.astype(int)


def covariance_shape(argument: str, shape: tuple[int, ...], size: int | None) -> None:
    """Check that the last two axes are square, and of the given size if there is one."""
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] == 0:
        allowed = "the last two axes have to be square"
    elif size is not None and shape[-1] != size:
        allowed = f"the last two axes have to be {size} x {size}"
    else:
        return
    hint = f"pass shape (..., {size}, {size})" if size else "pass shape (..., n, n) with n >= 1"
    raise InputError(argument, f"shape {shape}", allowed, hint)


def covariance(
    argument: str, value: object, size: int | None = None, rounding: float = ROUNDING
) -> np.ndarray:
    """Check a covariance: finite, square, symmetric and positive semi-definite up to rounding."""
    array = finite_array(argument, value)
    covariance_shape(argument, array.shape, size)
    if is_plain_covariance(array):
        return array.copy()
    scale = np.max(np.abs(array), axis=(-2, -1), initial=0.0)
    if np.array_equal(array, np.swapaxes(array, -1, -2)):
        _positive_semidefinite(argument, array, rounding * scale)
        return array.copy()
    asymmetry = np.max(np.abs(array - np.swapaxes(array, -1, -2)), axis=(-2, -1), initial=0.0)
    if np.any(asymmetry > rounding * scale):
        where = _worst(asymmetry / np.where(scale > 0, scale, 1.0))
        raise InputError(
            argument,
            f"a matrix{_at(where)} that differs from its transpose by {asymmetry[where]:.3g}",
            "a covariance is symmetric",
            "(C + C.T) / 2 if the difference is a rounding error",
        )
    symmetric = 0.5 * (array + np.swapaxes(array, -1, -2))
    _positive_semidefinite(argument, symmetric, rounding * scale)
    return symmetric


def is_plain_covariance(array: np.ndarray) -> bool:
    """Return whether a square matrix passes `covariance` without any rounding, and its blocks too.

    It is symmetric, all entries are usable, and it has a Cholesky factor: most covariances.
    """
    if not is_usable(array) or not np.array_equal(array, array.swapaxes(-1, -2)):
        return False
    try:
        np.linalg.cholesky(array)
        return True
    except np.linalg.LinAlgError:
        return False


def _positive_semidefinite(argument: str, array: np.ndarray, allowed: np.ndarray) -> None:
    shift = (allowed + TINY)[..., None, None] * np.eye(array.shape[-1])
    try:  # ten times cheaper than eigenvalues, which are needed only for the message
        np.linalg.cholesky(array + shift)
        return
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(array)[..., 0]
    if np.any(lowest < -allowed):
        where = _worst(-lowest / np.where(allowed > 0, allowed, 1.0))
        raise InputError(
            argument,
            f"a matrix{_at(where)} with the negative eigenvalue {lowest[where]:.3g}",
            "a covariance is positive semi-definite (up to rounding)",
            "build it from weights, C = W @ W.T, or check that |C_ij| <= sqrt(C_ii C_jj)",
        )


def _worst(amount: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(np.argmax(amount), amount.shape))


def _at(where: tuple[int, ...]) -> str:
    return f" at index {where}" if where else ""
