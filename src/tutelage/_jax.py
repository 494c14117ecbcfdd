"""JAX, compiler options and ranks of arrays: numerical modules import ``jax`` from here.

``import tutelage`` sets the precision before.  Compiler options apply to single functions: the
user's environment and compiled functions do not change.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata

__all__ = [
    "OLDER_GENERATOR",
    "ONE_KERNEL",
    "ROUNDED_ALONE",
    "UNOPTIMIZED",
    "WIDE_VECTORS",
    "has_wide_vectors",
    "jax",
    "jax_array",
    "jit_unoptimized",
    "jnp",
    "match_rank",
    "match_ranks",
    "numbers_to_arrays",
    "one_kernel",
    "ordered_sum",
    "ordered_sums",
    "rows_times_vectors",
    "small_product",
]

Tree = TypeVar("Tree")
Matrix = TypeVar("Matrix")
Summed = TypeVar("Summed", bound=jax.Array | np.ndarray)
Function = TypeVar("Function", bound=Callable[..., Any])

# The version of XLA for which the compiler options below were measured.
IS_MEASURED_VERSION = jaxlib.__version__.startswith("0.10.")

# The older of XLA's two code generators for processors makes equally fast code in half of the time:
# a first ReLU curve takes 5.1 CPU s instead of 8.7. XLA refuses unknown options, so this one is
# passed only to versions that have it.
OLDER_GENERATOR: dict[str, Any] = (
    {"xla_cpu_use_fusion_emitters": False} if IS_MEASURED_VERSION else {}
)
# Limited to AVX instructions, which have no fused multiply-add, XLA rounds every operation
# separately, in vector and in scalar code. A number then has the same digits at every position of
# an array of any length. Right-hand sides take the same time.
ROUNDED_ALONE: dict[str, Any] = {**OLDER_GENERATOR, "xla_cpu_max_isa": "AVX"}
# Vector instructions of 512 bits, which XLA uses only if it is asked to.
WIDE_VECTORS: dict[str, Any] = {"xla_cpu_prefer_vector_width": 512} if IS_MEASURED_VERSION else {}
# Optimization takes half to two thirds of the time of compilation, and makes a curve two to five
# times as fast.  Code is generated in one thread, which takes less processor time.
UNOPTIMIZED: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    **({"xla_cpu_parallel_codegen_split_count": 1} if IS_MEASURED_VERSION else {}),
}
# XLA compiles a program for processors into hundreds of small functions ("kernels"), each of which
# takes 40 ns to call.  A call with these attributes is compiled into one function.
ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"} if IS_MEASURED_VERSION else {}
# The number of multiplications up to which a product of two matrices is written out as a sum.
MAX_SUM_OF_PRODUCTS = 2048
# Whether sums are being compiled as additions in a fixed order (`ordered_sums`).
_has_ordered_sums: ContextVar[bool] = ContextVar("ordered_sums", default=False)
# The number of terms up to which such a sum is written out; more terms are a loop.
MAX_ADDITIONS = 64
# The option of JAX that selects where arrays are made.
DEVICE = "jax_default_device"
# Arrays of JAX by their contents, the largest number of them, and of entries of each.
_small_arrays: dict[tuple[Any, ...], jax.Array] = {}
MAX_CACHED_ARRAYS, MAX_CACHED_SIZE = 256, 256


def numbers_to_arrays(tree: Tree) -> Tree:
    """Convert numbers in a pytree to arrays, so that one compiled program serves all values.

    >>> numbers_to_arrays((0.5, "name"))
    (array(0.5), 'name')
    """
    return jax.tree.map(lambda x: np.asarray(x, dtype=np.float64) if _number(x) else x, tree)


def jax_array(array: np.ndarray) -> jax.Array:
    """Copy to an array of JAX without compiling; ``jnp.asarray`` compiles once per shape.

    Equal small arrays are one array: JAX takes 40 μs to make it, a quarter of the time of a
    scenario, and 100 μs after other work.

    >>> jax_array(np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if array.size > MAX_CACHED_SIZE:
        return jax.device_put(np.array(array))
    key = (array.tobytes(), array.dtype.str, array.shape, getattr(jax.config, DEVICE))
    cached = _small_arrays.get(key)
    if cached is None or cached.is_deleted():
        cached = jax.device_put(np.array(array))
        if isinstance(cached, jax.core.Tracer):  # inside a function that is being traced
            return cached
        if len(_small_arrays) >= MAX_CACHED_ARRAYS:
            _small_arrays.clear()
        _small_arrays[key] = cached
    return cached


def jit_unoptimized(
    function: Callable[..., Any], static: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """jit without XLA optimization, for functions that run only a few times.

    Optimization is most of the time of compiling.

    static: names of static arguments.

    >>> int(jit_unoptimized(lambda x: x + 1)(jnp.asarray(2)))
    3
    """
    options = {"xla_backend_optimization_level": 0} | OLDER_GENERATOR
    return jax.jit(function, static_argnames=static, compiler_options=options)


@cache
def has_wide_vectors() -> bool:
    """Return whether the processor has 512-bit vector registers and XLA is the measured version."""
    try:
        return IS_MEASURED_VERSION and "avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return False


def one_kernel(function: Function) -> Function:
    """Compile a function of arrays into one kernel, on processors.

    XLA refuses ("UNIMPLEMENTED") to compile functions that do not fit into one kernel, such as
    products of matrices that it leaves to a library (`small_product`).

    >>> float(one_kernel(lambda x: jnp.sum(x * x))(jnp.arange(3.0)))
    5.0
    """

    def inside(*arguments: Any) -> Any:
        with set_xla_metadata(**dict.fromkeys(ONE_KERNEL)):  # not on every operation inside it
            return function(*arguments)

    def called(*arguments: Any) -> Any:
        with set_xla_metadata(**ONE_KERNEL):
            return jax.jit(inside)(*arguments)

    return called  # type: ignore[return-value]


@contextmanager
def ordered_sums() -> Iterator[None]:
    """Compile `ordered_sum` and `small_product` as additions in a fixed order.

    XLA lets LLVM reorder the additions of a reduction.  In a kernel of several runs it does so
    differently for each run, and the digits of a run then depend on its position.
    """
    token = _has_ordered_sums.set(True)
    try:
        yield
    finally:
        _has_ordered_sums.reset(token)


def ordered_sum(x: Summed, axis: int, keepdims: bool = False) -> Summed:
    """Sum along one axis; inside `ordered_sums` by additions, the first terms first.

    >>> with ordered_sums():
    ...     ordered_sum(jnp.arange(6.0).reshape(2, 3), axis=-1).tolist()
    [3.0, 12.0]
    """
    terms: Any = x  # of the same kind as their sum
    count = terms.shape[axis]
    if not _has_ordered_sums.get() or isinstance(x, np.ndarray) or not count:
        return terms.sum(axis=axis, keepdims=keepdims)

    def term(k: Any) -> Any:
        return jax.lax.dynamic_index_in_dim(terms, k, axis, keepdims)

    if count <= MAX_ADDITIONS:
        terms = [jax.lax.index_in_dim(terms, k, axis, keepdims) for k in range(count)]
        return reduce(add, terms)
    return jax.lax.fori_loop(1, count, lambda k, total: total + term(k), term(0))


def small_product(A: Matrix, B: Any) -> Matrix:
    """Return the product of two matrices, of NumPy or JAX; a small one as a sum of products.

    XLA leaves products of matrices to a library, which takes longer to call than a small sum.

    >>> small_product(np.eye(2), np.ones((2, 3))).shape
    (2, 3)
    """
    a, b = match_ranks(A, B)
    is_small = math.prod(a.shape[-2:]) * b.shape[-1] <= MAX_SUM_OF_PRODUCTS
    if not is_small:
        return a @ b
    product: Any = ordered_sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)
    return product


def rows_times_vectors(A: Any, x: Any) -> Any:
    """Return A x for vectors x on the last axis; for one vector as one product.

    XLA compiles this product to vector instructions, also inside a kernel (`one_kernel`): it takes
    a quarter of the time of `small_product`.

    >>> rows_times_vectors(np.ones((2, 3)), jnp.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    if math.prod(x.shape[:-1]) == 1 and not _has_ordered_sums.get():
        return (A @ x.reshape(-1)).reshape(*x.shape[:-1], -1)
    return small_product(x[..., None, :], A.T)[..., 0, :]


def match_rank(x: Any, like: Any) -> Any:
    """Add leading axes of length 1 to x until it has the rank of ``like``; NumPy or JAX.

    Numbers, and arrays with as many axes or more, are returned unchanged.

    >>> match_rank(np.arange(3.0), np.ones((4, 2, 3))).shape
    (1, 1, 3)
    """
    missing = np.ndim(like) - np.ndim(x) if np.ndim(x) else 0
    return x.reshape((1,) * missing + x.shape) if missing > 0 else x


def match_ranks(*arrays: Any) -> list[Any]:
    """Add leading axes of length 1, so that all arrays have the same rank; scalars stay scalars.

    >>> [x.shape for x in match_ranks(np.ones(3), np.ones((2, 1)))]
    [(1, 3), (2, 1)]
    """
    largest = max(arrays, key=np.ndim)
    return [match_rank(x, largest) for x in arrays]


def _number(x: object) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
