"""Files of a public project: workflows call only targets of make, versions agree."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def targets():
    return set(re.findall(r"^([a-z-]+):.*##", read("Makefile"), re.M))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_nothing_but_targets_of_make(path):
    text = path.read_text(encoding="utf-8")
    commands = re.findall(r"^\s*- run: (.*)$", text, re.M)
    matrix = re.findall(r"target: \[(.*)\]", text)
    called = {name for line in matrix for name in line.split(", ")}
    for command in commands:
        assert command.startswith("make "), command
        called |= {command.removeprefix("make ")} - {"${{ matrix.target }}"}
    assert called and called <= targets()


@pytest.mark.parametrize(
    "path",
    [*WORKFLOWS, ROOT / ".github/dependabot.yml", *(ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"),
     ROOT / ".pre-commit-config.yaml"],
    ids=lambda path: path.name,
)  # fmt: skip
def test_configuration_is_yaml(path):
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    if path in WORKFLOWS:
        assert {"name", "jobs", "permissions"} <= set(content)
        assert all({"runs-on", "steps"} <= set(job) for job in content["jobs"].values())


def test_versions_agree():
    version = PROJECT["project"]["version"]
    assert f'__version__ = "{version}"' in read("src/tutelage/__init__.py")
    assert re.search(rf"^version: {re.escape(version)}$", read("CITATION.cff"), re.M)
    assert f"version = {{{version}}}" in read("docs/cite.md")
    assert f"## {version}" in read("CHANGELOG.md")
    ruff = next(x for x in PROJECT["project"]["optional-dependencies"]["dev"] if "ruff" in x)
    assert f"rev: v{ruff.partition('==')[2]}" in read(".pre-commit-config.yaml")


def test_every_python_of_the_tests_is_a_classifier():
    tested = re.search(r"python: \[(.*)\]", read(".github/workflows/tests.yml"))[1]
    names = {f"Programming Language :: Python :: {v}" for v in re.findall(r"[\d.]+", tested)}
    assert names <= set(PROJECT["project"]["classifiers"])


def test_addresses_that_are_not_decided_are_empty():
    addresses = PROJECT["tool"]["tutelage"]["addresses"]
    assert set(addresses) == {"repository", "documentation", "doi"}
    urls = PROJECT["project"].get("urls", {})
    assert set(urls.values()) <= {value for value in addresses.values() if value}
    for name, value in addresses.items():
        assert value == "" or value.startswith("https://"), name


def test_the_documents_state_that_windows_is_unsupported():
    """Locks of stores need fcntl, which Windows lacks."""
    needs_posix = "import fcntl" in read("src/tutelage/runs/files.py")
    assert needs_posix == ("Does it run on Windows?** It is not supported" in read("docs/faq.md"))


LOCKED = {path.stem: path for path in (ROOT / "requirements").glob("*.txt")}


@pytest.mark.parametrize("name", LOCKED)
def test_every_locked_version_has_a_hash(name):
    text = LOCKED[name].read_text(encoding="utf-8")
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.M)[1:]
    assert entries
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}$", entry, re.M), entry


def test_every_requirement_is_locked():
    """In the file of its extra, or in one that `make` installs before it."""
    project = PROJECT["project"]
    for extra, wanted in project["optional-dependencies"].items():
        name = {"digits": "base", "sweeps": "test"}.get(extra, extra)
        before = ["base", "test"] if name in ("dev", "bench") else ["base"]
        text = "".join(LOCKED[file].read_text(encoding="utf-8") for file in {*before, name})
        for requirement in [*project["dependencies"], *wanted]:
            package = re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")
            assert re.search(rf"^{package}==", text, re.M), (extra, package)
