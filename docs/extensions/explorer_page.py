"""One page of the explorer: a few curves computed while the documentation is built.

In explorer.md the line `<!-- page -->` becomes the link to it.
"""

from sphinx.application import Sphinx

from tutelage.explorer.bundle import page as page_text
from tutelage.explorer.export import data
from tutelage.explorer.server import plotly_file

NAME = "explorer_page.html"
GRIDS = {
    "online": {"learning_rate": [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0]},
    "transitions": {"load": [10.0, 20.0, 30.0, 40.0, 44.0, 45.0, 46.0, 48.0, 55.0, 65.0, 90.0]},
    "activation": {"activation": ["relu", "erf", "linear"]},
}


def write_page(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        content = page_text(data(GRIDS), plotly_file().read_text(encoding="utf-8"))
        (app.outdir / NAME).write_text(content, encoding="utf-8")


def link_to_page(app: Sphinx, docname: str, source: list[str]) -> None:
    link = f'<a href="{NAME}">One page of it</a> with computed curves works without a server.'
    source[0] = source[0].replace("<!-- page -->", link)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", link_to_page)
    app.connect("build-finished", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
