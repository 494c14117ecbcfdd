"""Double precision does not depend on who imports JAX first, or on how an average is called."""

import subprocess
import sys

import pytest

JAX_FIRST = "import jax, tutelage as tl"
TUTELAGE_FIRST = "import tutelage as tl, jax"
CHECKS = """
import jax.numpy as jnp

C = jnp.asarray([[1.0, 0.5], [0.5, 2.0]])
assert C.dtype == jnp.float64, "the user's own arrays"

def average(C):
    return tl.averages.i2(tl.ReLU(), C)

exact = (7**0.5 / 2 + 0.5 * (jnp.pi / 2 + jnp.arctan(1 / 7**0.5))) / (2 * jnp.pi)
slope = jax.jit(jax.grad(average))(C)
for value in (average(C), jax.jit(average)(C), *jax.jit(jax.vmap(average))(jnp.stack([C, C]))):
    assert value.dtype == jnp.float64
    assert abs(value - exact) < 1e-15
assert slope.dtype == jnp.float64
assert jax.jit(lambda C: tl.averages.i4(tl.ReLU(), C))(jnp.eye(4)).dtype == jnp.float64
"""


@pytest.mark.parametrize("imports", [JAX_FIRST, TUTELAGE_FIRST], ids=["jax first", "jax last"])
def test_everything_is_float64_in_a_fresh_process(imports):
    """In 32 bits ⟨u₊ w₊⟩ would be wrong in the eighth digit."""
    program = subprocess.run(
        [sys.executable, "-c", imports + CHECKS], capture_output=True, text=True
    )
    assert program.returncode == 0, program.stderr
