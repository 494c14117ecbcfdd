"""Execute the tutorials whose code has changed, and store what they print and draw in them.

    python docs/extensions/notebooks.py [--all] [NAME ...]

`make docs` calls this: pages show the stored outputs, so that nothing is executed twice.  The
digest of the code cells is part of the metadata of a notebook.
"""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "tutorials"
MAX_SECONDS = 600  # per cell, on a busy machine
# Pictures of at most about 30 kB.
SETTINGS = (
    "%config InlineBackend.figure_formats = ['png']\n%config InlineBackend.rc = {'figure.dpi': 80}"
)
# Outputs that are neither text nor a picture, or that differ from run to run, are not stored.
STORED = {"text/plain", "text/html", "image/png"}


def digest(book: nbformat.NotebookNode) -> str:
    """A digest of all code cells."""
    code = "\0".join(cell.source for cell in book.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def is_current(path: Path) -> bool:
    """Whether the stored outputs are those of the code."""
    book = nbformat.read(path, as_version=4)
    return book.metadata.get("executed") == digest(book)


def execute(path: Path) -> None:
    """Execute a notebook in an empty folder and write it with its outputs."""
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(SETTINGS))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            book, timeout=MAX_SECONDS, resources={"metadata": {"path": folder}}
        ).execute()
    book.cells.pop(0)
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [stored(output) for output in cell.outputs]
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "executed": digest(book),
    }
    nbformat.write(book, path)


def stored(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "data" in output:
        output.data = {kind: value for kind, value in output.data.items() if kind in STORED}
        output.metadata = {}
    if "execution_count" in output:
        output.execution_count = None
    return output


def main(names: list[str]) -> None:
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    every = sorted(FOLDER.glob("*.ipynb"))
    chosen = [path for path in every if path.stem in names] if names else every
    for path in chosen:
        if "--all" in names or not is_current(path):
            print(f"executing {path.name}", flush=True)
            execute(path)


if __name__ == "__main__":
    main(sys.argv[1:])
