"""The pool of workers: assignment of requests, and ends of workers.

The processes here are small: they do what the state says and know nothing of physics.
"""

import asyncio
import subprocess
import sys
import time

import pytest

from tutelage.explorer import worker_pool
from tutelage.explorer.worker_pool import Cancelled, Job, Pool

SMALL = """
import sys, time, threading, os, queue
sys.path[:] = {path!r}
from tutelage.runs import frames
out, jobs = sys.stdout.buffer, queue.Queue()
def listen():
    try:
        while True:
            jobs.put(frames.read(sys.stdin.buffer)[0])
    except EOFError:
        os._exit(0)
threading.Thread(target=listen, daemon=True).start()
def send(header, body=b""):
    out.write(frames.packed(header, body)); out.flush()
send({{"kind": "ready"}})
while True:
    job = jobs.get()
    if "stop" in job:
        continue
    if job["state"].get("ends"):
        os._exit(9)
    for i in range(job["state"].get("tells", 0)):
        send({{"id": job["id"], "kind": "event", "event": "progress"}}, str(i).encode())
    time.sleep(job["state"].get("sleeps", 0))
    send({{"id": job["id"], "kind": "answer", "status": 200, "compiled": False}},
         str(os.getpid()).encode())
"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(worker_pool, "START", SMALL)


def job(task="picture", client="", slot="a", number=0, program="", send_event=None, **state):
    owner = (client, slot) if client else ("", str(time.perf_counter()))
    return Job(task, "online", state, owner, number, program, send_event=send_event)


def pooled(count):
    """Run a coroutine function with a pool."""

    def run(function):
        async def inside():
            pool = Pool(count)
            pool.start()
            try:
                while sum(worker.ready for worker in pool.workers) < count:
                    await asyncio.sleep(0.01)
                return await asyncio.wait_for(function(pool), 30)
            finally:
                await pool.close()

        return asyncio.run(inside())

    return run


def test_a_slow_request_does_not_block_others():
    async def both(pool):
        slow = asyncio.create_task(pool.ask(job(program="slow", sleeps=20)))
        await asyncio.sleep(0.05)
        quick = await pool.ask(job())
        slow.cancel()
        return quick

    assert pooled(2)(both).status == 200


def test_what_takes_long_never_has_the_last_process():
    async def three(pool):
        long = [asyncio.create_task(pool.ask(job("runs", sleeps=20))) for _ in range(2)]
        await asyncio.sleep(0.05)
        quick = await pool.ask(job())
        for task in long:
            task.cancel()
        return quick

    assert pooled(2)(three).status == 200


def test_the_process_that_knows_a_program_gets_it():
    async def four(pool):
        first = [await pool.ask(job(program=name)) for name in "ab"]
        second = [await pool.ask(job(program=name)) for name in "ab"]
        return [answer.body for answer in (*first, *second)]

    a, b, again_a, again_b = pooled(2)(four)
    assert a != b and again_a == a and again_b == b


def test_a_program_is_compiled_by_one_process_only():
    async def four(pool):
        asked = [pool.ask(job(program="a", sleeps=0.1)) for _ in range(4)]
        return {answer.body for answer in await asyncio.gather(*asked)}

    assert len(pooled(2)(four)) == 1


def test_a_process_with_many_programs_is_replaced(monkeypatch):
    monkeypatch.setattr(worker_pool, "MAX_COMPILED_PROGRAMS", 2)

    async def three(pool):
        return [(await pool.ask(job(program=name))).body for name in "abc"]

    a, b, c = pooled(1)(three)
    assert a == b != c


def test_a_newer_request_takes_the_place_of_an_older_one():
    async def dragging(pool):
        tasks = [asyncio.create_task(pool.ask(job(client="c", number=n, sleeps=0.05)))
                 for n in range(10)]  # fmt: skip
        result = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(Cancelled):
            await pool.ask(job(client="c", number=3))
        return result

    *older, newest = pooled(1)(dragging)
    assert newest.status == 200
    assert all(isinstance(answer, Cancelled) for answer in older)


def test_a_stale_request_is_ended_where_its_process_is_needed(monkeypatch):
    monkeypatch.setattr(worker_pool, "STALE_SECONDS", 0.1)

    async def dragging(pool):
        stale = asyncio.create_task(pool.ask(job(client="c", number=1, program="b", sleeps=20)))
        await asyncio.sleep(0.2)
        answer = await pool.ask(job(client="c", number=2, program="a"))
        with pytest.raises(Cancelled):
            await stale
        return answer

    begun = time.monotonic()
    assert pooled(1)(dragging).status == 200
    assert time.monotonic() - begun < 15


def test_nothing_takes_longer_than_it_may(monkeypatch):
    monkeypatch.setitem(worker_pool.LIMITS, "picture", 0.2)

    async def endless(pool):
        return await pool.ask(job(sleeps=20)), await pool.ask(job())

    slow, next_one = pooled(1)(endless)
    assert slow.status == 503 and b"longer than 0.2 s" in slow.body
    assert next_one.status == 200


def test_every_request_has_a_time_limit(monkeypatch):
    monkeypatch.setattr(worker_pool, "MAX_WAIT_SECONDS", 0.2)

    async def busy(pool):
        slow = asyncio.create_task(pool.ask(job(sleeps=20)))
        await asyncio.sleep(0.3)
        answer = await pool.ask(job())
        slow.cancel()
        return answer

    answer = pooled(1)(busy)
    assert answer.status == 503 and b"busy" in answer.body


def test_a_process_that_dies_is_replaced():
    async def twice(pool):
        return await pool.ask(job(ends=True)), await pool.ask(job())

    died, next_one = pooled(1)(twice)
    assert died.status == 503 and b"this ended" in died.body
    assert next_one.status == 200


def test_the_job_of_a_killed_process_is_retried_by_another():
    async def killed(pool):
        task = asyncio.create_task(pool.ask(job(sleeps=0.3)))
        await asyncio.sleep(0.05)
        (worker,) = pool.workers
        worker.process.kill()
        return worker.process.pid, await task

    pid, answer = pooled(1)(killed)
    assert answer.status == 200 and int(answer.body) != pid


async def killed(pool):
    """Kill all workers, and wait until they are replaced."""
    before = list(pool.workers)
    for worker in before:
        worker.process.kill()
    while any(worker in before for worker in pool.workers) or not pool.workers:
        await asyncio.sleep(0.01)


def test_a_slow_request_after_a_kill_is_refused_with_a_reason(monkeypatch):
    monkeypatch.setattr(worker_pool, "RECOVERY_SECONDS", 0.5)

    async def asked(pool):
        await killed(pool)
        begun = time.monotonic()
        late = await pool.ask(job(program="a", sleeps=3))
        seconds = time.monotonic() - begun
        # Its process goes on, and has what it compiled for the next request.
        (worker,) = pool.workers
        return late, seconds, await pool.ask(job(program="a")), worker.process.pid

    late, seconds, second, pid = pooled(1)(asked)
    assert late.status == 503 and b"have to compile this again" in late.body
    assert seconds < 2.5
    assert second.status == 200 and int(second.body) == pid


def test_a_slow_retry_of_a_killed_request_is_refused_with_a_reason(monkeypatch):
    monkeypatch.setattr(worker_pool, "RECOVERY_SECONDS", 0.5)

    async def asked(pool):
        task = asyncio.create_task(pool.ask(job(sleeps=20)))
        await asyncio.sleep(0.05)
        await killed(pool)
        return await task

    begun = time.monotonic()
    answer = pooled(1)(asked)
    assert answer.status == 503 and b"have to compile this again" in answer.body
    assert time.monotonic() - begun < 15


def test_without_a_kill_a_request_has_its_whole_time(monkeypatch):
    monkeypatch.setattr(worker_pool, "RECOVERY_SECONDS", 0.1)

    async def asked(pool):
        await killed(pool)
        return [await pool.ask(job()), await pool.ask(job(sleeps=0.5))]

    assert [answer.status for answer in pooled(1)(asked)] == [200, 200]


def test_processes_that_do_not_start_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(worker_pool, "START", "import time; time.sleep(20)")
    monkeypatch.setattr(worker_pool, "MAX_WAIT_SECONDS", 0.2)

    async def asked():
        pool = Pool(1)
        pool.start()
        try:
            return await asyncio.wait_for(pool.ask(job("details")), 10)
        finally:
            await pool.close()

    answer = asyncio.run(asked())
    assert answer.status == 503 and b"no process could be started" in answer.body


def test_networks_get_a_further_process_where_others_take_long(monkeypatch):
    """Networks have waited for minutes for the slow plateau of another page."""
    monkeypatch.setattr(worker_pool, "EXTRA_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(worker_pool, "EXTRA_IDLE_SECONDS", 0.2)

    async def asked(pool):
        plateau = asyncio.create_task(pool.ask(job("details", sleeps=60)))
        await asyncio.sleep(0.05)
        networks = asyncio.create_task(pool.ask(job("runs", client="c", sleeps=0.1)))
        await asyncio.sleep(0)
        why = pool.progress(("c", "a"))["message"]
        answer = await networks
        while len(pool.workers) > 2:
            await asyncio.sleep(0.01)
        plateau.cancel()
        return why, answer

    why, answer = pooled(2)(asked)
    assert why == "waiting for a process: the others compute a plateau"
    assert answer.status == 200


def test_a_process_that_has_ended_is_left_to_asyncio(monkeypatch):
    """Popen.poll takes its exit code, and asyncio prints "Unknown child process pid"."""
    polled = []

    async def ended(pool):
        (worker,) = pool.workers
        monkeypatch.setattr(subprocess.Popen, "poll", lambda self: polled.append(self.pid))
        worker.end("the first time")
        worker.end("and again")

    pooled(1)(ended)
    assert polled == []


def test_what_is_stopped_ends():
    message = []

    async def send_event(name, body):
        message.append(int(body))

    async def stopped(pool):
        task = asyncio.create_task(
            pool.ask(job("runs", client="c", send_event=send_event, tells=3, sleeps=20))
        )
        while len(message) < 3:
            await asyncio.sleep(0.01)
        assert pool.progress(("c", "a"))["state"] == "compiling"
        assert pool.stop(("c", "a")) == 1
        with pytest.raises(Cancelled):
            await task
        assert pool.progress(("c", "a"))["state"] == "idle"
        return await pool.ask(job())

    assert pooled(1)(stopped).status == 200
    assert message == [0, 1, 2]


def test_processes_end_with_the_server():
    async def pids(pool):
        return list(pool.workers)

    for worker in pooled(2)(pids):
        assert worker.process.returncode is not None


def test_memory_has_a_limit():
    code = "from tutelage.runs.worker_process import limit_memory as l; l(0.5); bytearray(2**31)"
    path = [part for part in sys.path if part]
    start = f"import sys; sys.path[:] = {path!r}; {code}"
    run = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True)
    assert "MemoryError" in run.stderr
