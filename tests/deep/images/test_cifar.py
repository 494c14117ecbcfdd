"""CIFAR-10: images are read as they were written, and only official files are read."""

import io
import tarfile

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.deep.images import cifar

NUMBER = 4  # images in a batch of a made-up archive


def archive(contents):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"{cifar.FOLDER}/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


@pytest.fixture
def archived_images(monkeypatch):
    """Labels and rows of six made-up batches, which count as official, and their files."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 10, 6 * NUMBER)
    rows = random.integers(0, 256, (6 * NUMBER, 3072), np.uint8)
    records = [bytes([label]) + row.tobytes() for label, row in zip(labels, rows, strict=True)]
    files = {}
    for i, name in enumerate(cifar.BATCHES):
        files[name] = b"".join(records[NUMBER * i : NUMBER * (i + 1)])
        monkeypatch.setitem(cifar.BATCHES, name, cifar.md5(files[name]))
    return (labels, rows), files


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def assert_same(found, content):
    """Entry by entry: row r holds the pixel (y, x) of colour c at 1024 c + 32 y + x."""
    labels, rows = content
    whole = np.concatenate([found.train, found.test])
    assert [*found.train_labels, *found.test_labels] == labels.tolist()
    assert whole.shape == (6 * NUMBER, 32, 32, 3) and len(found.test) == NUMBER
    for i, c, y, x in [(0, 0, 0, 0), (3, 1, 0, 5), (7, 2, 31, 0), (23, 0, 17, 30)]:
        assert whole[i, y, x, c] == rows[i, 1024 * c + 32 * y + x]
    np.testing.assert_array_equal(whole.transpose(0, 3, 1, 2).reshape(len(rows), -1), rows)


def test_archive_and_folder_give_what_was_written(archived_images, tmp_path):
    content, files = archived_images
    packed = tmp_path / cifar.ARCHIVE
    packed.write_bytes(archive({"readme.html": b"", **files}))
    assert_same(cifar.cifar10(packed), content)
    assert_same(cifar.cifar10(tmp_path), content)  # the folder in which the archive lies
    packed.unlink()
    write(tmp_path / cifar.FOLDER, files)
    assert_same(cifar.cifar10(tmp_path / cifar.FOLDER), content)
    assert_same(cifar.cifar10(tmp_path), content)


def test_the_place_by_default_is_named_by_the_environment(archived_images, tmp_path, monkeypatch):
    content, files = archived_images
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    assert not cifar.is_available()
    (tmp_path / cifar.ARCHIVE).write_bytes(archive(files))
    assert cifar.is_available()
    assert_same(cifar.cifar10(), content)
    monkeypatch.delenv("TUTELAGE_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert cifar.data_folder() == tmp_path / "share" / "tutelage"


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[: len(b) // 2], lambda b: b[:1000] + b[1001:], lambda b: b"", bytes.upper],
    ids=["truncated", "one byte", "empty", "another file"],
)
def test_a_damaged_archive_is_refused(archived_images, spoil, tmp_path):
    file = tmp_path / cifar.ARCHIVE
    file.write_bytes(spoil(archive(archived_images[1])))
    with pytest.raises(InputError, match=rf"path: got '{file}.* Try: get cifar-10-binary"):
        cifar.cifar10(file)


@pytest.mark.parametrize("packed", [True, False])
def test_one_other_bit_in_a_batch_is_refused_by_its_name(archived_images, packed, tmp_path):
    files = dict(archived_images[1])
    *_, last = files
    files[last] = files[last][:-1] + bytes([files[last][-1] ^ 1])
    place = tmp_path / (cifar.ARCHIVE if packed else cifar.FOLDER)
    if packed:
        place.write_bytes(archive(files))
    else:
        write(place, files)
    with pytest.raises(InputError, match=rf"{last}', \d+ bytes with the MD5 sum"):
        cifar.cifar10(place)


def test_a_missing_batch_is_refused_by_its_name(archived_images, tmp_path):
    files = dict(archived_images[1])
    del files["data_batch_4.bin"]
    write(tmp_path / cifar.FOLDER, files)
    with pytest.raises(InputError, match=r"data_batch_4\.bin is not in it"):
        cifar.cifar10(tmp_path)
    (tmp_path / cifar.ARCHIVE).write_bytes(archive(files))
    with pytest.raises(InputError, match=r"batches could not be read \(KeyError"):
        cifar.cifar10(tmp_path / cifar.ARCHIVE)


def test_without_files_the_error_explains_how_to_get_them(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere.tar.gz"):
        with pytest.raises(InputError, match=r"^path: .*Try: get cifar-10-binary.tar.gz from http"):
            cifar.cifar10(place)


def test_halved_images_are_means_of_four_pixels():
    rows = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    half = cifar.Images(rows, np.zeros(2, int), rows[:1], np.zeros(1, int)).halved()
    assert half.train.shape == (2, 2, 2, 3) and half.test.shape == (1, 2, 2, 3)
    for i, y, x, c in np.ndindex(2, 2, 2, 3):
        four = [int(rows[i, 2 * y + u, 2 * x + v, c]) for u in (0, 1) for v in (0, 1)]
        assert half.train[i, y, x, c] == sum(four) // 4
