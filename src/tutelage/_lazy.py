"""Rooms whose names are loaded when they are first used.

A room's ``__init__`` says in which of its modules each public name lives, and nothing else is
imported until somebody asks: a curve does not wait for solvers that it does not need.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def lazy(room: str, home: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list]]:
    """``__getattr__`` and ``__dir__`` of a room.

    room: the ``__name__`` of the package.
    home: for every public name the module in which it lives.
    """
    package = sys.modules[room]

    class Room(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            # Importing states.py would bind `states` to the module instead of the function.
            if not (name in home and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    package.__class__ = Room

    def load(name: str) -> Any:
        if name not in home:
            known = ", ".join(sorted(home))
            raise AttributeError(f"module {room!r} has no attribute {name!r}; it has {known}")
        value = getattr(import_module(f"{room}.{home[name]}"), name)
        setattr(package, name, value)  # the next look-up no longer comes here
        return value

    return load, lambda: sorted(home)
