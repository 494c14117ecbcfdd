"""Rooms whose names are loaded when they are first used.

The stub beside a room's ``__init__`` says in which module each public name lives: type checkers
read it, and so do we, because `lazy_loader` reads no star: with one, what a room exports is
exported again without a second list.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazy_loader


def lazy_names(room: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package ``room``, from its stub."""
    rooms, names = _stub(Path(file).parent)
    load, listed, public = lazy_loader.attach(room, rooms, names)

    def get(name: str) -> Any:
        if name not in public:
            known = ", ".join(public)
            raise AttributeError(f"module {room!r} has no attribute {name!r}; it has {known}")
        return load(name)

    return get, listed, public


def _stub(folder: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Rooms in a room, and its names by their modules."""
    rooms: list[str] = []
    names: dict[str, list[str]] = {}
    stub = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8"))
    for line in (one for one in stub.body if isinstance(one, ast.ImportFrom)):
        found = [alias.name for alias in line.names]
        if line.module is None:
            rooms += found
        elif found == ["*"]:
            inner = _stub(folder / line.module)[1].values()
            names.setdefault(line.module, []).extend(name for some in inner for name in some)
        else:
            names.setdefault(line.module, []).extend(found)
    return rooms, names
