"""Every recorded file names the command and the commit by which it can be computed again."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import xarray as xr

from tutelage.papers import recorded
from tutelage.papers.beyond import families

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(recorded.__file__).parent.glob(f"*/{recorded.FOLDER}/*.nc"))


def commands(paper: str, name: str) -> list[str]:
    """Patterns of the commands that compute a file."""
    training, _, setting = name.partition("_")
    if paper != "tian2020":
        return [rf"python benchmarks/papers/record\.py {paper} {name}"]
    if training == "images":
        return [r"python benchmarks/gpu/cifar10\.py --data FOLDER .*"]
    parts = " ".join([rf"{training}:{setting}:0", rf"?({training}:{setting}:1)?"])
    # Its script has moved since, and had one setting.
    return [
        rf"python benchmarks/gpu/tian2020\.py FOLDER {parts}",
        "python benchmarks/tian2020.py .*",
    ]


def git(*arguments: str) -> str:
    """Return the output of git in the folder of this clone; "" if it fails or is missing."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def has_history() -> bool:
    """Whether this is a clone with all commits."""
    top = git("rev-parse", "--show-toplevel").strip()
    shallow = git("rev-parse", "--is-shallow-repository").strip()
    return bool(top) and Path(top).resolve() == ROOT.resolve() and shallow == "false"


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_a_recorded_file_names_the_command_and_the_commit(file):
    paper, name = file.parts[-3], file.stem
    attrs = recorded.load_recorded(paper, name).attrs
    for key in ("tutelage_version", "jax_version", "machine", "seed"):
        assert str(attrs[key]), key
    assert re.fullmatch("[0-9a-f]{7,40}", attrs["commit"])
    assert any(re.fullmatch(one, attrs["command"]) for one in commands(paper, name))
    if paper != "tian2020":
        assert "commit_note" not in attrs and attrs["cpu_seconds"] > 0
    if not has_history():
        pytest.skip("this is not a clone with all commits")
    script = attrs["command"].split()[1]
    source = git("show", f"{attrs['commit']}:{script}")
    assert source, f"{script} is not part of commit {attrs['commit']}"
    if paper != "tian2020":
        assert f'("{paper}", "{name}")' in source
    if "sources" in attrs:
        assert attrs["sources"] == git("rev-parse", f"{attrs['commit']}:src/tutelage").strip()


def script():
    """Import the script that records."""
    path = ROOT / "benchmarks" / "papers" / "record.py"
    spec = importlib.util.spec_from_file_location("record", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_other_file_can_be_recorded_by_one_command():
    there = {(file.parts[-3], file.stem) for file in FILES if file.parts[-3] != "tian2020"}
    assert there <= set(script().RECORDS)


def test_sources_have_the_name_that_git_gives_them(tmp_path):
    for name, content in {"b.py": "b\n", "b/c.py": "", "b-a/d.nc": "ä", "e/f/g.py": "g"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def in_folder(*arguments):
        command = ["git", "-C", str(tmp_path), "-c", "core.autocrlf=false", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    in_folder("init", "--quiet")
    in_folder("add", ".")
    tree = in_folder("write-tree")
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / "b" / "__pycache__").mkdir()  # neither these nor empty folders are part of a tree
    (tmp_path / "b" / "__pycache__" / "c.pyc").write_bytes(b"c")
    (tmp_path / "empty").mkdir()
    assert script().tree_id(tmp_path) == tree


def test_a_file_computed_without_git_is_stored_with_its_commit(tmp_path, monkeypatch):
    module = script()
    monkeypatch.setattr(module, "has_git", lambda: False)
    monkeypatch.setitem(module.RECORDS, ("a", "b"), (lambda: xr.Dataset({"x": 1.5}), "none"))
    dataset = module.record("a", "b")
    assert "commit" not in dataset.attrs
    module.write(dataset, tmp_path)
    trees = {"c3": "other", "c2": dataset.attrs["sources"], "c1": dataset.attrs["sources"]}
    answers = {"rev-list": "\n".join(trees)} | {f"{c}:src/tutelage": t for c, t in trees.items()}
    monkeypatch.setattr(module, "git", lambda verb, what: answers.get(what, answers.get(verb)))
    stored = module.stored(tmp_path / "b.nc")
    assert stored.attrs["commit"] == "c2" and float(stored["x"]) == 1.5
    trees.clear()
    answers["rev-list"] = ""
    with pytest.raises(SystemExit, match="in no commit"):
        module.stored(tmp_path / "b.nc")


@pytest.mark.slow
def test_parts_of_several_processes_are_those_of_one(monkeypatch):
    sizes = [(2, 2), (3, 3)]
    alone = recorded.in_parts("families", sizes, families._levels_of)
    monkeypatch.setenv(recorded.PROCESSES_VARIABLE, "2")
    monkeypatch.setitem(recorded.EARLIER, "cpu_seconds", 0.0)
    for one, other in zip(
        alone, recorded.in_parts("families", sizes, families._levels_of), strict=True
    ):
        assert one.identical(other)
    assert recorded.EARLIER["cpu_seconds"] > 0
