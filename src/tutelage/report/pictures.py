"""The files of a figure: PNG, SVG and PDF, its data in NetCDF, and its animation if it has one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage import results
from tutelage.papers.section import Figure
from tutelage.runs import files

# Without dates, so that equal figures give files with equal bytes.
METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
FRAMES_PER_SECOND = 8
# With these settings, `Figure.set_layout_engine(None)` removes the engine.
NO_LAYOUT: dict[Any, bool] = {"figure.autolayout": False, "figure.constrained_layout.use": False}


@dataclass(frozen=True)
class PictureFiles:
    """Names of the files of a figure; ``film`` is the animation, "" if there is none."""

    png: str
    svg: str
    pdf: str
    data: list[str]
    film: str = ""

    @property
    def files(self) -> list[str]:
        return [self.png, self.svg, self.pdf, *self.data, *([self.film] if self.film else [])]


def save(figure: Figure, stem: str, folder: Path) -> PictureFiles:
    """Write all files of a figure; return their names."""
    import matplotlib.pyplot as plt

    stem = "_".join(filter(None, (stem, figure.name)))
    with plt.rc_context({"svg.hashsalt": stem, **NO_LAYOUT}):
        for suffix, metadata in METADATA.items():
            with files.replacing(folder / f"{stem}.{suffix}", follow_link=False) as file:
                figure.picture.savefig(file, dpi=150, metadata=metadata)
            # All formats have the layout of the first one: Matplotlib would draw the figure twice
            # for each, the first time without output, to compute it again.
            figure.picture.set_layout_engine(None)
    data = [_save_data(dataset, part, stem, folder) for part, dataset in figure.data.items()]
    film = _save_film(figure.film, stem, folder) if figure.film is not None else ""
    return PictureFiles(f"{stem}.png", f"{stem}.svg", f"{stem}.pdf", data, film)


def close(figure: Figure) -> None:
    """Release the memory of a figure."""
    import matplotlib.pyplot as plt

    plt.close(figure.picture)
    if figure.film is not None:
        plt.close(figure.film._fig)  # an animation has no public attribute for its figure


def _save_data(dataset: Any, part: str, stem: str, folder: Path) -> str:
    name = "_".join(filter(None, (stem, part))) + ".nc"
    results.save(dataset, folder / name)
    return name


def _save_film(film: Any, stem: str, folder: Path) -> str:
    name = f"{stem}.gif"
    with files.replacing(folder / name, follow_link=False) as file:
        film.save(file, writer="pillow", fps=FRAMES_PER_SECOND)
    return name
