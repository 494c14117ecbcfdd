"""The source code that a result depends on, and its digest, which changes when the code does.

The code of a function, or of a section of a paper, is its definition, the definitions of its module
that it names, and all of every module that it imports directly or indirectly, also inside
functions.  Source files are parsed, not run.  A lazily loaded name counts as an import of the
module that defines it, by the stub of its package.  Files are read once, because a process runs the
code that it has loaded.
"""

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tutelage

SOURCES = Path(tutelage.__file__).parents[1]
PACKAGE = "tutelage"


@cache
def digest(module: str, name: str, folder: Path = SOURCES, values: tuple[str, ...] = ()) -> str:
    """Return a digest of the code that a function or a section of a module uses.

    values: packages whose types the arguments may have: all their public names count.
    """
    parts = _definition(_tree(module, folder), name)
    content = hashlib.sha256("".join(map(ast.dump, parts)).encode())
    named = _named(module, parts, folder).union(*(_modules_of(name, folder) for name in values))
    for used in sorted(_reached(named, folder) - {module}):
        path = _path(used, folder)
        assert path is not None
        content.update(used.encode() + path.read_bytes())
    return content.hexdigest()[:16]


@cache
def digest_of_package(folder: Path = SOURCES / PACKAGE) -> str:
    """Return a digest of all source files of the package; it takes 8 ms, `digest` up to 0.7 s."""
    content = hashlib.sha256()
    for root, inner, files in os.walk(folder):
        inner.sort()
        for name in sorted(file for file in files if file.endswith(".py")):
            with open(f"{root}/{name}", "rb") as file:
                source = file.read()
            path = f"{root[len(str(folder)) :]}/{name}"
            content.update(f"{path} {len(source)}\n".encode() + source)
    return content.hexdigest()


def modules(module: str, folder: Path = SOURCES) -> set[str]:
    """Return the module and all modules that importing and running it may load.

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
    packages = {module for name in loaded for module in _module_path(name, folder)}
    return packages | _named(module, [_tree(module, folder)], folder)


def _named(module: str, parts: Iterable[ast.AST], folder: Path) -> set[str]:
    """Return the modules that define the names used by these parts of a module."""
    bound = _bindings(module, folder)
    used = {name for part in parts for name in _used(part, bound)}
    return {module for name in used for module in _modules_of(name, folder)}


def _modules_of(name: str, folder: Path) -> set[str]:
    """Return the modules that the use of ``tutelage.a.b`` may load."""
    modules = set(_module_path(name, folder))
    if name in modules:  # a package that is passed on may load all its names
        modules.update(*(_module_path(full, folder) for full in _stub(name, folder).values()))
    return modules


def _module_path(name: str, folder: Path) -> list[str]:
    """Return the packages of ``tutelage.a.b`` and the module that defines b, also by a stub."""
    first, *rest = name.split(".")
    path = [first]
    while rest and _path(f"{path[-1]}.{rest[0]}", folder) is not None:
        path.append(f"{path[-1]}.{rest.pop(0)}")
    full = _stub(path[-1], folder).get(rest[0]) if rest else None
    return path + (_module_path(full, folder) if full else [])


@cache
def _stub(package: str, folder: Path) -> dict[str, str]:
    """Return the full name of each lazily loaded name; empty without a stub."""
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


def _definition(tree: ast.Module, wanted: str) -> list[ast.AST]:
    """Return a definition and all definitions of its module that it depends on.

    It is ``def evolve(...)``, or ``Section("fig1", ...)``; without one, the whole module.
    """
    definitions = {name: node for node in tree.body for name in _defined(node)}
    parts: list[ast.AST] = [node for node in ast.walk(tree) if _is_section(node, wanted)]
    parts += [definitions.pop(wanted)] if wanted in definitions else []
    for part in parts:  # the list grows during the loop
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
    """Return the full names of every name that imports of the package bind in the module."""
    bound: dict[str, set[str]] = {}
    for node in ast.walk(_tree(module, folder)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if f"{origin}{alias.name}.".startswith(f"{PACKAGE}."):
                    bound.setdefault(alias.asname or alias.name, set()).add(origin + alias.name)
    return bound


def _used(part: ast.AST, bound: dict[str, set[str]]) -> Iterator[str]:
    """Yield dotted names rooted at an imported name."""
    inner = {id(node.value) for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    for node in ast.walk(part):
        if id(node) not in inner and isinstance(node, ast.Name | ast.Attribute):
            first, *rest = _chain(node)
            yield from (".".join([full, *rest]) for full in bound.get(first, ()))


def _chain(node: ast.AST) -> list[str]:
    """Split ``a.b.c`` into its names; the first is "" if the root is not a name."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]
