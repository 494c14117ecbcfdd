"""The report: every section of the papers, computed once, kept, and shown on one page."""

from tutelage._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, __file__)
