"""Notebooks run, cell after cell, and print what they show."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def cells(path):
    """Code of every cell, and what it has printed."""
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            shown = [line for output in cell["outputs"] for line in output.get("text", [])]
            yield "".join(cell["source"]), "".join(shown)


def test_there_is_a_notebook_without_magic():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for code, _ in cells(path):
            compile(code, path.name, "exec")  # a line with % or ! is no Python


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, shown in cells(path):
        exec(compile(code, path.name, "exec"), names)
        assert capsys.readouterr().out == shown
