"""CIFAR-10 from the binary version of its public archive, or from the unpacked folder."""

import hashlib
import os
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage._names import with_checked_arguments

ARCHIVE = "cifar-10-binary.tar.gz"
FOLDER = "cifar-10-batches-bin"
# MD5 sums of the batches, as in public programs; the test batch is the last one.
BATCHES = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
RECORD_BYTES = 1 + 3 * 32 * 32  # bytes of an image: label, red, green, blue
GET_IT = f"get {ARCHIVE} from https://www.cs.toronto.edu/~kriz/cifar.html and give its name"
NAMES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


@with_checked_arguments
class Images(NamedTuple):
    """Images for training and for evaluation.

    train, test: bytes of shape (images, height, width, colours).
    train_labels, test_labels: numbers of classes from 0, of shape (images,).
    """

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def part(self, train: int, test: int) -> "Images":
        """Return the first images of both sets."""
        return Images(
            self.train[:train],
            self.train_labels[:train],
            self.test[:test],
            self.test_labels[:test],
        )

    def halved(self) -> "Images":
        """Return images of half the height and width: means of four pixels, rounded down."""
        return self._replace(train=_halved(self.train), test=_halved(self.test))


def _halved(x: np.ndarray) -> np.ndarray:
    n, height, width, colours = x.shape
    quarters = x.reshape(n, height // 2, 2, width // 2, 2, colours)
    return (quarters.sum(axis=(2, 4), dtype=np.uint16) // 4).astype(np.uint8)


def check_images(images: Images) -> None:
    """Check that both sets have images of one size, with labels from 0 to 9."""
    if not (len(images.train) and len(images.test)):
        raise InputError("images", "an empty set of images", "there have to be images in both sets")
    size = np.shape(images.train)[1:2]
    for name in ("train", "test"):
        x, labels = getattr(images, name), np.asarray(getattr(images, f"{name}_labels"))
        if np.shape(x)[1:] != (*size, *size, 3):
            allowed = "all have to be squares of one size, in three colours"
            raise InputError("images", f"{name} of shape {np.shape(x)}", allowed)
        if labels.shape != (len(x),) or labels.dtype.kind not in "iu":
            received = f"{name}_labels of shape {labels.shape} and type {labels.dtype}"
            raise InputError(
                "images", received, f"there has to be a whole number for {len(x)} images"
            )
        if labels.min() < 0 or labels.max() >= len(NAMES):
            received = f"{name}_labels from {labels.min()} to {labels.max()}"
            raise InputError("images", received, f"they have to be from 0 to {len(NAMES) - 1}")


@validated
def cifar10(path: str | Path | None = None) -> Images:
    """Read the 50,000 training and 10,000 test images of CIFAR-10.

    Args:
        path: cifar-10-binary.tar.gz, the folder that it unpacks to, or a folder with one of these;
            by default the folder that the environment variable TUTELAGE_DATA names, or
            ``~/.local/share/tutelage``.

    Raises:
        InputError: if there are no such files, or the MD5 sum of a batch is not the official one.
    """
    folder = data_folder() if path is None else Path(path).expanduser()
    place = _find(folder)
    if place is None:
        allowed = f"it has to be {ARCHIVE}, its unpacked folder, or a folder that contains either"
        raise InputError("path", repr(str(folder)), allowed, GET_IT)
    batches = _from_archive(place) if place.is_file() else _from_folder(place)
    return _images([_batch(place / name, content) for name, content in batches.items()])


def data_folder() -> Path:
    """Return TUTELAGE_DATA, or the folder ``tutelage`` where the system keeps data of programs."""
    folder = os.environ.get("TUTELAGE_DATA")
    if folder:
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "tutelage"


def is_available() -> bool:
    """Return whether the files of CIFAR-10 exist in the default folder."""
    return _find(data_folder()) is not None


def _find(place: Path) -> Path | None:
    """Find the archive, or the folder with batches, at a path or inside it."""
    if place.is_file():
        return place
    for one in (place, place / FOLDER, place / ARCHIVE):
        if one.is_file() or any((one / name).is_file() for name in BATCHES):
            return one
    return None


def _from_archive(path: Path) -> dict[str, bytes]:
    try:
        with tarfile.open(path) as archive:
            members = {Path(member.name).name: member for member in archive if member.isfile()}
            return {name: archive.extractfile(members[name]).read() for name in BATCHES}  # type: ignore[union-attr]
    # A damaged archive raises errors of tar files, of gzip and of zlib, which have no common class.
    except (tarfile.TarError, zlib.error, KeyError, EOFError, OSError) as problem:
        allowed = f"its batches could not be read ({type(problem).__name__}): is it {ARCHIVE}?"
        raise InputError("path", repr(str(path)), allowed, GET_IT) from None


def _from_folder(folder: Path) -> dict[str, bytes]:
    for name in BATCHES:
        if not (folder / name).is_file():
            raise InputError("path", repr(str(folder)), f"{name} is not in it", GET_IT)
    return {name: (folder / name).read_bytes() for name in BATCHES}


def md5(content: bytes) -> str:
    """Compute the MD5 sum that identifies a file; it is not used for security."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _batch(file: Path, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read images of shape (images, 32, 32, 3) and labels of an official file."""
    official = BATCHES[file.name]
    if md5(content) != official:
        raise InputError(
            "path",
            f"{str(file)!r}, {len(content)} bytes with the MD5 sum {md5(content)}",
            f"the official file has {official}; this file is different, damaged or incomplete",
            GET_IT,
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD_BYTES)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, records[:, 0].astype(np.int64)


def _images(batches: list[tuple[np.ndarray, np.ndarray]]) -> Images:
    """Join the batches; the last one is for evaluation."""
    *train, test = batches
    images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    return Images(images, labels, np.ascontiguousarray(test[0]), test[1])
