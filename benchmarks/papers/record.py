"""Compute long runs of the papers, and store them in the package.

    python benchmarks/papers/record.py PAPER NAME

writes ``src/tutelage/papers/PAPER/recorded/NAME.nc`` with this command, the commit, the machine and
the seconds.  It refuses to run if tracked sources differ from the commit.  On a machine without
git, compute a file in a folder, copy it to a clone, and store it there:

    python benchmarks/papers/record.py PAPER NAME --to FOLDER
    python benchmarks/papers/record.py --store FILE

The file then names the commit whose ``src/tutelage`` is equal to the sources that computed it; it
is refused if there is none.

With the environment variable TUTELAGE_PARTS=FOLDER some runs save their parts there, and the same
command continues, with the same sources only; TUTELAGE_PROCESSES is the number of processes that
compute their parts.

``python benchmarks/gpu/tian2020.py`` records the trainings of tian2020.
"""

import argparse
import hashlib
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
    search,
    temperature_runs,
)
from tutelage.papers.milletari2019 import architectures, digits, widths
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
    ("beyond", "optimizers"): (optimizers.measured, "numbers of case, optimizer, batch, and N"),
    ("beyond", "plateaus"): (plateaus.all_units, "none"),
    ("beyond", "seventeen"): (landscape.seventeen, str(landscape.SEED)),
    ("beyond", "search"): (search.searched, str(search.SEED)),
    ("beyond", "temperature"): (temperature_runs.measured, "1"),
    ("beyond", "units"): (families.units, str(families.SEED)),
    ("milletari2019", "digits"): (digits.measured, "0"),
    ("milletari2019", "stuck"): (architectures.stuck_runs, "0 to 3150 in steps of 50"),
    ("milletari2019", "widths"): (widths.measured, "0"),
    ("oostwal2019", "escape"): (escape.measured, "N"),
}


PACKAGE = Path(tutelage.__file__).parent
ROOT = Path(__file__).parents[2]


def tree_id(folder):
    """Return the name that git gives to the content of a folder, such as ``git rev-parse
    HEAD:src/tutelage``; compiled files of Python are left out.
    """
    entries = []
    for path in folder.iterdir():
        if path.is_dir():
            content = tree_id(path)
            if path.name != "__pycache__" and content != EMPTY:  # git stores no empty folders
                entries.append((f"{path.name}/", f"40000 {path.name}", content))
        elif path.is_file():
            content = path.read_bytes()
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            entries.append((path.name, f"{mode} {path.name}", object_id("blob", content)))
    tree = b"".join(
        name.encode() + b"\0" + bytes.fromhex(content) for _, name, content in sorted(entries)
    )
    return object_id("tree", tree)


def object_id(kind, content):
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


EMPTY = object_id("tree", b"")


def git(*arguments):
    command = ("git", "-C", str(ROOT), *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def has_git():
    return (ROOT / ".git").exists()


def clean_commit():
    """Return the commit of the sources; end if tracked files differ from it."""
    name = git("describe", "--always", "--dirty", "--abbrev=7")
    if name.endswith("-dirty"):
        sys.exit(f"{name}: commit the sources first, so that the file can name them")
    return name


def commit_of(tree):
    """Return the newest commit whose ``src/tutelage`` has this content; end if there is none."""
    for commit in git("rev-list", "HEAD").split():
        if git("rev-parse", f"{commit}:src/tutelage") == tree:
            return commit[:7]
    sys.exit(f"src/tutelage is {tree} in no commit of this branch: commit and land the sources")


def machine():
    """Return the name of the GPU, or the number of cores and the processor."""
    if jax.default_backend() != "cpu":
        return str(jax.devices()[0].device_kind)
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {names[0] if names else platform.processor()}"


def record(paper, name):
    """Compute a file, and return its Dataset; without git it names the sources, but no commit."""
    compute, seed = RECORDS[paper, name]
    tree, commit = tree_id(PACKAGE), clean_commit() if has_git() else None
    if commit and tree != git("rev-parse", "HEAD:src/tutelage"):
        sys.exit(f"{PACKAGE} is not the content of {commit}: remove files that git does not track")
    if recorded.PARTS_VARIABLE in os.environ:  # parts of other sources are not continued
        os.environ[recorded.PARTS_VARIABLE] += f"/{tree[:12]}"
    begin, begin_cpu = time.perf_counter(), time.process_time()
    dataset = compute().assign_attrs(
        command=f"python benchmarks/papers/record.py {paper} {name}",
        sources=tree,
        tutelage_version=tutelage.__version__,
        jax_version=jax.__version__,
        machine=machine(),
        seed=seed,
    )
    dataset.attrs["seconds"] = round(time.perf_counter() - begin, 1)
    cpu_seconds = time.process_time() - begin_cpu + recorded.EARLIER["cpu_seconds"]
    dataset.attrs["cpu_seconds"] = round(cpu_seconds, 1)
    return dataset.assign_attrs(commit=commit) if commit else dataset


def stored(file):
    """Load a file that was computed without git, and name its commit."""
    dataset = results.load(file).drop_encoding()
    return dataset.assign_attrs(commit=commit_of(dataset.attrs["sources"]))


def write(dataset, folder=None):
    """Save a Dataset under its name, in the package by default."""
    *_, paper, name = dataset.attrs["command"].split()
    folder = PACKAGE / "papers" / paper / recorded.FOLDER if folder is None else folder
    file = folder / f"{name}.nc"
    folder.mkdir(parents=True, exist_ok=True)
    results.save(dataset, file)
    print(f"{file}: {file.stat().st_size / 2**10:.0f} KiB, {dataset.attrs['cpu_seconds']} s")


def main():
    parser = argparse.ArgumentParser(
        description="Compute a recorded file, or store one that was computed without git.",
        epilog="PAPER NAME: " + "; ".join(map(" ".join, RECORDS)),
    )
    parser.add_argument("record", nargs="*", metavar="PAPER NAME")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write to this folder")
    parser.add_argument("--store", type=Path, metavar="FILE", help="name the commit, and store")
    chosen = parser.parse_args()
    if chosen.store and not chosen.record:
        write(stored(chosen.store), chosen.to)
    elif tuple(chosen.record) in RECORDS and not chosen.store:
        if not has_git() and chosen.to is None:
            parser.error("without git a file cannot name its commit: add --to FOLDER")
        write(record(*chosen.record), chosen.to)
    else:
        parser.error("PAPER NAME has to be one of those below (--help), or --store FILE alone")


if __name__ == "__main__":
    main()
