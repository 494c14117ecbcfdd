"""Real processes: finished points stay and the result is the same, whatever is killed."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from studies import study

import tutelage as tl
from tutelage._checks import InputError
from tutelage.sweeps import cluster, engine, processes
from tutelage.sweeps.compute import Task

OVER = {"learning_rate": np.linspace(0.1, 1.0, 24).tolist(), "weight_decay": [0.0, 0.01]}
# Points that take seconds: after the first stored group most of them are left.
MANY = {"learning_rate": np.linspace(0.1, 1.0, 2000).tolist(), "weight_decay": [0.0, 0.01]}
TESTS = Path(__file__).parents[1]
SCRIPT = f"""
import json, sys
sys.path.insert(0, {str(TESTS)!r})
from studies import study
from tutelage.sweeps import groups
groups.GROUP_SECONDS = 0.2
over, store, workers = sys.argv[1:]
study(json.loads(over), store=store, workers=workers if ":" in workers else int(workers))
"""
# A worker of Dask that needs too much memory is ended, not paused.
NO_PAUSE = {"DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE": "False"}
# Seconds in which processes end that have lost what they worked for.
LIMIT_SECONDS = 60


@pytest.fixture(scope="module")
def whole():
    """The result of an undisturbed run in this process."""
    return study(OVER)


def same(made, whole):
    xr.testing.assert_identical(made.drop_attrs(), whole.drop_attrs())


def children(process):
    """All processes that a process has started, and those that these have."""
    import psutil

    try:
        return psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def workers_of(process):
    return [
        p for p in children(process) if lives(p) and "sweeps.processes" in " ".join(p.cmdline())
    ]


def lives(process):
    """Whether a process runs; a finished one whose exit code was not read does not."""
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def script(store, workers, over=OVER):
    """A sweep in a separate process, ended at the end of the block with all of its children."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(over), str(store), str(workers)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    everyone = []
    try:
        yield process
        everyone = children(process.pid)
    finally:
        for one in everyone:
            with contextlib.suppress(Exception):
                one.kill()
        process.kill()
        process.communicate()


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def groups_in(store):
    return len(list(store.glob("*.nc"))) if store.exists() else 0


def test_two_workers_give_the_bits_of_this_process(whole, tmp_path):
    same(study(OVER, workers=2, store=tmp_path / "study"), whole)
    same(tl.sweeps.load(tmp_path / "study"), whole)


