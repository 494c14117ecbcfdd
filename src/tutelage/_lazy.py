"""Packages whose public names are imported when they are first used.

The stub ``__init__.pyi`` of a package lists its public names and their modules, for type checkers
and for this module.  A star in it exports all public names of a subpackage; `lazy_loader` does not
read stars.
"""

import ast
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lazy_loader


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from its stub."""
    packages, names = _stub(Path(file).parent)
    load, listed, public = lazy_loader.attach(package, packages, names)

    def get(name: str) -> Any:
        if name not in public:
            available = ", ".join(public)
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; it has {available}"
            )
        with _no_garbage_collection():
            return load(name)

    return get, listed, public


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Import without garbage collection, which would take a fifth of the time of imports."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _stub(folder: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return the subpackages of a package, and its public names grouped by module."""
    packages: list[str] = []
    names: dict[str, list[str]] = {}
    stub = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8"))
    for line in (one for one in stub.body if isinstance(one, ast.ImportFrom)):
        aliases = [alias.name for alias in line.names]
        if line.module is None:
            packages += aliases
        elif aliases == ["*"]:
            inner = _stub(folder / line.module)[1].values()
            names.setdefault(line.module, []).extend(name for some in inner for name in some)
        else:
            names.setdefault(line.module, []).extend(aliases)
    return packages, names
