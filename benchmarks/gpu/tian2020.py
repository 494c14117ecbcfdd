"""The trainings behind the figures of tian2020 at the paper's sizes, for a machine with a GPU.

    python benchmarks/gpu/tian2020.py FOLDER [NAME ...] [--small]
    python benchmarks/gpu/tian2020.py FOLDER --draw PICTURES

The first trains, saves ``NAME.nc`` in the folder after each training and prints how long it took;
without names, all of them.  What was interrupted goes on where it was, if the folder ``build`` has
been kept.  The second needs no GPU: it draws those files, prints every statement of the paper
beside what was measured, and saves pictures and the data in them.
"""

import sys
import time
from pathlib import Path

from tutelage import results
from tutelage._jax import jax
from tutelage.papers.tian2020.trainings import TRAININGS

LAYERS = range(1, 5)
OF_TEACHERS = [f"teacher_correlation_{layer}" for layer in LAYERS]
OF_STUDENTS = [
    f"{name}_{layer}" for layer in LAYERS for name in ("student_correlation", "strength")
]


def trained(name, full):
    if name != "uniform":
        return TRAININGS[name](full)
    # The longest one: 625,000 steps.
    Path("build").mkdir(exist_ok=True)
    return TRAININGS[name](full, checkpoint=f"build/tian2020_{name}{'' if full else '_small'}.npz")


def train(folder, *names, full=True):
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}", flush=True)
    for name in names or TRAININGS:
        begin = time.perf_counter()
        dataset = trained(name, full)
        results.save(dataset, Path(folder) / f"{name}.nc")
        needed = time.perf_counter() - begin
        print(f"{name}: {needed:.1f} s, {dataset.nbytes / 2**20:.2f} MiB", flush=True)


def draw(folder, pictures):
    import matplotlib

    matplotlib.use("Agg")
    from PIL import Image

    from tutelage.papers.section import Figure

    for figure, (name, parts, drawn) in figures().items():
        dataset = results.load(Path(folder) / f"{name}.nc")
        for part in parts(dataset):
            if isinstance(part, Figure):
                file = Path(pictures) / f"tian2020_{figure}.png"
                part.picture.savefig(file, dpi=80)
                Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)
                results.save(drawn(dataset), file.with_suffix(".nc"))
            else:
                measured = f"{part.computed:.4g} ± {part.uncertainty:.2g}"
                print(f"| {part.item} | {part.printed} | {measured} | {part.verdict} |")


def figures():
    """For each one: the training, what draws it and decides, and what part of the data is seen."""
    from tutelage.papers.tian2020 import figures as two_layers, layers as deeper

    return {
        "fig3": ("nodes", lambda ds: two_layers.nodes(ds, True), _nodes),
        "fig4": ("layers", deeper.layers, _layers),
        "fig5": ("recovery", lambda ds: two_layers.recovered(ds, True), _recovered),
        "fig6": ("followed", two_layers.followed, _followed),
        "fig7": ("recovery", lambda ds: two_layers.best(ds, True), _best),
        "fig11": ("recovery", two_layers.losses, _losses),
        "fig12": ("uniform", lambda ds: deeper.uniform(ds, True), _layers),
    }


def _nodes(ds):
    return ds[["student_correlation_1", "strength_1"]].sel(polarity=1.0).isel(epoch=-1)


def _layers(ds):
    """Student nodes of the run that is drawn, teacher nodes of all."""
    shown = ds[OF_STUDENTS].isel(run=0, drop=True)
    return shown.merge(ds[["evaluation_loss", *OF_TEACHERS]]).assign_attrs(ds.attrs)


def _recovered(ds):
    best = ds["teacher_correlation_1"].isel(epoch=[5, -1])
    return (best > 0.95).astype("int8").to_dataset(name="recovered_1").assign_attrs(ds.attrs)


def _followed(ds):
    shown = ds[["correlation_1"]].isel(run=slice(3)).rename(run="shown")
    return shown.merge(ds[["follows_1"]].astype("int8")).assign_attrs(ds.attrs)


def _best(ds):
    mean = ds[["teacher_correlation_1"]].sel(multiple=5).mean("run")
    return mean.assign_attrs(ds.attrs)


def _losses(ds):
    return ds[["evaluation_loss"]].mean("run").assign_attrs(ds.attrs)


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--draw" in words:
        draw(*(word for word in words if word != "--draw"))
    else:
        train(*(word for word in words if word != "--small"), full="--small" not in words)
