"""The gallery: a card and a section for each script in examples/, from its docstring.

In gallery.md the line `<!-- examples -->` becomes cards with thumbnails and, below them, for each
script its question, its text, its pictures, its data and its code.
"""

import ast
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
# The accuracy of an average interests fewer readers than a learning curve does.
LAST = "01_parallel_fields"
SCRIPTS = sorted(
    (ROOT / "examples").glob("[0-9]*.py"), key=lambda path: (path.stem == LAST, path.stem)
)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "gallery":
        source[0] = source[0].replace("<!-- examples -->", gallery())


def gallery() -> str:
    cards = "\n".join(card(path) for path in SCRIPTS)
    sections = "\n\n".join(section(path) for path in SCRIPTS)
    return f"::::{{grid}} 1 2 3 4\n:gutter: 3\n\n{cards}\n::::\n\n{sections}"


def card(script: Path) -> str:
    question, _, data = description(script)
    picture = f"pictures/{Path(data[0]).stem}.png"
    return (
        f":::{{grid-item-card}} {question}\n:link: {script.stem}\n:link-type: ref\n"
        f":img-top: {picture}\n:img-alt: Thumbnail\n:::\n"
    )


def section(script: Path) -> str:
    question, text, data = description(script)
    pictures = "\n\n".join(f"![{question}](pictures/{Path(name).stem}.png)" for name in data)
    links = ", ".join(f"[{name}](pictures/{name})" for name in data)
    path = f"../examples/{script.name}"
    return (
        f"({script.stem})=\n## {question}\n\n{text}\n\n{pictures}\n\n"
        f"Data: {links}. Script: {{download}}`{script.name} <{path}>`.\n\n"
        f":::{{dropdown}} Show the script\n"
        f"```{{literalinclude}} {path}\n:language: python\n```\n:::"
    )


def description(script: Path) -> tuple[str, str, list[str]]:
    """The question of a script, its text, and the data files that it writes."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    question, _, rest = docstring.partition("\n\n")
    text, *files = re.split(r"\bWrites\s", rest, maxsplit=1)
    data = re.findall(r"\w+\.csv", "".join(files))
    if not data:
        raise ExtensionError(f"{script.name} does not say which data it writes")
    return question, text.strip(), data


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
