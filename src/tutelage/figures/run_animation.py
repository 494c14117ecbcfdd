"""A run as an animated picture: overlap matrices as shaded cells, next to the error over time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError, positive_integer
from tutelage._given import ArrayLike
from tutelage.figures.axes import figure_function
from tutelage.figures.kinds import Figure
from tutelage.figures.runs import mean_over_runs, time_symbol
from tutelage.figures.style import check_size, colour, size_in_style
from tutelage.figures.ticks import plain_log_ticks
from tutelage.runs import files

LAST_FRAME_SECONDS = 1.5
DEFAULT_SIZE = (7.2, 2.5)  # inches, in the style "screen"
DOTS_PER_INCH = 100
MAX_LABELLED_UNITS = 8  # with more units the cells have no tick labels
MATRICES = (("R", "teacher $n$", r"$R_{in}$"), ("Q", "student $k$", r"$Q_{ik}$"))


@figure_function
def animation(
    run: xr.Dataset,
    path: str | Path,
    *,
    frames: int = 60,
    frames_per_second: int = 12,
    figsize: ArrayLike | None = None,
) -> Path:
    """Write the overlaps as shaded cells, next to the error over time, as an animated GIF.

    Args:
        run: a Dataset with Q, R and generalization_error over ``time``, such as that of
            `tutelage.online.evolve`; of several simulated runs the mean is drawn.
        path: a name that ends in ``.gif``.
        frames: the number of pictures, at equal distances over the recorded times.
        frames_per_second: a whole number of at least 1.  The last picture stays longer.
        figsize: width and height in inches; by default those of a row of panels in the style.

    Returns:
        The path.
    """
    import matplotlib.pyplot as plt

    path = files.check_writable("path", path, (".gif",), "run.gif")
    count = positive_integer("frames", frames)
    speed = positive_integer("frames_per_second", frames_per_second)
    mean = finite_part(mean_over_runs(run))
    most = min(count, mean.sizes["time"])  # more pictures would repeat some
    steps = np.linspace(0, mean.sizes["time"] - 1, most).round().astype(int)
    figure, show = first_picture(mean, figsize)
    try:
        pictures = [_pixels(figure, show, step) for step in steps]
    finally:
        plt.close(figure)
    seconds = np.full(steps.size, 1 / speed)
    seconds[-1] += LAST_FRAME_SECONDS
    milliseconds = [round(1000 * x) for x in seconds]
    with files.replacing(path) as file:
        first, *others = pictures
        first.save(file, save_all=True, append_images=others, duration=milliseconds, loop=0)
    return path


def _pixels(figure: Figure, show: Callable[[int], object], step: int) -> Any:
    """Draw one picture as an image with a palette; all have the layout of the first one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    show(step)
    figure.set_dpi(DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    figure.set_layout_engine("none")
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(128)


def finite_part(run: xr.Dataset) -> xr.Dataset:
    """Return a run up to the last time at which all overlaps are finite."""
    Q = run["Q"].transpose("time", "student", "student_2").values
    finite = np.isfinite(Q).all((1, 2))
    if not finite.any():
        allowed = "at least one recorded state has to be finite"
        raise InputError("run", "overlaps that are NaN or infinite", allowed)
    return run.isel(time=np.flatnonzero(finite))


def first_picture(run: xr.Dataset, figsize: ArrayLike | None) -> tuple[Any, Any]:
    """Draw the first picture; return its figure and a function that updates it to another time."""
    import matplotlib.pyplot as plt

    size = size_in_style(*DEFAULT_SIZE) if figsize is None else check_size(figsize)
    options: Any = {"width_ratios": (1, 1, 1.8), "layout": "constrained"}
    figure, axes = plt.subplots(1, 3, figsize=size, **options)
    largest = float(max(abs(run["R"]).max(), abs(run["Q"]).max())) or 1.0
    cells = [
        _cells(box, run, name, label, title, largest)
        for box, (name, label, title) in zip(axes[:2], MATRICES, strict=True)
    ]
    axes[0].figure.colorbar(cells[0], ax=axes[:2], shrink=0.8)
    time, errors = run["time"].values, run["generalization_error"].values
    curve = axes[2]
    curve.plot(time, errors, color=colour(0), linewidth=1)
    (past,) = curve.plot([], [], color=colour(0), linewidth=3)
    (now,) = curve.plot([], [], "o", color=colour(0))
    curve.set(xlabel=time_symbol(run), ylabel=r"$\varepsilon_g$", title="generalization error")
    if np.all(errors > 0) and errors.max() > 10 * errors.min():
        curve.set_yscale("log")
        plain_log_ticks(curve.yaxis)

    def show(step: int) -> list[Any]:
        for picture, (name, *_) in zip(cells, MATRICES, strict=True):
            picture.set_data(run[name].values[step])
        past.set_data(time[: step + 1], errors[: step + 1])
        now.set_data(time[step : step + 1], errors[step : step + 1])
        return []

    return figure, show


def _cells(axes: Any, run: xr.Dataset, name: str, label: str, title: str, largest: float) -> Any:
    picture = axes.imshow(run[name].values[0], cmap="RdBu_r", vmin=-largest, vmax=largest)
    rows, columns = run[name].shape[1:]
    axes.set(xlabel=label, title=title)
    axes.set_ylabel("student $i$")
    for axis, count in ((axes.xaxis, columns), (axes.yaxis, rows)):
        few = count <= MAX_LABELLED_UNITS
        axis.set_ticks(range(count) if few else [], range(1, count + 1) if few else None)
    axes.grid(False)
    return picture
