"""A paper: its key, its title, and the modules that have its sections."""

from importlib import import_module
from typing import NamedTuple

from tutelage.papers.section import Section


class Paper(NamedTuple):
    """What ``papers/KEY/__init__.py`` says of a paper; its modules are loaded when asked for.

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
    """A section, whose it is, and the module that has it."""

    paper: Paper
    section: Section
    module: str

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.paper.key}_{self.section.name}"
