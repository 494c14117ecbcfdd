"""JAX with its compiler set: every numerical module imports ``jax`` and ``jnp`` from here.

The precision is settled before that, by ``import tutelage``.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import jaxlib

# The older of XLA's two code generators for processors makes code that is as fast and takes half
# the time to do it: seconds for an exact right-hand side.  An unknown flag would end the program,
# so it is set for the versions that are known to have it, and not over a choice of the user's.
_FLAG = "--xla_cpu_use_fusion_emitters"
if jaxlib.__version__.startswith("0.10.") and _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{_FLAG}=false {os.environ.get('XLA_FLAGS', '')}".strip()

import jax  # noqa: E402  (reads the flags)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

__all__ = ["as_data", "hardly_used", "jax", "jnp"]

Tree = TypeVar("Tree")


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


def _number(x: object) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
