"""Order of packages: imports point one way, names load lazily, the README works as printed."""

import ast
import contextlib
import importlib
import io
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tutelage

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tutelage"

# Packages in the order in which data flows; a package imports only packages before it.
PACKAGES = [
    *(
        "_lazy",
        "_precision",
        "_given",
        "_jax",
        "_module",
        "_types",
        "_checks",
        "_names",
        "_arguments",
        "_memory",
        "_html",
        "_findings",
    ),
    *("activations", "model", "runs", "solve", "averages", "online"),
    *("simulation", "equilibrium", "gates", "spectra", "deep", "results"),
    *("bridge", "sweeps", "figures", "papers", "report", "explorer", "cli"),
]
LEVEL = {package: level for level, package in enumerate(PACKAGES)}
# Papers and front ends, which use the library as a user does.
UPPER_LAYERS = ("papers", "report", "explorer", "cli")
# Whose private names `bridge` once took: it keeps to the same rule with this one package.
ALSO_CHECKED = {"bridge": {"simulation"}}
OFFER = "Other packages may use the module"
# Simulation and theory have to be independent for their agreement to mean something; the error
# of a state is no dynamics, and both report the same exact one.
SIMULATION_MAY_IMPORT = {
    *(
        "_given",
        "_jax",
        "_lazy",
        "_precision",
        "_types",
        "_checks",
        "_names",
        "_arguments",
        "_memory",
        "_findings",
    ),
    *("activations", "model", "runs", "averages.generalization"),
}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """Modules of the package that the import statements of a module name, anywhere in the file."""
    values = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        values |= {name.partition(".")[2] for name in names if name.startswith("tutelage.")}
    return {name for name in values if name.split(".")[0] in LEVEL}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_only_upwards(path):
    package = package_of(path)
    assert package in LEVEL, f"{package} is not in the list of packages"
    for module in imported_modules(path):
        other = module.split(".")[0]
        assert LEVEL[other] <= LEVEL[package], f"{package} imports {other}"
        if package == "simulation":
            allowed = any(f"{module}.".startswith(f"{may}.") for may in SIMULATION_MAY_IMPORT)
            assert allowed or other == package, f"simulation imports {module}"


def offered(package: str) -> set[str]:
    """Modules that the docstring of a package offers to others, and of the packages in it."""
    values = set()
    for file in (SOURCE / package).rglob("__init__.py"):
        text = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split(OFFER)
        home = ".".join(file.parent.relative_to(SOURCE).parts)
        values |= {f"{home}.{name}" for name in re.findall(r"`([\w.]+)`", "".join(text[1:]))}
    return values


def is_public(name: str) -> bool:
    """Whether other layers may import this: a package, what it exports or offers, shared tools."""
    package, *rest = name.split(".")
    if package.startswith("_") or package in ("runs", *UPPER_LAYERS):
        return True
    while rest and (SOURCE / package.replace(".", "/") / rest[0]).is_dir():
        package = f"{package}.{rest.pop(0)}"
    exported = getattr(importlib.import_module(f"tutelage.{package}"), "__all__", ())
    if not rest or (len(rest) == 1 and rest[0] in exported):
        return True
    inside = any(f"{name}.".startswith(f"{one}.") for one in offered(package.split(".")[0]))
    return inside and not rest[-1].startswith("_")


def imports_between_layers() -> Iterator[tuple[str, str]]:
    """Module and imported name, of those that may import public names only."""
    for path in modules():
        package = package_of(path)
        for name in imported_modules(path):
            other = name.split(".")[0]
            if package in UPPER_LAYERS or other in ALSO_CHECKED.get(package, ()):
                yield str(path.relative_to(SOURCE)), name


def test_the_library_does_not_import_papers_and_front_ends():
    """So that the test above refuses every import of theirs in the library."""
    assert tuple(PACKAGES[-len(UPPER_LAYERS) :]) == UPPER_LAYERS


def test_papers_and_front_ends_import_public_names_only():
    private = [pair for pair in imports_between_layers() if not is_public(pair[1])]
    assert not private


def test_a_private_name_is_seen():
    assert is_public("online.evolve") and is_public("online.linearization.linearized")
    assert is_public("deep.images.cifar10") and is_public("_checks.InputError")
    for name in (
        "online.flow.Flow",
        "online.linearization._first",
        "deep.images.record.train_on_images",
    ):
        assert not is_public(name)


def test_every_offered_module_is_used():
    used = {name for _, name in imports_between_layers()}
    for one in {one for package in PACKAGES for one in offered(package)}:
        assert any(f"{name}.".startswith(f"{one}.") for name in used), one


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_one_module_chooses_the_precision(path):
    chooses = "enable_x64" in path.read_text(encoding="utf-8").lower()
    assert chooses == (path.name == "_precision.py")


def test_import_tutelage_loads_neither_jax_nor_matplotlib():
    code = (
        "import sys, tutelage\n"
        "loaded = {'jax', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_exists():
    for name in tutelage.__all__:
        assert getattr(tutelage, name) is not None
    assert set(tutelage.__all__) <= set(dir(tutelage))


def test_an_unknown_name_is_an_attribute_error_that_lists_the_known_ones():
    with pytest.raises(AttributeError, match=r"'relu'.*ReLU"):
        _ = tutelage.relu


def test_the_version_is_the_same_everywhere():
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert project["version"] == tutelage.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {tutelage.__version__}\n" in citation


@pytest.mark.slow
def test_the_readme_example_prints_its_quoted_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it saves its picture
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, expected = re.search(
        r"```python\n(.*?)```\n\n.*?```text\n(.*?)```", readme, flags=re.DOTALL
    ).groups()
    assert 5 <= len(code.splitlines()) <= 15
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_every_link_between_the_documents_leads_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_file_depends_on_the_machine_it_was_written_on():
    folders = "|".join(["home", "root", "work", "Users", "tmp", "opt"])
    # A folder of a machine, not a fraction such as 1/2 or a path inside the project.
    pattern = re.compile(rf"(?<![\w.~)])/(?:{folders})/\w")
    for file in tracked_files():
        if file.suffix in (".png", ".gif", ".npz", ".nc", ".woff2"):
            continue
        match = pattern.search(file.read_text(encoding="utf-8"))
        assert not match, f"{file.relative_to(ROOT)}: {match.group()}"
