"""Rooms whose names are loaded when they are first used.

The stub beside a room's ``__init__`` says in which module each public name lives: type checkers
read it, and so does `lazy_loader`.  Ours is only the message that lists what there is.
"""

from collections.abc import Callable
from typing import Any

import lazy_loader


def names_of(room: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the package ``room``, from its stub."""
    load, listed, public = lazy_loader.attach_stub(room, file)

    def get(name: str) -> Any:
        if name not in public:
            known = ", ".join(public)
            raise AttributeError(f"module {room!r} has no attribute {name!r}; it has {known}")
        return load(name)

    return get, listed, public
