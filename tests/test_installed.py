"""Installed packages: wheel and source, in an environment outside this folder."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SMALL = {
    "online": "--until 1",
    "simulate": "--until 1 --dimension 20 --runs 2",
    "equilibrium": "--activation erf --units 2",
    "spectrum": "--hidden 3 --epochs 2 --runs 1",
    "specialize": "--teacher 3-2 --multiple 2 --inputs 5 --outputs 4 --epochs 2 --examples 64 "
    "--evaluation 50 --data gaussian:1",
    "sweep": "example",
    "explore": "--help",
    "data": "--help",
    "reproduce": "milletari2019 --figure 1",
}


def pinned(*files):
    """Versions by names that are written the same everywhere."""
    text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
    pairs = re.findall(r"^([\w.-]+)==(\S+)", text, re.M)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def bounds():
    """Version bounds of everything that users install: (name, lower bound, upper bound)."""
    users = [
        *PROJECT["dependencies"],
        *(x for e in ("digits", "sweeps", "explore") for x in EXTRAS[e]),
    ]
    for requirement in users:
        name, lower, upper = re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", requirement).groups()
        yield name.lower().replace("_", "-"), lower, upper


def number(version):
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@pytest.mark.parametrize(("name", "lower", "upper"), list(bounds()))
def test_bounds_are_versions_that_tests_run_on(name, lower, upper):
    """`make test-oldest` installs the lower ones; what `make test` installs lies between."""
    oldest = pinned("constraints-oldest.txt")[name]
    present = pinned("requirements/base.txt", "requirements/test.txt")[name]
    assert number(oldest)[: len(number(lower))] == number(lower)
    assert number(oldest) <= number(present) < number(upper)


def python(environment):
    return environment / ("Scripts" if os.name == "nt" else "bin") / "python"


def call(*command, cwd, **options):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a wheel and a source archive, and an empty environment."""
    folder = tmp_path_factory.mktemp("built")
    call(sys.executable, "-m", "venv", folder / "empty", cwd=folder)
    pip = [python(folder / "empty"), "-m", "pip", "install", "--quiet", "--no-deps"]
    files = [f"--requirement={ROOT / 'requirements' / name}" for name in ("base.txt", "dev.txt")]
    fetched = subprocess.run([*map(str, pip), "--require-hashes", *files], cwd=folder)
    if fetched.returncode:
        pytest.skip("pip cannot install anything here")
    call(python(folder / "empty"), "-m", "hatchling", "build", "-d", folder / "dist", cwd=ROOT)
    call(*pip, *(folder / "dist").glob("*.whl"), cwd=folder)
    return folder


@pytest.mark.slow
def test_the_lock_is_complete(built):
    """Nothing that is installed from it misses a dependency, or has a wrong version."""
    call(python(built / "empty"), "-m", "pip", "check", cwd=built)


@pytest.mark.slow
def test_the_archives_hold_what_they_should(built):
    (wheel,), (source,) = ((built / "dist").glob(p) for p in ("*.whl", "*.tar.gz"))
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tutelage/py.typed", "tutelage/__init__.pyi"} <= set(names)
    assert any(name.startswith("tutelage/explorer/static/") for name in names)
    assert not any(name.startswith(("tests", "docs", "report")) for name in names)
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    tracked = call("git", "ls-files", "src", "tests", "examples", cwd=ROOT).split()
    assert set(tracked) <= inside


@pytest.mark.slow
@pytest.mark.parametrize("command", SMALL)
def test_every_command_works_where_nothing_else_is(built, tmp_path, command):
    program = python(built / "empty").with_name("tutelage")
    out = call(program, command, *SMALL[command].split(), cwd=tmp_path)
    assert out.strip()


@pytest.mark.slow
def test_what_an_extra_would_bring_is_named(built, tmp_path):
    program = python(built / "empty").with_name("tutelage")
    asked = [str(program), "explore", "--no-browser"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "tutelage[explore]" in done.stderr


@pytest.mark.slow
def test_types_reach_users(built, tmp_path):
    """The examples are checked as a user's scripts: against the installed package."""
    scripts = sorted((ROOT / "examples").glob("*.py"))
    options = ["--config-file=", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache"]
    call(python(built / "empty"), "-m", "mypy", *options, *scripts, cwd=tmp_path)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tutelage as tl\ntl.Committee('two', tl.ReLU())\n")
    with pytest.raises(AssertionError, match="arg-type"):
        call(python(built / "empty"), "-m", "mypy", *options, wrong, cwd=tmp_path)
