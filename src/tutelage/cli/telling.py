"""What the commands tell: a console and tables for people, numbers for programs, files."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console
    from rich.table import Table

    from tutelage.averages import Estimate

LOG_WIDTH = 160  # a log has no width of its own; this is what the widest table needs
Result = TypeVar("Result")


def console(stderr: bool = False) -> "Console":
    """A console that is as wide as its terminal, and wide enough in a log."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = LOG_WIDTH
    return made


def waiting(compute: Callable[[], Result]) -> Result:
    """The result, with a sign of life on a terminal and silence in a log."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        return compute()
    with screen.status("computing"):
        return compute()


def plain(text: str) -> str:
    """Square brackets are matrices here, not markup."""
    return text.replace("[", r"\[")


def table(*headings: str) -> "Table":
    """Columns without lines."""
    from rich.table import Table

    return Table(*headings, box=None, pad_edge=False)


def framed(title: str, *headings: str) -> "Table":
    """Columns in a frame, with a title."""
    from rich.table import Table

    return Table(*headings, title=title)


def matrix(values: Any, spread: Any = None) -> str:
    """A line for each row; ± a spread where there is one."""
    shown = [[f"{float(x):z9.6f}" for x in line] for line in values]
    if spread is not None:
        widths = [[f" ± {float(x):.6f}" for x in line] for line in spread]
        both = zip(shown, widths, strict=True)
        shown = [[a + b for a, b in zip(*line, strict=True)] for line in both]
    return "\n".join("  ".join(line) for line in shown)


def estimates_table(
    made: "Table", found: Any, names: Mapping[str, str], value: str, error: str
) -> None:
    """Show the findings of these names: an estimate with its error, or why there is none."""
    for name, words in names.items():
        estimate = getattr(found, name)
        if estimate is None:
            made.add_row(words, "none", found.reasons.get(name, ""))
        else:
            numbers = float(estimate.value), float(estimate.error)
            made.add_row(words, f"{numbers[0]:{value}}", f"{numbers[1]:{error}}")
    console().print(made)


def for_json(value: Any) -> Any:
    """Nested lists of numbers; what is not finite, which JSON lacks, becomes None."""
    if isinstance(value, list):
        return [for_json(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def dataset_for_json(dataset: "xr.Dataset", *coordinates: str) -> dict[str, Any]:
    """Attributes, these coordinates and all curves."""
    names = (*coordinates, *(str(name) for name in dataset.data_vars))
    curves = {name: for_json(dataset[name].values.tolist()) for name in names}
    return {**{str(key): _attribute(value) for key, value in dataset.attrs.items()}, **curves}


def _attribute(value: Any) -> Any:
    """What was recorded as JSON in a text, as itself."""
    try:
        return json.loads(value) if isinstance(value, str) else for_json(value)
    except ValueError:
        return value


def estimate_for_json(estimate: "Estimate | None") -> Any:
    if estimate is None:
        return None
    return {"value": float(estimate.value), "error": float(estimate.error)}


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=1))


def save(dataset: "xr.Dataset", out: Path | None) -> None:
    """Write the file of ``--out``, if one was asked for."""
    if out is not None:
        from tutelage import results

        results.save(dataset, out)


def draw(picture: Callable[[Any], Any], plot: Path | None) -> None:
    """Write the file of ``--plot``: ``picture`` gets `tutelage.figures`, returns a figure."""
    if plot is not None:
        use_files_only()
        from tutelage import figures

        picture(figures).savefig(plot, dpi=150)


def use_files_only() -> None:
    """Pictures go to files: no window, and no display needed."""
    import matplotlib

    matplotlib.use("Agg")
