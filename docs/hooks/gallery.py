"""The gallery: one section for each script in examples/, from its docstring.

In gallery.md the line `<!-- examples -->` becomes the question that a script asks, the text below
it, the pictures it has drawn, its data and the script itself. A missing picture is an error.
"""

import ast
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("[0-9]*.py"))


def on_files(files, config):
    for script in SCRIPTS:
        name = f"examples/{script.name}"
        files.append(File.generated(config, name, abs_src_path=str(script)))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    if page.file.src_uri != "gallery.md":
        return markdown
    return markdown.replace("<!-- examples -->", "\n\n".join(section(path) for path in SCRIPTS))


def section(script: Path) -> str:
    code = script.read_text(encoding="utf-8")
    question, _, rest = (ast.get_docstring(ast.parse(code)) or "").partition("\n\n")
    text, *written = re.split(r"\bWrites\s", rest, maxsplit=1)
    data = re.findall(r"\w+\.csv", "".join(written))
    if not data:
        raise PluginError(f"{script.name} does not say which data it writes")
    drawn = "\n\n".join(f"![{question}](pictures/{Path(d).stem}.png)" for d in data)
    links = ", ".join(f"[{name}](pictures/{name})" for name in data)
    return (
        f"## {question}\n\n{text.strip()}\n\n{drawn}\n\n"
        f"Data: {links}. Script: [{script.name}](examples/{script.name}).\n\n"
        '<details class="example" data-search-exclude markdown><summary>Show the script</summary>'
        f"\n\n```python\n{code}```\n\n</details>"
    )
