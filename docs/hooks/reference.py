"""The reference: pages that pdoc makes of the docstrings, and a list of all public names.

In reference.md the line `<!-- names -->` becomes one table for each room, with the first sentence
of every docstring and a link to the rest. A name without a docstring is an error.
"""

import inspect
import re
import tempfile
import typing
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pdoc
import pdoc.extract
import pdoc.render
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import tutelage

ROOMS = sorted(name for name in tutelage.__all__ if inspect.ismodule(getattr(tutelage, name)))


_modules_in = pdoc.extract.iter_modules2


def modules_in(room: ModuleType) -> dict:
    """Modules as pdoc finds them, but for those behind a function of the same name.

    `spectra.density` is a function that lives in spectra/density.py; to pdoc both are the module.
    """
    exported = {name: getattr(room, name, None) for name in getattr(room, "__all__", [])}
    return {
        name: module
        for name, module in _modules_in(room).items()
        if name not in exported or inspect.ismodule(exported[name])
    }


pdoc.extract.iter_modules2 = modules_in


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
    tables = [table("tutelage", [n for n in tutelage.__all__ if n not in (*ROOMS, "__version__")])]
    tables += [table(f"tutelage.{room}") for room in ROOMS]
    return markdown.replace("<!-- names -->", "\n\n".join(tables))


def table(module: str, names: list[str] | None = None) -> str:
    room = import_module(module)
    target = f"api/{module.replace('.', '/')}.html"
    rows = [
        f"| [`{name}`]({target}#{name}) | {sentence(getattr(room, name), f'{module}.{name}')} |"
        for name in sorted(names or public(room), key=str.lower)
    ]
    heading = f"## {module}\n\n{sentence(room, module)}\n\n| name | what it is |\n| --- | --- |\n"
    return heading + "\n".join(rows)


def public(room: ModuleType) -> list[str]:
    """What a room exports, or what is defined in it if it does not say."""
    own = [name for name, thing in vars(room).items() if is_own(thing, room) and name[0] != "_"]
    return getattr(room, "__all__", own)


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
