"""The report: every section of the papers, computed once, kept, and shown on one page."""

from tutelage._lazy import lazy

__all__ = ["Part", "build", "write_page"]

_HOME = {"build": "building", "Part": "parts", "write_page": "page"}
__getattr__, __dir__ = lazy(__name__, _HOME)
