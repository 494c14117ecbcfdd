"""Switch on float64 in JAX without importing JAX and without an environment variable.

Child processes of the user would inherit an environment variable.
"""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OPTION = "jax_enable_x64"


def enable_float64() -> None:
    """Switch on float64: now if JAX is imported, else when it is imported."""
    if "jax" in sys.modules:
        sys.modules["jax"].config.update(OPTION, True)
    else:
        sys.meta_path.insert(0, _OnImportOfJax())


class _OnImportOfJax:
    """An import hook that switches on float64 when JAX is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "jax":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_enable(module: ModuleType) -> None:
                load(module)
                module.config.update(OPTION, True)
                sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

            spec.loader.exec_module = load_and_enable  # type: ignore[method-assign]
        return spec
