"""Inputs ξ of the examples: Gaussian, ±1, uniform, or rows of an array.

The theory holds for N → ∞ if the components of ξ are independent with mean 0 and variance 1: then
the fields are Gaussian with the covariance [[Q, R], [Rᵀ, T]], whatever else the components are, and
ε_g follows from the overlaps.  Of rows nothing is assumed: the error on them is measured.
"""

import abc
import math

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from tutelage._checks import InputError, finite_array
from tutelage._given import ArrayLike, CheckedInside
from tutelage._jax import jax, jnp


class Inputs(eqx.Module):
    """A distribution of inputs."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], N: int) -> Float[Array, " N"]:
        """Draw one input of N components."""


class Gaussian(Inputs):
    """ξ_j ~ N(0, 1)."""

    def draw(self, key: Key[Array, ""], N: int) -> Float[Array, " N"]:
        return jax.random.normal(key, (N,))


class Sign(Inputs):
    """ξ_j = ±1 with equal probability: the bits of ⌈N/32⌉ random words."""

    def draw(self, key: Key[Array, ""], N: int) -> Float[Array, " N"]:
        words = jax.random.bits(key, (-(-N // 32), 1), jnp.uint32)
        bits = (words >> jnp.arange(32, dtype=jnp.uint32)[None]) & 1
        return 1.0 - 2.0 * bits.reshape(-1)[:N].astype(float)


class Uniform(Inputs):
    """ξ_j uniform between -√3 and √3, which has variance 1."""

    def draw(self, key: Key[Array, ""], N: int) -> Float[Array, " N"]:
        return jax.random.uniform(key, (N,), minval=-math.sqrt(3.0), maxval=math.sqrt(3.0))


class Rows(Inputs):
    """ξ is a row of an array; all rows have the same probability, and draws are independent."""

    array: Float[Array, "rows N"]

    def draw(self, key: Key[Array, ""], N: int) -> Float[Array, " N"]:
        return self.array[jax.random.randint(key, (), 0, len(self.array))]


NAMED: dict[str, Inputs] = {"gaussian": Gaussian(), "sign": Sign(), "uniform": Uniform()}


def as_inputs(inputs: CheckedInside[str | ArrayLike], N: int) -> Inputs:
    """Convert a name, or an array of shape (rows, N), to `Inputs`.

    >>> as_inputs("sign", 100)
    Sign()
    """
    if isinstance(inputs, str):
        if inputs not in NAMED:
            allowed = f"it has to be one of {', '.join(NAMED)}, or an array of shape (rows, {N})"
            raise InputError("inputs", repr(inputs), allowed, 'inputs="gaussian"')
        return NAMED[inputs]
    array = finite_array("inputs", inputs)
    if array.ndim != 2 or len(array) == 0 or array.shape[1] != N:
        raise InputError(
            "inputs",
            f"an array of shape {array.shape}",
            f"its shape has to be (rows, {N}), as dimension = {N}",
            f"dimension={array.shape[1]}" if array.ndim == 2 else "one input in each row",
        )
    return Rows(jnp.asarray(np.ascontiguousarray(array)))
