"""The report: every section of the papers, computed once, stored, and shown on one page."""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
