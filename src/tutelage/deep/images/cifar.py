"""CIFAR-10 from its standard archives or the folders they unpack to, checksums verified."""

import hashlib
import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tutelage._checks import InputError
from tutelage._door import door
from tutelage._names import named

# The sums of the two archives are those printed on the page of the data set.  The sums of single
# files are those that public programs which fetch these archives hold against what they unpack;
# the binary ones are also what `deep.images.package` finds when it rebuilds the batches from a
# source that has nothing to do with the archives.
ARCHIVES = {
    "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-python.tar.gz": "c58f30108f718f92721af3b95e74349a",
}
FOLDERS = ("cifar-10-batches-bin", "cifar-10-batches-py")
# The batch to evaluate with comes last.
BINARY = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
PICKLED = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
ROW = 1 + 3 * 32 * 32  # bytes of an image in a binary batch: label, red, green, blue
NAMES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


@named
class Images(NamedTuple):
    """Images to learn from and others to evaluate with.

    train, test: bytes of shape (images, height, width, colours).
    train_labels, test_labels: numbers of classes from 0, of shape (images,).
    """

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray

    def part(self, train: int, test: int) -> "Images":
        """The first so many of both."""
        return Images(
            self.train[:train],
            self.train_labels[:train],
            self.test[:test],
            self.test_labels[:test],
        )

    def halved(self) -> "Images":
        """Images of half the height and width, means of four pixels rounded down."""
        return self._replace(train=_halved(self.train), test=_halved(self.test))


