"""Figure 8 of tian2020 at full size, on a machine with a graphics processor.

    PYTHONPATH=src python benchmarks/gpu/cifar10.py --data FOLDER --kept build/cifar/kept --out OUT

needs JAX, NumPy and optax.  What is kept lets the same command go on after it was interrupted, or
after --seconds; OUT gets results.npz and log.jsonl.  On a machine with all of tutelage,

    PYTHONPATH=src python benchmarks/gpu/cifar10.py --dataset OUT/results.npz cifar10.nc

makes the Dataset that `tutelage.papers.tian2020.drawing_images` draws.  --probe times epochs of
the widest student on random images; --tiny tries everything at a size for a processor.
"""

import argparse
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np

BEGUN = time.monotonic()


class TimeIsUp(Exception):
    """Raised between two epochs."""


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="archive or folder of CIFAR-10")
    parser.add_argument("--out", type=Path, default=Path("build/cifar/out"))
    parser.add_argument("--kept", type=Path, default=Path("build/cifar/kept"))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--teacher-epochs", type=int, default=60)
    parser.add_argument("--tuning-epochs", type=int, default=20)
    parser.add_argument("--learning-rate", type=float, default=0.004)
    parser.add_argument("--same-rate", action="store_true", help="not divided by the multiple")
    parser.add_argument("--multiples", type=int, nargs="+", default=[1, 2, 5])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--keep", type=float, default=0.75)
    parser.add_argument("--precision", default="auto", help="float32, bfloat16, or as probed")
    parser.add_argument("--previous", type=Path, help="results.npz: what it has is not repeated")
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--dataset", nargs=2, metavar=("RESULTS.npz", "FILE.nc"))
    return parser.parse_args()


