"""κ of erf and |x|, with three derivatives: ``oostwal2019`` Appendix B at norms one.

    erf(x/√2):   κ(ρ) = (2/π) asin(ρ/2)                     (eq. (26))
    |x|:         κ(ρ) = (2/π) [√(1−ρ²) + ρ asin ρ]          (eq. (27), without its linear part)

NumPy arrays give NumPy arrays, and JAX's JAX's.
"""

import math
from typing import Any

import numpy as np

from tutelage._jax import jax, jnp


def erf_kernel(rho: Any, derivative: int = 0) -> Any:
    """(2/π) asin(ρ/2), differentiated up to three times."""
    square = 4 - rho**2
    if derivative == 0:
        return 2 / math.pi * _module(rho).arcsin(rho / 2)
    numerator = {1: 1.0, 2: rho, 3: 2 * (2 + rho**2)}[derivative]
    return 2 / math.pi * numerator / square ** (derivative - 0.5)


def modulus_kernel(rho: Any, derivative: int = 0) -> Any:
    """(2/π) [√(1−ρ²) + ρ asin ρ], differentiated up to three times; infinite at ±1 from two on."""
    xp, square = _module(rho), (1 - rho) * (1 + rho)
    if derivative == 0:
        return 2 / math.pi * (xp.sqrt(square) + rho * xp.arcsin(rho))
    if derivative == 1:
        return 2 / math.pi * xp.arcsin(rho)
    with np.errstate(divide="ignore"):
        return 2 / math.pi * (1.0 if derivative == 2 else rho) / square ** (derivative - 1.5)


def _module(x: Any) -> Any:
    return jnp if isinstance(x, jax.Array) else np
