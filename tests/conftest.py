"""Every test runs in float64, with warnings as errors and examples that repeat.

`tutelage._jax` is imported before any test makes an array; hypothesis draws the same
examples on every machine, and does not time them, because the first call compiles. What was
compiled is kept for the other test process and for the next run, in .pytest_cache. In the
process of the tests all functions are traced: a test may have changed what they call.
Annotations are checked (`annotation_checks`).
"""

import contextlib
import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import annotation_checks  # the first import: modules imported after it are checked
import hypothesis
import made_up_paper
import psutil
import pytest
import strict_json
from jax._src.interpreters import mlir
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tutelage import cli
from tutelage._jax import jax
from tutelage.runs import program_store, progress, stored_jit

# It checks what is imported after it, and has no doctests.
collect_ignore = ["annotation_checks.py"]
os.environ["MPLBACKEND"] = "Agg"  # pictures go to no window
# A process in the background ignores Ctrl-C, and so would all commands that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
progress.FIRST_LINE_SECONDS = 1e6  # output does not depend on the speed of the machine
# Of each of two test processes, before it forgets its compiled programs, which takes five seconds.
MAX_BYTES = psutil.virtual_memory().total / 5
hypothesis.settings.register_profile("tutelage", deadline=None, derandomize=True)
hypothesis.settings.load_profile("tutelage")


make_context = mlir.make_ir_context
shared_context = functools.cache(make_context)


def context_of_a_file() -> mlir.ir.Context:
    """Return one MLIR context for all programs of a file, because a new one takes a tenth of the
    time of a small program.  Programs that are compiled while another one is lowered, or in another
    thread, have separate contexts.
    """
    alone = threading.current_thread() is threading.main_thread() and not is_lowering()
    return shared_context() if alone else make_context()


def is_lowering() -> bool:
    try:
        return mlir.ir.Context.current is not None
    except ValueError:  # older versions, outside of any context
        return False


def pytest_configure(config: pytest.Config) -> None:
    """Most of the time of a first run is compilation; small programs are not worth a file."""
    jax.config.update("jax_compilation_cache_dir", str(config.rootpath / ".pytest_cache/jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    os.environ[program_store.SWITCH] = str(config.rootpath / ".pytest_cache/programs")
    program_store.is_on = functools.update_wrapper(lambda: False, program_store.is_on)
    mlir.make_ir_context = context_of_a_file
    stored_jit.MAY_BEGIN_UNOPTIMIZED = False  # XLA_FLAGS turn optimization off


def in_large_frame(config: pytest.Config) -> Any:
    return config.hook.pytest_cmdline_main(config=config)


in_large_frame.__code__ = in_large_frame.__code__.replace(co_stacksize=2**17)
IS_LARGE = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Any:
    """Frames of Python lie in pieces of 16 kB: a call across the end of one takes a new piece from
    the system, and its return gives it back, as often as it is made.  A frame that asks for a
    megabyte gets two in one piece, and the frames of all that it calls lie in the second one.
    """
    if IS_LARGE in config.stash:
        return None
    config.stash[IS_LARGE] = True
    return in_large_frame(config)


# Examples of docstrings that take seconds, most of it compilation: they run with the slow tests.
SLOW_EXAMPLES = {
    "tutelage.equilibrium.general.minima.minima",
    "tutelage.equilibrium.sampling.sample.hysteresis",
    "tutelage.online.best.control.best_control",
    "tutelage.online.best.tracking.best_tracking",
    "tutelage.online.stationary.branches.branch",
    "tutelage.online.stationary.critical_rates.critical_learning_rates",
    "tutelage.online.stationary.landscape_added.added_unit",
    "tutelage.online.stationary.plateaus.plateau",
    "tutelage.online.symmetric.trajectory.evolve_symmetric",
    "tutelage.papers.reproduce",
    "tutelage.sweeps.study.run",
}


class ByFolder(LoadScopeScheduling):
    """The tests of a folder share what they compile: they stay in one process."""

    def _split_scope(self, nodeid: str) -> str:
        folder, file = os.path.split(nodeid.partition("::")[0])
        if folder.startswith("src"):  # doctests
            return "src"
        return file if folder == "tests" else folder


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFolder | None:
    return ByFolder(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Ranks and types are explicit in the tests of every package: no promotion is silent there."""
    annotation_checks.begin_test()
    first, *rest = item.path.relative_to(item.config.rootpath).parts
    strict = first == "tests" and len(rest) > 1
    jax.config.update("jax_numpy_rank_promotion", "raise" if strict else "allow")
    jax.config.update("jax_numpy_dtype_promotion", "strict" if strict else "standard")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Doctests of the sources, which come after the tests, run with the settings of a user's
    session.
    """
    jax.config.update("jax_numpy_rank_promotion", "allow")
    jax.config.update("jax_numpy_dtype_promotion", "standard")


def pytest_sessionfinish() -> None:
    """A process that ends collects no garbage: pytest and Python would go through all objects."""
    gc.freeze()


def pytest_report_header() -> str:
    return (
        f"jax {jax.__version__} on {jax.default_backend()}, float64: {jax.config.x64_enabled}, "
        f"annotations checked by {annotation_checks.CHECKER}"
    )


@pytest.fixture(autouse=True, scope="module")
def bounded_memory() -> None:
    """Forget compiled programs when they fill the memory, and exclude the objects before a file
    from garbage collection, because JAX keeps many.
    """
    shared_context.cache_clear()
    if psutil.Process().memory_info().rss > MAX_BYTES:
        gc.unfreeze()
        jax.clear_caches()
        for function in filter(is_stored_function, gc.get_objects()):
            function.programs.clear()
        gc.collect()
        return_free_memory()
    gc.freeze()


def is_stored_function(value: object) -> bool:
    return type(value) is stored_jit.StoredFunction


def return_free_memory() -> None:
    """To the system, which the memory allocator of Linux does not do by itself: without it
    each file of tests would find the memory full and forget its programs anew.
    """
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def run(monkeypatch, capsys):
    """Call ``tutelage`` with arguments; returns exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tutelage", *arguments])
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        interrupted = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        finally:  # which the command has changed for its process, and this is another
            signal.signal(signal.SIGINT, interrupted)
        captured = capsys.readouterr()
        if "--json" in arguments and captured.out:
            strict_json.check(captured.out)
        return exit_.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 64 kB; where this user cannot mount one, the test is skipped."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    try:
        run = subprocess.run(mount, capture_output=True)
    except OSError:
        pytest.skip("there is no command mount")
    if run.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def paper(monkeypatch):
    """A made-up paper that replaces all papers; it counts the computed sections."""
    return made_up_paper.install(monkeypatch)
