"""The views of the page, one module each.

A view has ``NAME``, ``TITLE``, ``FORMULA`` (MathML) with ``FORMULA_TEXT``, ``DOCUMENTATION``,
``PARAMETERS``, and

- ``draw(state)``: the `Picture`; ``details(state)``, if ``DETAILS``: results that take longer;
  ``exported_details(state)``: the part of them on an exported page;
- ``stream(state)``, if ``STREAMS``: traces that grow;
- ``dataset(state)``: the Dataset to download;
- ``python(state)``, ``command(state)``: the code to copy;
- ``program(state)``: a text that is equal for states with the same compiled functions.

The server loads these modules as well but computes nothing: JAX is imported inside functions.
"""

from types import ModuleType
from typing import Any

from tutelage.explorer.views import activation, online, papers, playback, transitions

VIEWS: dict[str, ModuleType] = {
    view.NAME: view for view in (online, transitions, activation, playback, papers)
}


def described(view: Any) -> dict[str, Any]:
    """Return the description of a view that the page reads."""
    return {
        "name": view.NAME,
        "title": view.TITLE,
        "formula": view.FORMULA,
        "formula_text": view.FORMULA_TEXT,
        "documentation": view.DOCUMENTATION and f"/docs/{view.DOCUMENTATION}",
        "streams": view.STREAMS,
        "details": view.DETAILS,
        "parameters": [parameter.described() for parameter in view.PARAMETERS],
    }
