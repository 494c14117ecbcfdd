"""Annotations are checked while the tests run: kinds and shapes, by beartype and jaxtyping.

Every function and method of the package is wrapped when its module is imported, and its check is
made when it is first called: nine tenths of the functions are not called by a file of tests.
Some are called a hundred thousand times by a test: the first calls in each test are checked.
Functions inside functions are left out, since each call of the outer one would make their checks
again.  Public functions and constructors refuse arguments themselves, with an `InputError`: of a
public function the result is checked.
"""

import ast
import functools
import gc
import sys
from collections import Counter
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, FunctionType
from typing import Any, get_type_hints

import beartype
import jaxtyping
import numpy as np

# Whole numbers are numbers; NumPy returns its own ones, also in the place of arrays without axes.
CHECKS = beartype.BeartypeConf(
    hint_overrides=beartype.FrozenDict(
        {
            bool: bool | np.bool_,
            int: int | np.integer,
            float: float | int | np.integer | np.floating | jaxtyping.Real[np.ndarray, ""],
            np.ndarray: np.ndarray | np.generic,
        }
    )
)
MAX_CHECKED_CALLS = 10  # of a function in one test
_calls: Counter[Callable[..., Any]] = Counter()  # of each function in the present test
PACKAGE = "tutelage"
CHECKER = f"beartype {beartype.__version__}"
NAMES = ("_with_checked_annotations", "_with_checked_result")
# Decorators of public functions.
PUBLIC = {"validated", "recorded", "figure_function"}


def with_checked_annotations(
    function: Callable[..., Any], result_only: bool = False
) -> Callable[..., Any]:
    """Return the function with its arguments and its result checked against its annotations."""

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        nonlocal check
        if _calls[function] >= MAX_CHECKED_CALLS:
            return function(*args, **options)
        _calls[function] += 1
        if check is None:
            hints = _resolved(function)
            if result_only:
                hints = {name: hint for name, hint in hints.items() if name == "return"}
            check = beartype.beartype(_copy(function, hints), conf=CHECKS)
            if "jaxtyping" in str(hints):  # only then there are shapes to compare
                check = jaxtyping.jaxtyped(check, typechecker=None)
        return check(*args, **options)

    check = None
    return checked


def begin_test() -> None:
    """Check the next calls of every function again."""
    _calls.clear()


with_checked_result = functools.partial(with_checked_annotations, result_only=True)


def _resolved(function: Any) -> dict[str, Any]:
    """Return the annotations, without those that name types imported for static checkers only."""

    def resolved(hint: Any) -> Any:
        holder = type("", (), {"__annotations__": {"hint": hint}})
        try:
            return get_type_hints(holder, function.__globals__)["hint"]
        except NameError:
            return Any

    return {name: resolved(hint) for name, hint in function.__annotations__.items()}


def _copy(function: Any, hints: dict[str, Any]) -> FunctionType:
    """Return a copy of the function with other annotations."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, hints
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


class _Decorate(ast.NodeTransformer):
    """Put a decorator next to every function of a module or of a class."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        arguments = (a for a in ast.walk(node.args) if isinstance(a, ast.arg))
        annotated = node.returns or any(a.annotation for a in arguments)
        if annotated and node.name != "__init__":
            decorators = (x for d in node.decorator_list for x in ast.walk(d))
            names = {getattr(x, "id", getattr(x, "attr", "")) for x in decorators}
            node.decorator_list.append(ast.Name(NAMES[bool(PUBLIC & names)], ast.Load()))
        return node


class _Loader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:
        tree = _Decorate().visit(ast.parse(data, path))
        code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec", optimize=_optimize)
        return code

    def get_data(self, path: Any) -> bytes:
        if str(path).endswith(".pyc"):  # compiled without the decorators
            raise FileNotFoundError(path)
        return super().get_data(path)

    def set_data(self, path: Any, data: Any, *, _mode: int = 0o666) -> None:
        """Write no compiled file, which would be used without the checks."""

    def exec_module(self, module: Any) -> None:
        for name, decorator in zip(
            NAMES, (with_checked_annotations, with_checked_result), strict=True
        ):
            setattr(module, name, decorator)
        super().exec_module(module)


class _Finder:
    """Find the modules of the package as Python does, and load them with the loader above."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


gc.set_threshold(200_000)  # hardly anything that imports, or JAX while it traces, make is garbage
assert not [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
