"""Double precision does not depend on who imports JAX first, or on how an average is called."""

import subprocess
import sys

import jax
import pytest

import tutelage as tl
from tutelage._checks import InputError

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
assert jax.jit(lambda C: tl.averages.i4(tl.Erf(), C))(jnp.eye(4)).dtype == jnp.float64
"""


@pytest.mark.parametrize(
    "imports",
    [JAX_FIRST, pytest.param(TUTELAGE_FIRST, marks=pytest.mark.slow)],
    ids=["jax first", "jax last"],
)
def test_everything_is_float64_in_a_fresh_process(imports):
    """In 32 bits ⟨u₊ w₊⟩ would be wrong in the eighth digit."""
    program = subprocess.run(
        [sys.executable, "-c", imports + CHECKS], capture_output=True, text=True
    )
    assert program.returncode == 0, program.stderr


UNCHANGED = """
import os, sys
before = dict(os.environ)
import tutelage as tl
assert "jax" not in sys.modules
assert dict(os.environ) == before
import importlib.util
importlib.util.find_spec("jax")  # as libraries do that look for JAX
finders = len(sys.meta_path)
import jax.numpy as jnp
assert len(sys.meta_path) == finders - 1, "nothing is left behind"
assert jnp.zeros(1).dtype == jnp.float64
"""
UNCHANGED_AFTER_JAX = """
import os, jax
before, finders = dict(os.environ), list(__import__("sys").meta_path)
import tutelage as tl
from tutelage import averages, equilibrium, online, simulation, spectra
one = tl.Committee(1, tl.Erf())
tl.generalization_error(tl.Scenario(one, one), tl.Overlaps(Q=[[1.0]], R=[[0.5]], T=[[1.0]]))
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
assert __import__("sys").meta_path == finders
"""


@pytest.mark.parametrize("program", [UNCHANGED, UNCHANGED_AFTER_JAX], ids=["jax last", "jax first"])
def test_the_environment_of_the_process_is_not_changed(program):
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_float64_that_was_switched_off_is_asked_for():
    scenario = tl.Scenario(tl.Committee(1, tl.Erf()), tl.Committee(1, tl.Erf()))
    start = tl.Overlaps(Q=[[1.0]], R=[[0.5]], T=[[1.0]])
    words = r'float64.*Try: jax\.config\.update\("jax_enable_x64", True\)'
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(InputError, match=words):
            tl.generalization_error(scenario, start)
        with pytest.raises(InputError, match=words):
            tl.online.evolve(scenario, start, 0.5, until=1.0)
        with pytest.raises(InputError, match=words):
            tl.averages.i2(tl.Erf(), [[1.0, 0.5], [0.5, 1.0]])
    finally:
        jax.config.update("jax_enable_x64", True)
    tl.generalization_error(scenario, start)
