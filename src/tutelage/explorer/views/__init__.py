"""The views of the page, one module each.

A view has ``NAME``, ``TITLE``, ``FORMULA`` (MathML) with ``FORMULA_TEXT``, ``DOCUMENTATION``,
``PARAMETERS``, and

- ``draw(state)``: the `Picture`; ``details(state)``, if ``DETAILS``: what takes longer, and
  ``exported_details(state)``: the part of it that an exported page has;
- ``stream(state)``, if ``STREAMS``: traces that grow;
- ``dataset(state)``: what is downloaded;
- ``python(state)``, ``command(state)``: what is copied;
- ``program(state)``: a text that is equal for states which share their compiled programs.

These modules are loaded by the server, too, which computes nothing: JAX is imported inside.
"""

from types import ModuleType
from typing import Any

from tutelage.explorer.views import activation, online, papers, playback, transitions

VIEWS: dict[str, ModuleType] = {
    view.NAME: view for view in (online, transitions, activation, playback, papers)
}


def described(view: Any) -> dict[str, Any]:
    """For the page."""
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
