"""A paper: its key, its title, and the modules that have its sections."""

from importlib import import_module
from typing import NamedTuple

from tutelage.papers.section import Section


class Paper(NamedTuple):
    """The entry of a paper in ``papers/KEY/__init__.py``; its modules are loaded on demand.

    modules: of this folder, in the order in which their ``SECTIONS`` are shown.
    """

    key: str
    title: str
    modules: tuple[str, ...]

    @property
    def entries(self) -> "list[Entry]":
        names = [f"tutelage.papers.{self.key}.{module}" for module in self.modules]
        return [Entry(self, part, name) for name in names for part in import_module(name).SECTIONS]


class Entry(NamedTuple):
    """A section with its paper and its module."""

    paper: Paper
    section: Section
    module: str

    @property
    def stem(self) -> str:
        """The stem of the file names of this section."""
        return f"{self.paper.key}_{self.section.name}"
