"""Export a page that works without a server: a grid of precomputed pictures.

For a talk, a course, or the documentation.  Curves have six digits, numbers all digits.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import tutelage
from tutelage._arguments import validated
from tutelage.explorer.parameters import state_of
from tutelage.explorer.pictures import Picture, as_json
from tutelage.explorer.serve import check_installed
from tutelage.explorer.views import VIEWS, described
from tutelage.runs import files
from tutelage.runs.progress import Progress

Grid = dict[str, Sequence[Any]]
# Parameters that can be changed in each view of the page, and their values.
GRIDS: dict[str, Grid] = {
    "online": {
        "activation": ("relu", "erf"),
        "K": (2, 3),
        "learning_rate": (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5),
    },
    "transitions": {
        "activation": ("erf", "relu"),
        "K": (2, 5),
        "load": (2.0, 4.0, 6.0, 7.0, 8.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 46.0, 50.0, 65.0),
    },
    "activation": {"activation": ("relu", "erf", "swish", "gelu", "tanh")},
}
# Fixed parameters that differ from their defaults.
FIXED = {"transitions": {"followed": "lowest"}}
DIGITS = 6


@validated
def export(path: str, *, progress: bool = False) -> None:
    """Write one self-contained page with precomputed curves, which needs no server and no network.

    Args:
        path: a name that ends in ``.html``.
        progress: show a progress bar with the remaining time.

    Raises:
        InputError: if a package is missing, or the file cannot be written.
    """
    check_installed()
    checked = files.check_writable("path", path, (".html",), "explorer.html")
    from tutelage.explorer.bundle import page
    from tutelage.explorer.server import plotly_file

    content = page(data(GRIDS, progress), plotly_file().read_text(encoding="utf-8"))
    files.write(checked, content)


def data(grids: dict[str, Grid], progress: bool = False) -> dict[str, Any]:
    """Return views and pictures in the form that the page reads."""
    total = sum(len(list(itertools.product(*grid.values()))) for grid in grids.values())
    computed: dict[str, Any] = {}
    with Progress(progress, total, "pictures") as bar:
        for name, grid in grids.items():
            pictures = []
            for values in itertools.product(*grid.values()):
                given = {key: str(value) for key, value in zip(grid, values, strict=True)}
                pictures.append(_picture(VIEWS[name], {**FIXED.get(name, {}), **given}))
                bar.add(1)
            computed[name] = {"over": {k: list(v) for k, v in grid.items()}, "pictures": pictures}
    return {
        "views": [_relative(described(VIEWS[name])) for name in grids],
        "grids": computed,
        "note": f"Computed by tutelage {tutelage.__version__}",
    }


def _relative(view: dict[str, Any]) -> dict[str, Any]:
    """Link to the page of the documentation in the folder of the exported page."""
    page = view["documentation"]
    return {**view, "documentation": page and page.replace("/docs/", "") + ".html"}


def _picture(view: Any, given: dict[str, str]) -> dict[str, Any]:
    state = state_of(view.PARAMETERS, given)
    texts = {"python": view.python(state), "command": view.command(state)}
    drawing = view.draw(state)
    if view.DETAILS:
        _add(drawing, view.exported_details(state))
    text = as_json(drawing, **texts, seconds=0.0, state=state, compiled=False)
    picture = json.loads(text)
    for panel in picture["panels"]:
        for trace in panel["traces"]:
            trace.update({name: _rounded(trace[name]) for name in ("x", "y")})
    return picture


def _add(picture: Picture, details: Picture) -> None:
    """Add the marks, numbers and panels that a server would send later."""
    for panel in picture.panels:
        panel.marks.extend(details.panel_marks.get(panel.name, []))
    picture.panels += details.panels
    picture.numbers += details.numbers


def _rounded(value: object) -> Any:
    """Round numbers to six digits, which halves their length.

    >>> _rounded([0.1 + 0.2, None, 1 / 3])
    [0.3, None, 0.333333]
    """
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
