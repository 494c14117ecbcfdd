"""Which code a section uses: what its imports lead to, read from the sources and not run.

The sources of a section are its own definition, with the definitions of its module that this
names, and the whole of every other module that an import leads to, inside functions as well.
A name of a room's door counts as an import of the module that has it, as the door's stub says.
Files are read once: a process runs what it has loaded.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tutelage

SOURCES = Path(tutelage.__file__).parents[1]
PACKAGE = "tutelage"


@cache
def digest(module: str, section: str, folder: Path = SOURCES) -> str:
    """Changes with the sources of a section, and with no others."""
    parts = _definition(_tree(module, folder), section)
    content = hashlib.sha256("".join(map(ast.dump, parts)).encode())
    for name in sorted(_reached(_named(module, parts, folder), folder) - {module}):
        path = _path(name, folder)
        assert path is not None
        content.update(name.encode() + path.read_bytes())
    return content.hexdigest()[:16]


def modules(module: str, folder: Path = SOURCES) -> set[str]:
    """The module, and all that importing and running it may load.

    >>> sorted(modules("tutelage._checks"))
    ['tutelage', 'tutelage._checks', 'tutelage._lazy', 'tutelage._precision']
    """
    return _reached({module}, folder)


def _reached(names: Iterable[str], folder: Path) -> set[str]:
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting.extend(_imported(module, folder))
    return reached


@cache
def _imported(module: str, folder: Path) -> set[str]:
    loaded = {module}.union(*_bindings(module, folder).values())
    packages = {found for name in loaded for found in _way(name, folder)}
    return packages | _named(module, [_tree(module, folder)], folder)


def _named(module: str, parts: Iterable[ast.AST], folder: Path) -> set[str]:
    """The modules behind the names that these parts of a module use."""
    bound = _bindings(module, folder)
    used = {name for part in parts for name in _used(part, bound)}
    return {found for name in used for found in _behind(name, folder)}


def _behind(name: str, folder: Path) -> set[str]:
    """The modules that the use of ``tutelage.a.b`` may load."""
    found = set(_way(name, folder))
    if name in found:  # a door that is handed on may give all it has
        found.update(*(_way(full, folder) for full in _stub(name, folder).values()))
    return found


def _way(name: str, folder: Path) -> list[str]:
    """The modules of ``tutelage.a.b``: packages, and the module that has b, also by a stub."""
    first, *rest = name.split(".")
    found = [first]
    while rest and _path(f"{found[-1]}.{rest[0]}", folder) is not None:
        found.append(f"{found[-1]}.{rest.pop(0)}")
    behind = _stub(found[-1], folder).get(rest[0]) if rest else None
    return found + (_way(behind, folder) if behind else [])


@cache
def _stub(package: str, folder: Path) -> dict[str, str]:
    """The full name behind each name of a door; none if the module is no door."""
    path = _path(package, folder)
    if path is None or not path.with_suffix(".pyi").is_file():
        return {}
    return {
        alias.name: ".".join(filter(None, (package, node.module, alias.name)))
        for node in ast.parse(path.with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def _tree(module: str, folder: Path) -> ast.Module:
    path = _path(module, folder)
    return ast.parse("" if path is None else path.read_text(encoding="utf-8"))


@cache
def _path(module: str, folder: Path) -> Path | None:
    path = folder.joinpath(*module.split("."))
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _definition(tree: ast.Module, section: str) -> list[ast.AST]:
    """``Section("fig1", ...)`` and the definitions of this module that it names, and those name."""
    definitions = {name: node for node in tree.body for name in _defined(node)}
    parts: list[ast.AST] = [node for node in ast.walk(tree) if _is_section(node, section)]
    for part in parts:  # which grow
        names = [node.id for node in ast.walk(part) if isinstance(node, ast.Name)]
        parts += [definitions.pop(name) for name in names if name in definitions]
    return parts or [tree]


def _is_section(node: ast.AST, name: str) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return False
    first = node.args[0]
    return node.func.id == "Section" and isinstance(first, ast.Constant) and first.value == name


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", ast.Pass())])
    return [name.id for part in targets for name in ast.walk(part) if isinstance(name, ast.Name)]


@cache
def _bindings(module: str, folder: Path) -> dict[str, set[str]]:
    """Every name that an import of the package binds, anywhere in the module: its full names."""
    bound: dict[str, set[str]] = {}
    for node in ast.walk(_tree(module, folder)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if f"{origin}{alias.name}.".startswith(f"{PACKAGE}."):
                    bound.setdefault(alias.asname or alias.name, set()).add(origin + alias.name)
    return bound


def _used(part: ast.AST, bound: dict[str, set[str]]) -> Iterator[str]:
    """Full names that begin with an imported one, as long as they are written."""
    inner = {id(node.value) for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    for node in ast.walk(part):
        if id(node) not in inner and isinstance(node, ast.Name | ast.Attribute):
            first, *rest = _chain(node)
            yield from (".".join([full, *rest]) for full in bound.get(first, ()))


def _chain(node: ast.AST) -> list[str]:
    """``a.b.c`` as its names; the first is "" if it is no name."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]
