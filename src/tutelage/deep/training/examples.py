"""Sources of inputs: a distribution, or rows of an array."""

from typing import Any

import equinox as eqx
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, Key

from tutelage._checks import InputError, finite_number
from tutelage._given import ArrayLike, CheckedInside
from tutelage._jax import jax, jnp
from tutelage.deep.network import check_examples


def written(number: float) -> str:
    """Format with the fewest digits that determine a float64.

    >>> written(10.0), written(1 / 3)
    ('10', '0.3333333333333333')
    """
    return repr(float(number)).removesuffix(".0")


class InputSource(eqx.Module):
    """A distribution of inputs."""

    @property
    def name(self) -> str:
        """Name in results."""
        raise NotImplementedError

    def draw(
        self, key: Key[Array, ""], numbers: Int[Array, " n"], inputs: int, dtype: DTypeLike = float
    ) -> Float[Array, "examples inputs"]:
        """Draw the examples with given numbers, inside compiled code."""
        keys = jax.vmap(lambda s: jax.random.fold_in(key, s))(numbers.astype(jnp.uint32))
        return jax.vmap(lambda k: self._one(k, inputs).astype(dtype))(keys)

    def sample(self, random: np.random.Generator, count: int, inputs: int) -> np.ndarray:
        """Draw a set of examples in float32, without compilation."""
        raise NotImplementedError

    def _one(self, key: Key[Array, ""], inputs: int) -> Any:
        """Draw one example in float32.

        24 random bits take a third of the time of 53: inputs are data, computed with in float64.
        """
        raise NotImplementedError


class GaussianSource(InputSource):
    """x ~ N(0, σ²), σ = 10 in the paper."""

    σ: float = eqx.field(default=10.0, converter=float)

    @property
    def name(self) -> str:
        return f"gaussian:{written(self.σ)}"

    def sample(self, random: np.random.Generator, count: int, inputs: int) -> np.ndarray:
        return np.float32(self.σ) * random.standard_normal((count, inputs), np.float32)

    def _one(self, key: Key[Array, ""], inputs: int) -> Any:
        return jnp.float32(self.σ) * jax.random.normal(key, (inputs,), jnp.float32)


class UniformSource(InputSource):
    """x uniform on [-a, a], a = 15 in the paper (Figure 12)."""

    a: float = eqx.field(default=15.0, converter=float)

    @property
    def name(self) -> str:
        return f"uniform:{written(self.a)}"

    def sample(self, random: np.random.Generator, count: int, inputs: int) -> np.ndarray:
        return np.float32(self.a) * (2 * random.random((count, inputs), np.float32) - 1)

    def _one(self, key: Key[Array, ""], inputs: int) -> Any:
        return jnp.float32(self.a) * jax.random.uniform(key, (inputs,), jnp.float32, -1.0, 1.0)


class RowSource(InputSource):
    """Rows of an array as a fixed set; a sample is rows drawn at random."""

    array: Float[Array, "rows inputs"]

    @property
    def name(self) -> str:
        return f"array of shape {self.array.shape}"

    def sample(self, random: np.random.Generator, count: int, inputs: int) -> np.ndarray:
        return np.asarray(self.array)[random.integers(len(self.array), size=count)]


KINDS: dict[str, type[GaussianSource] | type[UniformSource]] = {
    "gaussian": GaussianSource,
    "uniform": UniformSource,
}


def as_examples(data: CheckedInside[str | ArrayLike], inputs: int) -> InputSource:
    """Make examples from a name, as "gaussian", "gaussian:3" or "uniform:1", or from an array.

    >>> as_examples("uniform:2", 5).name
    'uniform:2'
    """
    if isinstance(data, InputSource):
        return data
    if isinstance(data, str):
        kind, _, width = data.partition(":")
        try:
            examples = KINDS[kind](*([float(width)] if width else []))
        except (KeyError, ValueError):
            allowed = f"it has to be one of {', '.join(KINDS)}, or an array"
            raise InputError("data", repr(data), allowed, '"gaussian:10"') from None
        finite_number("data", float(width or 1.0), above=0.0, hint='"gaussian:10"')
        return examples
    return RowSource(jnp.asarray(check_examples("data", data, inputs)))
