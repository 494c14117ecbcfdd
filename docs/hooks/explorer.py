"""One page of the explorer: a few curves computed while the documentation is built.

In explorer.md the line `<!-- page -->` becomes the link to it.
"""

from mkdocs.structure.files import File

from tutelage.explorer.bundle import page as written
from tutelage.explorer.export import data
from tutelage.explorer.server import plotly_file

NAME = "explorer_page.html"
GRIDS = {
    "online": {"learning_rate": [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0]},
    "transitions": {"load": [10.0, 20.0, 30.0, 40.0, 44.0, 45.0, 46.0, 48.0, 55.0, 65.0, 90.0]},
    "activation": {"activation": ["relu", "erf", "linear"]},
}


def on_files(files, config):
    content = written(data(GRIDS), plotly_file().read_text(encoding="utf-8"))
    files.append(File.generated(config, NAME, content=content))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    link = f"[One page of it]({NAME}) with curves that were computed before works without a server."
    return markdown.replace("<!-- page -->", link)
