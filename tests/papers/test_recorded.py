"""Every recorded file names the command and the commit by which it can be computed again."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tutelage.papers import recorded

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(recorded.__file__).parent.glob(f"*/{recorded.FOLDER}/*.nc"))


# Recorded by the command of their section, before benchmarks/papers/record.py.
EARLIER = {("beyond", name) for name in ("optimizers", "temperature", "seventeen", "plateaus")}


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
    if (paper, name) in EARLIER:
        assert attrs["command"].startswith("tutelage reproduce beyond --figure ")
        assert attrs["commit_note"].startswith("the first commit with these data")
        return
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


def test_every_other_file_can_be_recorded_by_one_command():
    path = ROOT / "benchmarks" / "papers" / "record.py"
    spec = importlib.util.spec_from_file_location("record", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    there = {(file.parts[-3], file.stem) for file in FILES if file.parts[-3] != "tian2020"}
    assert there <= set(module.RECORDS)
