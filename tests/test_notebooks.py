"""Tutorials run, cell after cell, and print what they show; their stored outputs are current."""

import hashlib
import importlib.util
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
FAST = "04_phase_transition"  # `make test` runs this one, `make test-all` every one


def read(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    return book


def cells(path):
    """Code of every cell, and what it has printed."""
    for cell in read(path)["cells"]:
        if cell["cell_type"] == "code":
            streams = [out for out in cell["outputs"] if out.get("name") == "stdout"]
            printed = [line for out in streams for line in out["text"]]
            yield "".join(cell["source"]), "".join(printed)


def test_there_are_eight_tutorials_without_magic():
    assert len(NOTEBOOKS) == 8
    for path in NOTEBOOKS:
        for code, _ in cells(path):
            compile(code, path.name, "exec")  # a line with % or ! is no Python


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_the_code(path):
    """The digest is that of docs/extensions/notebooks.py."""
    code = "\0".join(code for code, _ in cells(path))
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    assert read(path)["metadata"]["executed"] == digest, "make docs executes it"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_ends_with_two_exercises_that_have_solutions(path):
    text = "".join(read(path)["cells"][-1]["source"])
    assert text.count("\n1. ") == text.count("\n2. ") == 1 and "(solutions.md)" in text
    solutions = (FOLDER / "solutions.md").read_text(encoding="utf-8")
    section = solutions.partition(f"\n## {int(path.stem[:2])}. ")[2].partition("\n## ")[0]
    assert "### 1. " in section and "### 2. " in section


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p.stem == FAST else pytest.mark.slow) for p in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_tutorial_prints_what_it_shows(path, tmp_path, monkeypatch, capsys):
    if "import torch" in path.read_text("utf-8") and not importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is not installed: make torch")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, shown in cells(path):
        exec(compile(code, path.name, "exec"), names)
        assert capsys.readouterr().out == shown
    plt.close("all")
