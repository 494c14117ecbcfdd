"""The trainings behind the figures of tian2020 at the paper's size, for a machine with a GPU.

    python benchmarks/gpu/tian2020.py FOLDER NAME:SETTING[:LOOK] ...
    python benchmarks/gpu/tian2020.py FOLDER --keep
    python benchmarks/gpu/tian2020.py docs/pictures --draw

The first trains what is named, such as ``recovery:code``, saves it as ``NAME_SETTING_LOOK.nc`` in
the folder, and prints how long it took.  A second look (``recovery:code:1``) has as many runs of
its own as the first.  The second needs no GPU: it joins all looks in the folder, and puts what rows
and pictures are made of into the package, for every report.  The third draws what is in the package
for the documentation.
"""

import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from tutelage import results
from tutelage._jax import jax
from tutelage.papers import recorded
from tutelage.papers.tian2020.readings import joined
from tutelage.papers.tian2020.trainings import SETTINGS, TRAININGS

PIXELS = 1200  # width of the pictures of the documentation


def commit():
    """Of the code that trains."""
    command = ("git", "describe", "--always", "--dirty")
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def train(folder, names):
    machine = jax.devices()[0].device_kind
    print(f"jax {jax.__version__}, {machine}", flush=True)
    for name in names:
        training, setting, look = (*name.split(":"), "0")[:3]
        begin = time.perf_counter()
        dataset = TRAININGS[training](setting, int(look))
        seconds = round(time.perf_counter() - begin, 1)
        dataset = dataset.assign_attrs(machine=machine, seconds=seconds, commit=commit())
        results.save(dataset, Path(folder) / f"{training}_{setting}_{look}.nc")
        print(f"{name}: {seconds} s, {dataset.nbytes / 2**20:.2f} MiB", flush=True)


def keep(folder):
    there = Path(recorded.__file__).parent / "tian2020" / recorded.FOLDER
    for name, settings in SETTINGS.items():
        for setting in settings:
            looks = []
            for look in count():
                file = Path(folder) / f"{name}_{setting}_{look}.nc"
                if not file.exists():
                    break
                looks.append(results.load(file))
            if not looks:
                continue
            what = " ".join(f"{name}:{setting}:{look}" for look in range(len(looks)))
            result = joined(name, looks).assign_attrs(
                command=f"python benchmarks/gpu/tian2020.py FOLDER {what}",
                seconds=sum(one.attrs["seconds"] for one in looks),
            )
            file = there / f"{name}_{setting}.nc"
            results.save(result, file)
            print(
                f"{file.name}: {result.attrs['runs']} runs, {file.stat().st_size / 2**10:.0f} KiB"
            )


def draw(folder):
    import matplotlib

    matplotlib.use("Agg")
    from PIL import Image

    from tutelage import figures
    from tutelage.papers import sections
    from tutelage.papers.section import Figure

    drawn = [("tian2020", f"fig{number}") for number in (3, 4, 5, 6, 7, 8, 11, 12)]
    for paper, name in (*drawn, ("beyond", "starts")):
        ((_, section, _),) = sections([paper], name)
        with figures.style():  # colours of lines are looked up when they are drawn
            for part in section.compute(False):
                if isinstance(part, Figure):
                    stem = "_".join(filter(None, ("tian2020", name, part.name)))
                    file = Path(folder) / f"{stem}.png"
                    part.picture.savefig(file, dpi=PIXELS / part.picture.get_figwidth())
                    matplotlib.pyplot.close(part.picture)
                    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    {("--keep",): keep, ("--draw",): draw}.get(tuple(names), lambda folder: train(folder, names))(
        folder
    )
