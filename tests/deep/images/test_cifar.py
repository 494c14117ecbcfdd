"""CIFAR-10: what is read is what was written, and nothing that is not the official file is read."""

import io
import pickle
import tarfile

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.deep.images import cifar

NUMBER = 4  # images in a batch of a made-up archive


class Touched:
    """Unpickling it would leave a trace."""

    def __reduce__(self):
        return (cifar.NAMES.count, ("cat",))


def batches():
    """Six made-up batches: labels and rows of red, green and blue."""
    random = np.random.default_rng(0)
    return [
        (random.integers(0, 10, NUMBER), random.integers(0, 256, (NUMBER, 3072), np.uint8))
        for _ in range(6)
    ]


def binary(labels, rows):
    return np.concatenate([labels.astype(np.uint8)[:, None], rows], axis=1).tobytes()


def pickled(labels, rows):
    """As Python 2 and NumPy 1 wrote it: keys are bytes, and arrays come from numpy.core."""
    made = pickle.dumps({b"data": rows, b"labels": labels.tolist()}, protocol=2)
    return made.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def archive(folder, contents):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def register(monkeypatch, sums, contents):
    """The checksums of made-up files in place of the official ones."""
    for name, content in contents.items():
        monkeypatch.setitem(sums, name, cifar.md5(content))


@pytest.fixture
def made(monkeypatch):
    """A made-up archive of each kind, and the made-up batches in it, all registered."""
    content = batches()
    kinds = {
        "cifar-10-binary.tar.gz": (cifar.BINARY, cifar.FOLDERS[0], binary),
        "cifar-10-python.tar.gz": (cifar.PICKLED, cifar.FOLDERS[1], pickled),
    }
    files = {}
    for name, (sums, folder, write) in kinds.items():
        parts = {part: write(*batch) for part, batch in zip(sums, content, strict=True)}
        register(monkeypatch, sums, parts)
        files[name] = (archive(folder, parts), folder, parts)
    register(monkeypatch, cifar.ARCHIVES, {k: file[0] for k, file in files.items()})
    return content, files


def assert_same(found, content):
    """Entry by entry: row r holds the pixel (y, x) of colour c at 1024 c + 32 y + x."""
    whole, labels = np.concatenate([found.train, found.test]), [y for y, _ in content]
    assert np.concatenate([found.train_labels, found.test_labels]).tolist() == [
        int(y) for part in labels for y in part
    ]
    rows = np.concatenate([rows for _, rows in content])
    assert whole.shape == (6 * NUMBER, 32, 32, 3) and len(found.test) == NUMBER
    for i, c, y, x in [(0, 0, 0, 0), (3, 1, 0, 5), (7, 2, 31, 0), (23, 0, 17, 30)]:
        assert whole[i, y, x, c] == rows[i, 1024 * c + 32 * y + x]
    np.testing.assert_array_equal(whole.transpose(0, 3, 1, 2).reshape(len(rows), -1), rows)


@pytest.mark.parametrize("name", ["cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"])
def test_archive_and_folder_give_what_was_written(made, name, tmp_path):
    content, files = made
    packed, folder, parts = files[name]
    (tmp_path / name).write_bytes(packed)
    assert_same(cifar.cifar10(tmp_path / name), content)
    assert_same(cifar.cifar10(tmp_path), content)  # the folder in which the archive lies
    (tmp_path / name).unlink()
    (tmp_path / folder).mkdir()
    for part, raw in parts.items():
        (tmp_path / folder / part).write_bytes(raw)
    assert_same(cifar.cifar10(tmp_path / folder), content)
    assert_same(cifar.cifar10(tmp_path), content)


def test_the_place_by_default_is_named_by_the_environment(made, tmp_path, monkeypatch):
    content, files = made
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    assert not cifar.is_there()
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(files["cifar-10-binary.tar.gz"][0])
    assert cifar.is_there()
    assert_same(cifar.cifar10(), content)
    monkeypatch.delenv("TUTELAGE_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert cifar.data_folder() == tmp_path / "share" / "tutelage"


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[: len(b) // 2], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b"", bytes.upper],
    ids=["truncated", "one bit", "empty", "another file"],
)
@pytest.mark.parametrize("name", ["cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"])
def test_a_damaged_archive_is_refused(made, name, spoil, tmp_path):
    (tmp_path / name).write_bytes(spoil(made[1][name][0]))
    with pytest.raises(
        InputError, match=rf"path: got .* MD5 sum .*remove .*{name} and run `tutelage"
    ):
        cifar.cifar10(tmp_path / name)


def test_nobody_is_told_to_remove_a_file_that_only_was_named_by_mistake(tmp_path):
    (tmp_path / "thesis.tex").write_text("no images")
    with pytest.raises(InputError, match=r"MD5 sum .* Try: the name of one of them"):
        cifar.cifar10(tmp_path / "thesis.tex")


@pytest.mark.parametrize("kind", [0, 1])
def test_a_damaged_or_missing_batch_is_refused_by_its_name(made, kind, tmp_path):
    _, folder, parts = list(made[1].values())[kind]
    place = tmp_path / folder
    place.mkdir()
    for part, raw in parts.items():
        (place / part).write_bytes(raw)
    last = list(parts)[-1]
    (place / last).write_bytes(parts[last][:-1])
    with pytest.raises(
        InputError, match=rf"{last}', \d+ bytes with the MD5 sum .*remove {place} and"
    ):
        cifar.cifar10(place)
    (place / last).unlink()
    with pytest.raises(InputError, match=f"{last} is not in it. Try: remove {place} and run"):
        cifar.cifar10(tmp_path)


def test_nothing_is_unpickled_before_its_checksum_is_right(made, tmp_path, monkeypatch):
    loads = []
    monkeypatch.setattr(cifar._Plain, "load", lambda self: loads.append(self))
    folder = tmp_path / cifar.FOLDERS[1]
    folder.mkdir()
    for part in cifar.PICKLED:
        (folder / part).write_bytes(pickle.dumps(Touched()))
    with pytest.raises(InputError, match="MD5 sum"):
        cifar.cifar10(folder)
    assert not loads


def test_even_then_only_arrays_are_unpickled():
    with pytest.raises(pickle.UnpicklingError, match="is no array"):
        cifar._Plain(io.BytesIO(pickle.dumps(Touched()))).load()


def test_an_archive_without_its_batches_is_refused(monkeypatch, tmp_path):
    name = "cifar-10-binary.tar.gz"
    content = archive("elsewhere", {"readme.html": b"no images"})
    register(monkeypatch, cifar.ARCHIVES, {name: content})
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="batches could not be taken out"):
        cifar.cifar10(tmp_path / name)


def test_where_nothing_is_it_says_how_to_get_it(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere.tar.gz"):
        with pytest.raises(InputError, match=r"neither an archive .*tutelage data cifar10"):
            cifar.cifar10(place)


def test_halved_images_are_means_of_four_pixels():
    rows = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    half = cifar.Images(rows, np.zeros(2, int), rows[:1], np.zeros(1, int)).halved()
    assert half.train.shape == (2, 2, 2, 3) and half.test.shape == (1, 2, 2, 3)
    for i, y, x, c in np.ndindex(2, 2, 2, 3):
        four = [int(rows[i, 2 * y + u, 2 * x + v, c]) for u in (0, 1) for v in (0, 1)]
        assert half.train[i, y, x, c] == sum(four) // 4
