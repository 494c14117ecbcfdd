"""Every test runs in float64, with warnings as errors and examples that repeat.

`tutelage._jax` is imported before any test makes an array; hypothesis draws the same
examples on every machine, and does not time them, because the first call compiles. What was
compiled is kept for the other test process and for the next run, in .pytest_cache/jax.
"""

import os
import sys

import hypothesis
import made_up_paper
import pytest

from tutelage import cli
from tutelage._jax import jax

os.environ["MPLBACKEND"] = "Agg"  # pictures go to no window
hypothesis.settings.register_profile("tutelage", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tutelage")


def pytest_configure(config: pytest.Config) -> None:
    """Most of the time of a first run is compilation, most of it of small functions."""
    jax.config.update("jax_compilation_cache_dir", str(config.rootpath / ".pytest_cache/jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_report_header() -> str:
    return f"jax {jax.__version__} on {jax.default_backend()}, float64: {jax.config.x64_enabled}"


@pytest.fixture
def run(monkeypatch, capsys):
    """Call ``tutelage`` with arguments; returns exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tutelage", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def made(monkeypatch):
    """A made-up paper in the place of all others; it counts what is computed."""
    return made_up_paper.install(monkeypatch)