@pytest.mark.parametrize("said", [None, "cuda"])
def test_processes_compute_on_cores_unless_a_gpu_is_asked_for_and_share_it(
    monkeypatch, tmp_path, said
):
    started = []

    async def start(*words, env, **options):
        started.append(env)
        raise OSError("no process")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    if said:
        monkeypatch.setenv("JAX_PLATFORMS", said)
    workers = processes.Processes(2, tmp_path)
    until(lambda: len(started) >= 2)
    workers.end()
    assert {env["JAX_PLATFORMS"] for env in started} == {said or "cpu"}
    assert started[0]["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def test_processes_that_do_not_start_are_reported_with_their_log(monkeypatch):
    monkeypatch.setattr(processes, "START", "raise SystemExit('no such module')")
    monkeypatch.setattr(processes, "MAX_FAILED_STARTS", 0)
    monkeypatch.setattr(engine, "POLL_SECONDS", 0.05)
    with pytest.raises(RuntimeError, match=r"workers do not start[\s\S]*no such module"):
        study(OVER, workers=2)


class Awkward(Exception):
    """An error that cannot be pickled and restored."""

    def __init__(self, one, two):
        super().__init__(one)


@pytest.mark.parametrize(
    "error", [pytest.param(ValueError("a value"), marks=pytest.mark.slow), Awkward("a value", 2)]
)
def test_an_error_of_a_computation_reaches_the_caller(tmp_path, error):
    def fails():
        raise error

    with processes.started(1) as workers:
        until(workers.present)
        future = workers.submit(workers.present()[0], fails, ())
        (finished,) = workers.wait([future], 60)
        with pytest.raises(processes.Raised) as raised:
            workers.result(finished)
    assert "a value" in str(raised.value.args[0])


def test_an_address_without_a_scheduler_and_missing_packages_are_refused(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        study(OVER, workers="tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'tutelage\[sweeps\]', or workers=2"):
        study(OVER, workers="tcp://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(InputError, match=r"pip install 'tutelage\[sweeps\]', or workers=1"):
        study(OVER, workers=2)


def test_a_worker_of_another_version_is_refused_by_name():
    ours = cluster.versions("online.evolve")
    cluster.check_same("tcp://a:1", ours, ours)
    for what in ours:
        with pytest.raises(InputError, match=f"worker tcp://a:1, which has {what} 0.0.1"):
            cluster.check_same("tcp://a:1", ours, {**ours, what: "0.0.1"})


def test_a_process_with_changed_sources_is_refused_by_name():
    ours = engine.versions_of_process()
    task, points = Task("spectra.negative_fraction", {}, None, None), []
    name = f"process {os.getpid()} of "
    with pytest.raises(InputError, match=f"worker {name}.*, which has tutelage"):
        engine.on_process({"tutelage": f"{ours['tutelage']} changed"}, task, points)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_worker_that_is_killed_is_replaced(whole, tmp_path, seed):
    store, chance = tmp_path / "study", random.Random(seed)
    with script(store, 2) as process:
        for _ in range(3):
            until(lambda: workers_of(process.pid) or process.poll() is not None)
            time.sleep(chance.uniform(0.0, 4.0))
            for one in workers_of(process.pid)[:1]:
                with contextlib.suppress(Exception):
                    one.kill()
        assert process.wait(300) == 0, process.stderr.read().decode()[-2000:]
    same(tl.sweeps.load(store), whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_call_goes_on_after_a_kill(whole, tmp_path, seed, workers):
    store, chance = tmp_path / "study", random.Random(seed)
    with script(store, workers) as process:
        until(lambda: groups_in(store) > 0)
        time.sleep(chance.uniform(0.0, 2.0))
        everyone = children(process.pid)
        process.kill()
        process.wait()
        until(lambda: not any(map(lives, everyone)), LIMIT_SECONDS)
    part = tl.sweeps.load(store)
    there = (part.failure == "").values
    assert there.any()
    assert np.array_equal(part.R.values[there], whole.R.values[there])
    same(study(OVER, store=store), whole)
    assert not list(store.glob(".*")), "the next writer removes what a killed one has left"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_at_once_with_what_was_finished(whole, tmp_path, workers):
    store = tmp_path / "study"
    with script(store, workers) as process:
        until(lambda: groups_in(store) > 0)
        everyone = children(process.pid)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        process.wait(LIMIT_SECONDS)
        assert time.monotonic() - begun < 20
        until(lambda: not any(map(lives, everyone)), LIMIT_SECONDS)
    same(study(OVER, store=store), whole)


@contextlib.contextmanager
def by_hand(*options, environment=()):
    """A scheduler and a worker, as started in two terminals."""
    dask = [sys.executable, "-m"]
    scheduler_options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with contextlib.ExitStack() as stack:

        def start(*command, **more):
            process = subprocess.Popen(
                [*dask, *command],
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more},
                text=True,
            )

            def end():
                everyone = children(process.pid)
                for one in (*everyone, process):
                    with contextlib.suppress(Exception):
                        one.kill()
                process.communicate()

            stack.callback(end)
            return process

        scheduler = start("distributed.cli.dask_scheduler", *scheduler_options)
        address = ""
        while not address:
            line = scheduler.stderr.readline()
            assert line, "no scheduler"
            address = line.split("at:")[1].strip() if "Scheduler at:" in line else ""
        worker = start(
            *("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"),
            *options,
            **dict(environment),
        )
        yield scheduler, worker, address


@pytest.mark.slow
def test_a_scheduler_and_a_worker_started_by_hand(whole, tmp_path):
    with by_hand() as (_, _, address):
        same(study(OVER, workers=address, store=tmp_path / "study"), whole)


@pytest.mark.slow
@pytest.mark.parametrize("late", [0.0, *random.Random(0).choices([0.05, 0.1, 0.2, 0.4], k=3)])
def test_a_scheduler_that_is_killed_loses_nothing(tmp_path, late):
    store = tmp_path / "study"
    with by_hand() as (scheduler, _, address), script(store, address, MANY) as process:
        until(lambda: groups_in(store) > 0)
        time.sleep(late)
        scheduler.kill()
        process.wait(LIMIT_SECONDS)
        assert process.returncode != 0
        assert b"the scheduler no longer answers" in process.stderr.read()
    same(study(MANY, store=store), study(MANY))


@pytest.mark.slow
def test_a_worker_with_other_code_is_refused_by_name(tmp_path):
    package = Path(tl.__file__).parent
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["cp", "-r", str(package), str(other / "tutelage")], check=True)
    with (other / "tutelage" / "model" / "timing.py").open("a") as file:
        file.write("# another version\n")
    path = os.pathsep.join([str(other), *(x for x in sys.path if not x.endswith("src"))])
    with (
        by_hand(environment={"PYTHONPATH": path}) as (_, _, address),
        pytest.raises(InputError, match=r"the worker tcp://127.* has tutelage 0\.1\.0 \("),
    ):
        study(OVER, workers=address)


@pytest.mark.slow
def test_a_point_that_exhausts_the_memory_of_its_worker_fails_alone():
    fields = {"few": np.linspace(-1, 1, 5), "many": np.linspace(-1, 1, 20_000_000)}
    over = {"fields": list(fields.values())}
    fixed = {"gate": tl.gates.Gate([0, 1]), "beta": 1.0}
    with (
        by_hand("--memory-limit", "900MB", environment=NO_PAUSE) as (_, _, address),
        pytest.warns(UserWarning, match="1 of 2 points failed"),
    ):
        run = tl.sweeps.run(tl.gates.thermodynamics, over, workers=address, **fixed)
    assert run.failure.values[0] == "" and "lack of memory" in str(run.failure.values[1])
