"""JAX in float64: the one place where precision is chosen.

Every numerical module imports ``jax`` and ``jnp`` from here, so that no array of
the package is ever made in single precision.
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

__all__ = ["jax", "jnp"]
