"""JAX and two ways to compile: every numerical module imports ``jax`` and ``jnp`` from here.

The precision is settled before that, by ``import tutelage``.  Compiler options are those of single
functions: the environment of the user's process, and the programs the user compiles, stay as
they are.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

__all__ = ["as_data", "hardly_used", "jax", "jit_older_generator", "jnp"]

Tree = TypeVar("Tree")
Function = TypeVar("Function", bound=Callable[..., Any])

# The older of XLA's two code generators for processors makes code that is as fast, in half of the
# time: a first ReLU curve takes 5.1 CPU s instead of 8.7.  XLA refuses an option that it does not
# know, so it is given to the versions that are known to have it.
OLDER_GENERATOR: dict[str, Any] = (
    {"xla_cpu_use_fusion_emitters": False} if jaxlib.__version__.startswith("0.10.") else {}
)


def as_data(tree: Tree) -> Tree:
    """The same with its numbers as arrays: a program compiled for one serves all values.

    >>> as_data((0.5, "name"))
    (array(0.5), 'name')
    """
    return jax.tree.map(lambda x: np.asarray(x, dtype=np.float64) if _number(x) else x, tree)


def hardly_used(function: Callable[..., Any], static: tuple[str, ...] = ()) -> Callable[..., Any]:
    """`jax.jit` for what runs a few times: it is not made fast, which is most of compiling it.

    static: names of arguments of which every value is another program.

    >>> int(hardly_used(lambda x: x + 1)(jnp.asarray(2)))
    3
    """
    options = {"xla_backend_optimization_level": 0}
    return jax.jit(function, static_argnames=static, compiler_options=options)


def jit_older_generator(function: Function) -> Function:
    """`eqx.filter_jit` with `OLDER_GENERATOR`, for large programs such as right-hand sides.

    Not for a function that is called inside another ``jit`` or ``grad``: JAX allows compiler
    options for whole programs only.

    >>> float(jit_older_generator(lambda x: x * x)(jnp.asarray(3.0)))
    9.0
    """
    return eqx.filter_jit(function, compiler_options=OLDER_GENERATOR)  # type: ignore[call-overload]


def _number(x: object) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
