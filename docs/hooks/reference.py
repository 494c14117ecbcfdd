"""The reference: pages that pdoc makes of the docstrings, and a list of all public names.

In reference.md the line `<!-- names -->` becomes one table for each room, with the first sentence
of every docstring and a link to the rest. A name without a docstring is an error.
"""

import inspect
import re
import tempfile
import typing
import warnings
from pathlib import Path
from types import ModuleType

import pdoc
import pdoc.extract
import pdoc.render
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import tutelage


def rooms_in(room: ModuleType) -> dict[str, ModuleType]:
    """Rooms that are public names of a room."""
    named = {name: getattr(room, name) for name in sorted(getattr(room, "__all__", []))}
    return {name: thing for name, thing in named.items() if inspect.ismodule(thing)}


_modules_in = pdoc.extract.iter_modules2
# The modules behind public names have no page of their own.
pdoc.extract.iter_modules2 = lambda room: {
    name: module for name, module in _modules_in(room).items() if name in rooms_in(room)
}


def all_rooms(room: ModuleType) -> list[ModuleType]:
    """A room and those in it, to any depth."""
    return [room, *(inner for one in rooms_in(room).values() for inner in all_rooms(one))]


def on_files(files, config):
    """Hand pdoc's pages to mkdocs as files under api/, so that links to them are checked."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.render.configure(
            docformat="google", template_directory=Path(__file__).parent / "templates"
        )
        pdoc.pdoc("tutelage", output_directory=Path(folder))
        for path in sorted(Path(folder).rglob("*.*")):
            name = f"api/{path.relative_to(folder).as_posix()}"
            files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    if page.file.src_uri != "reference.md":
        return markdown
    tables = [table(room) for room in all_rooms(tutelage)]
    return markdown.replace("<!-- names -->", "\n\n".join(tables))


def table(room: ModuleType) -> str:
    module = room.__name__
    target = f"api/{module.replace('.', '/')}.html"
    rows = [
        f"| [`{name}`]({target}#{name}) | {sentence(getattr(room, name), f'{module}.{name}')} |"
        for name in sorted(public(room), key=str.lower)
    ]
    heading = f"## {module}\n\n{sentence(room, module)}\n\n| name | what it is |\n| --- | --- |\n"
    return heading + "\n".join(rows)


def public(room: ModuleType) -> list[str]:
    """What a room exports but for rooms in it, or what is defined in it if it does not say."""
    own = [name for name, thing in vars(room).items() if is_own(thing, room) and name[0] != "_"]
    inner = (*rooms_in(room), "__version__")
    return [name for name in getattr(room, "__all__", own) if name not in inner]


def is_own(thing: object, room: ModuleType) -> bool:
    return callable(thing) and getattr(thing, "__module__", None) == room.__name__


def sentence(thing: object, name: str) -> str:
    """The first sentence of a docstring; of a constant or a type's other name, what it is."""
    if typing.get_origin(thing) or not (inspect.ismodule(thing) or callable(thing)):
        return f"`{thing!r}`".replace("typing.", "").replace("|", "\\|")
    text = inspect.getdoc(thing)
    if not text:
        raise PluginError(f"{name} has no docstring")
    first = re.split(r"\n\s*\n|(?<=\.)\s", text, maxsplit=1)[0]
    return " ".join(first.split()).replace("|", "\\|")
