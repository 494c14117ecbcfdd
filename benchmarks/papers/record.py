"""Compute long runs of the papers on a CPU, and store them in the package.

    python benchmarks/papers/record.py PAPER NAME

writes ``src/tutelage/papers/PAPER/recorded/NAME.nc`` with this command, the commit, the machine and
the seconds.  It refuses to run if tracked sources differ from the commit.  With the environment
variable TUTELAGE_PARTS=FOLDER some runs save their parts there, and the same command continues.
``python benchmarks/gpu/tian2020.py`` does the same for the trainings of tian2020.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import tutelage
from tutelage import results
from tutelage._jax import jax
from tutelage.papers import recorded
from tutelage.papers.beyond import (
    control,
    families,
    landscape,
    optimizers,
    plateaus,
    temperature_runs,
)
from tutelage.papers.milletari2019 import architectures, widths
from tutelage.papers.oostwal2019 import escape

# What computes each file, and its seeds in words.
RECORDS = {
    ("beyond", "branch_ends"): (landscape.branch_ends, str(landscape.SEED)),
    ("beyond", "branches"): (landscape.measured, str(landscape.SEED)),
    ("beyond", "control"): (control.optimal, str(control.SEED)),
    ("beyond", "families"): (families.levels, "none"),
    ("beyond", "family_paths"): (families.paths, "none"),
    ("beyond", "family_rates"): (families.rates, "none"),
    ("beyond", "late_rates"): (control.late_decay, "0"),
    ("beyond", "optimizers"): (optimizers.measured, "0, of the networks"),
    ("beyond", "plateaus"): (plateaus.all_units, "none"),
    ("beyond", "seventeen"): (landscape.seventeen, str(landscape.SEED)),
    ("beyond", "temperature"): (temperature_runs.measured, "1"),
    ("milletari2019", "stuck"): (architectures.stuck_runs, "0 to 3150 in steps of 50"),
    ("milletari2019", "widths"): (widths.measured, "0"),
    ("oostwal2019", "escape"): (escape.measured, "N"),
}


def commit():
    """Return the commit of the sources; end if tracked files differ from it."""
    command = ("git", "describe", "--always", "--dirty", "--abbrev=7")
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if name.endswith("-dirty"):
        sys.exit(f"{name}: commit the sources first, so that the file can name them")
    return name


def machine():
    """Return the number of cores and the processor."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor()}"


def record(paper, name):
    compute, seed = RECORDS[paper, name]
    of = commit()
    begin, begin_cpu = time.perf_counter(), time.process_time()
    dataset = compute().assign_attrs(
        command=f"python benchmarks/papers/record.py {paper} {name}",
        commit=of,
        tutelage_version=tutelage.__version__,
        jax_version=jax.__version__,
        machine=machine(),
        seed=seed,
    )
    dataset.attrs["seconds"] = round(time.perf_counter() - begin, 1)
    cpu_seconds = time.process_time() - begin_cpu + recorded.EARLIER["cpu_seconds"]
    dataset.attrs["cpu_seconds"] = round(cpu_seconds, 1)
    file = Path(recorded.__file__).parent / paper / recorded.FOLDER / f"{name}.nc"
    file.parent.mkdir(exist_ok=True)
    results.save(dataset, file)
    print(f"{file.name}: {file.stat().st_size / 2**10:.0f} KiB, {dataset.attrs['cpu_seconds']} s")


if __name__ == "__main__":
    if tuple(sys.argv[1:]) not in RECORDS:
        sys.exit(
            "\n".join(
                ["usage: python benchmarks/papers/record.py PAPER NAME", *map(" ".join, RECORDS)]
            )
        )
    record(*sys.argv[1:])