class Log:
    """One line for each epoch, and all results so far in one file."""

    def __init__(self, given):
        given.out.mkdir(parents=True, exist_ok=True)
        self._given, self._students, self._head = given, {}, {}
        self._last, self._written = time.monotonic(), 0.0

    def watch(self, stage, epoch, measured):
        now = time.monotonic()
        numbers = {name: float(x) for name, x in measured.items() if np.ndim(x) == 0}
        for name, x in measured.items():
            if name.startswith("teacher_correlation_"):
                numbers[f"rho_{name[-1]}"] = round(float(np.mean(x)), 4)
        line = {"stage": stage, "epoch": epoch, "seconds": round(now - self._last, 3), **numbers}
        with (self._given.out / "log.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        if epoch in (1, 2) or epoch % 10 == 0:
            print(json.dumps(line), flush=True)
        self._last = now
        if now - BEGUN > self._given.seconds:
            raise TimeIsUp(f"{stage}, epoch {epoch}")

    def head(self, **content):
        self._head |= content

    def student(self, multiple, run, measured):
        for name, array in measured.items():
            self._students[f"{multiple}.{run}.{name}"] = array
        np.savez_compressed(self._given.out / "results.npz", **self._head, **self._students)


def study(given, log):
    from tutelage.deep.images.cifar import cifar10
    from tutelage.deep.images.study import LEARNING, PRETRAINING, TUNING, ImageStudy

    images, hidden, multiples = cifar10(given.data), "64-64-64-64", given.multiples
    if given.tiny:
        images, hidden, multiples = images.part(256, 100), "4-4-4-4", (1, 2)
    common = {"batch": given.batch, "precision": precision(given)}
    work = ImageStudy(
        images,
        hidden,
        keep=given.keep,
        pretraining=PRETRAINING._replace(epochs=given.teacher_epochs, **common),
        tuning=TUNING._replace(epochs=given.tuning_epochs, **common),
        learning=LEARNING._replace(
            epochs=given.epochs, learning_rate=given.learning_rate, **common
        ),
        checkpoint=given.kept,
        watch=log.watch,
    )
    teacher = work.teacher()
    print("teacher accuracy, pre-trained, pruned, tuned:", teacher.accuracies, flush=True)
    log.head(
        attributes=json.dumps(attributes(work)),
        accuracies=np.asarray(teacher.accuracies),
        **{f"teacher_weights_{i}": np.asarray(W) for i, W in enumerate(teacher.network.weights, 1)},
        **{f"teacher_biases_{i}": np.asarray(b) for i, b in enumerate(teacher.network.biases, 1)},
        **{f"kept_{i}": nodes for i, nodes in enumerate(teacher.remaining, 1)},
    )
    done = {} if given.previous is None else recorded(given.previous)
    for run in range(given.runs):
        for multiple in multiples:
            measured = done.get((multiple, run), {"accuracy": []})
            if given.same_rate:
                rate = given.learning_rate * multiple  # which the study divides by it
                work.learning = work.learning._replace(learning_rate=rate)
            if len(measured["accuracy"]) <= given.epochs:
                measured = work.student(teacher.network, multiple, run)[1]
            log.student(multiple, run, measured)


def precision(given):
    """What --probe has found to be fast enough on this machine, if nothing else is asked for."""
    probed = given.kept / "precision.txt"
    if given.precision != "auto":
        return given.precision
    return probed.read_text().strip() if probed.exists() else "float32"


def attributes(work):
    """How it was computed, for the Dataset."""
    from tutelage._jax import jax

    recipes = {name: str(getattr(work, name)) for name in ("pretraining", "tuning", "learning")}
    hidden, device = "-".join(map(str, work.hidden)), jax.devices()[0].device_kind
    return {"hidden": hidden, "keep": work.keep, "seed": work.seed, "device": device, **recipes}


def recorded(results):
    """Arrays of the students in a file of results, by multiple and run."""
    measured = {}
    with np.load(results) as stored:
        for key in stored:
            if key.count(".") == 2:
                multiple, run, name = key.split(".")
                measured.setdefault((int(multiple), int(run)), {})[name] = stored[key]
    return measured


def partial(given, log):
    """Add what the unfinished student has recorded so far to the results."""
    for path in sorted(given.kept.glob("student_*x_*.npz")):
        _, multiple, run = path.stem.split("_")
        with np.load(path) as file:
            measured = {
                name.removeprefix("measured_"): file[name]
                for name in file
                if name.startswith("measured_")
            }
        log.student(int(multiple.rstrip("x")), int(run), measured)
        newest = max(given.kept.glob("student_*.npz"), key=lambda path: path.stat().st_mtime)
        for name in {"teacher.npz", "pruned.npz", newest.name}:
            shutil.copy(given.kept / name, given.out / name)


def probe(given):
    """Seconds of one epoch on random images, after compilation."""
    from tutelage._jax import jax, jnp
    from tutelage.deep.images.convnet import convnet
    from tutelage.deep.images.measures import measure
    from tutelage.deep.images.training import Lesson, Recipe, learn

    n, m = (256, 4) if given.tiny else (50_000, round(64 * given.keep))
    x = jnp.asarray(np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), np.uint8))
    y = jnp.zeros(n, int)
    scale = jnp.asarray([[128.0] * 3, [74.0] * 3], jnp.float32)
    teacher = convnet((m,) * 4)
    student, fast = convnet((5 * m,) * 4, seed=1), {}
    for name in ("float32", "bfloat16"):
        marks = [time.monotonic()]
        learn(
            student,
            Lesson(x, y, scale, teacher),
            Recipe(3, 1e-4, batch=given.batch, precision=name),
            lambda network: {},
            watch=lambda epoch, measured, marks=marks: marks.append(time.monotonic()),
        )
        fast[name] = marks[-1] - marks[-2]
        begun = time.monotonic()
        measure(student, teacher, x[:10_000], y[:10_000], scale)
        line = {
            "precision": name,
            "epoch_seconds": np.round(np.diff(marks), 3).tolist(),
            "evaluation_seconds": round(time.monotonic() - begun, 3),
            "device": jax.devices()[0].device_kind,
            "jax": jax.__version__,
        }
        print(json.dumps(line), flush=True)
    # 100 epochs of three such students have to fit into ten minutes, with all others.
    enough = fast["float32"] < 1.2 or fast["float32"] < fast["bfloat16"]
    given.kept.mkdir(parents=True, exist_ok=True)
    (given.kept / "precision.txt").write_text("float32" if enough else "bfloat16")


def dataset(results, file):
    from tutelage import results as files
    from tutelage.deep.images.record import as_dataset

    measured = recorded(results)
    with np.load(results) as stored:
        result = as_dataset(json.loads(str(stored["attributes"])), stored["accuracies"], measured)
    files.save(result, file)
    for (multiple, run), one in sorted(measured.items()):
        rho = [round(float(one[f"teacher_correlation_{i}"][-1].mean()), 4) for i in range(1, 5)]
        epochs, right = len(one["accuracy"]) - 1, 100 * float(one["accuracy"][-1])
        print(f"{multiple}x run {run} epoch {epochs}: accuracy {right:.2f} %, rho_mean {rho}")


def main():
    given = options()
    if given.dataset:
        return dataset(*given.dataset)
    # Compiled programs stay for the next call.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(given.kept.parent / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    if given.probe:
        return probe(given)
    log = Log(given)
    try:
        study(given, log)
        print("finished", flush=True)
    except TimeIsUp as up:
        partial(given, log)
        print(f"time is up in {up}; the same command goes on", flush=True)
    finally:
        print(f"{time.monotonic() - BEGUN:.1f} s", flush=True)


if __name__ == "__main__":
    main()