def _halved(x: np.ndarray) -> np.ndarray:
    n, height, width, colours = x.shape
    quarters = x.reshape(n, height // 2, 2, width // 2, 2, colours)
    return (quarters.sum(axis=(2, 4), dtype=np.uint16) // 4).astype(np.uint8)


def check_images(argument: str, images: Any) -> None:
    """Images of one size in both sets, with a label from 0 to 9 for each."""
    if not isinstance(images, Images):
        allowed = "it has to be what tl.deep.images.cifar10 returns"
        raise InputError(argument, type(images).__name__, allowed, "tl.deep.images.Images(...)")
    if not (len(images.train) and len(images.test)):
        raise InputError(argument, "an empty set", "there have to be images in both sets")
    size = np.shape(images.train)[1:2]
    for name in ("train", "test"):
        x, labels = getattr(images, name), np.asarray(getattr(images, f"{name}_labels"))
        if np.shape(x)[1:] != (*size, *size, 3):
            allowed = "all have to be squares of one size, in three colours"
            raise InputError(argument, f"{name} of shape {np.shape(x)}", allowed)
        if labels.shape != (len(x),) or labels.dtype.kind not in "iu":
            came = f"{name}_labels of shape {labels.shape} and type {labels.dtype}"
            raise InputError(argument, came, f"there has to be a whole number for {len(x)} images")
        if labels.min() < 0 or labels.max() >= len(NAMES):
            came = f"{name}_labels from {labels.min()} to {labels.max()}"
            raise InputError(argument, came, f"they have to be from 0 to {len(NAMES) - 1}")


@door
def cifar10(path: str | Path | None = None) -> Images:
    """The 50,000 training and 10,000 test images of CIFAR-10.

    Nothing is read, and above all nothing unpickled, before its MD5 sum is the official one.

    Args:
        path: cifar-10-binary.tar.gz, cifar-10-python.tar.gz, a folder that one of them unpacks
            to, or a folder in which one of these lies; by default where ``tutelage data cifar10``
            puts it.

    Raises:
        InputError: nothing there, or files that are not the official ones.
    """
    place = data_folder() if path is None else Path(path).expanduser()
    found = _find(place)
    if found is None:
        allowed = "there is neither an archive of CIFAR-10 nor a folder with its batches"
        hint = (
            "tutelage data cifar10, or get cifar-10-binary.tar.gz by hand "
            "(https://www.cs.toronto.edu/~kriz/cifar.html) and give its name"
        )
        raise InputError("path", repr(str(place)), allowed, hint)
    return _from_archive(found) if found.is_file() else _from_folder(found)


def data_folder() -> Path:
    """TUTELAGE_DATA, or the folder ``tutelage`` where the system keeps data of programs."""
    given = os.environ.get("TUTELAGE_DATA")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "tutelage"


def _find(place: Path) -> Path | None:
    """A file, a folder with batches, or one of these in a folder."""
    if place.is_file():
        return place
    inside = [place, *(place / name for name in FOLDERS), *(place / name for name in ARCHIVES)]
    for one in inside:
        batches = any((one / name).is_file() for sums in (BINARY, PICKLED) for name in sums)
        if one.is_file() or batches:
            return one
    return None


def is_there(folder: Any = None) -> bool:
    """Whether there is something for `cifar10` to read; its checksums are not looked at."""
    return _find(data_folder() if folder is None else Path(folder).expanduser()) is not None


def md5(content: bytes) -> str:
    """The sum by which the files of CIFAR-10 are known; it is not meant as a secret."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _from_archive(path: Path) -> Images:
    content = path.read_bytes()
    came = md5(content)
    if came not in ARCHIVES.values():
        known = " or ".join(f"{name} ({sum_})" for name, sum_ in ARCHIVES.items())
        raise InputError(
            "path",
            f"{str(path)!r}, {len(content)} bytes with the MD5 sum {came}",
            f"it has to be {known}: it is another file, damaged or not complete",
            try_again(path) if path.name in ARCHIVES else "the name of one of them",
        )
    pickled = came == ARCHIVES["cifar-10-python.tar.gz"]
    names = PICKLED if pickled else BINARY
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            parts = {Path(member.name).name: member for member in archive if member.isfile()}
            batches = {name: archive.extractfile(parts[name]).read() for name in names}  # type: ignore[union-attr]
    except (tarfile.TarError, KeyError, EOFError, OSError) as problem:
        allowed = f"batches could not be taken out of it ({type(problem).__name__})"
        raise InputError("path", repr(str(path)), allowed, try_again(path)) from None
    return _images([_batch(str(path), name, batches[name], pickled) for name in names])


def _from_folder(folder: Path) -> Images:
    pickled = not any((folder / name).is_file() for name in BINARY)
    batches = []
    for name, sum_ in (PICKLED if pickled else BINARY).items():
        file = folder / name
        if not file.is_file():
            allowed = f"{name} is not in it"
            raise InputError("path", repr(str(folder)), allowed, try_again(folder))
        content = file.read_bytes()
        check_sum("path", str(file), content, sum_, try_again(folder))
        batches.append(_batch(str(file), name, content, pickled))
    return _images(batches)


def try_again(path: Path) -> str:
    """What to try with damaged files: as long as they are there, nothing is fetched."""
    return f"remove {path} and run `tutelage data cifar10` again"


def check_sum(argument: str, file: str, content: bytes, sum_: str, hint: str) -> None:
    """Refuse what is not, bit for bit, the official file."""
    if md5(content) != sum_:
        raise InputError(
            argument,
            f"{file!r}, {len(content)} bytes with the MD5 sum {md5(content)}",
            f"the official one has {sum_}: it is another file, damaged or not complete",
            hint,
        )


def _batch(file: str, name: str, content: bytes, pickled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 3072 bytes, red, green and blue, and labels."""
    if pickled:
        entries = _Plain(io.BytesIO(content), encoding="bytes").load()
        return np.asarray(entries[b"data"], np.uint8), np.asarray(entries[b"labels"], np.int64)
    if not content or len(content) % ROW:
        allowed = f"{name} has to consist of rows of {ROW} bytes"
        raise InputError("path", f"{file!r} with {len(content)} bytes", allowed, "fetch it again")
    rows = np.frombuffer(content, np.uint8).reshape(-1, ROW)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


_ARRAY = ("numpy._core.multiarray", "_reconstruct")
# What the pickle of an array calls, under the names of Python 2 and NumPy 1 too.
ALLOWED = {
    _ARRAY: _ARRAY,
    ("numpy.core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy", "ndarray"): ("numpy", "ndarray"),
    ("numpy", "dtype"): ("numpy", "dtype"),
    ("_codecs", "encode"): ("_codecs", "encode"),
}


class _Plain(pickle.Unpickler):
    """Arrays of NumPy and nothing else, though the checksum says what is in the file."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return super().find_class(*ALLOWED[module, name])
        raise pickle.UnpicklingError(f"{module}.{name} is no array")


def _images(batches: list[tuple[np.ndarray, np.ndarray]]) -> Images:
    """The last batch is the one to evaluate with."""
    *train, test = [
        (rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels) for rows, labels in batches
    ]
    return Images(
        np.concatenate([x for x, _ in train]),
        np.concatenate([y for _, y in train]),
        np.ascontiguousarray(test[0]),
        test[1],
    )
