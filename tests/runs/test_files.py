"""Files: complete or absent, whatever happens, and refused before any work if they cannot be
written.
"""

import errno
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.runs import files
from tutelage.runs.checkpoint import Checkpoint


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_replaced_when_it_is_complete(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("before")
    with files.replacing(path) as temporary:
        temporary.write_text("after")
        assert path.read_text() == "before"
        assert temporary.parent == tmp_path and temporary.suffix == ".txt"
    assert path.read_text() == "after" and os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt])
def test_the_old_file_stays_if_writing_fails(tmp_path, problem):
    path = files.write(tmp_path / "file.txt", "before")
    with pytest.raises(problem), files.replacing(path) as temporary:
        temporary.write_text("half")
        raise problem
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["file.txt"]


def test_a_file_is_flushed_before_it_is_replaced(tmp_path, monkeypatch):
    path = files.write(tmp_path / "file.txt", "before")
    seen = []
    monkeypatch.setattr(os, "fsync", lambda file: seen.append(path.read_text()))
    files.write(path, "after")
    assert seen == ["before"] and path.read_text() == "after"


def test_a_full_disk_leaves_the_old_file(small_disk):
    path = files.write(small_disk / "file.txt", "before")
    with pytest.raises(OSError, match="No space left"):
        files.write(path, b"0" * 100_000)
    assert path.read_text() == "before" and os.listdir(small_disk) == ["file.txt"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    target = files.write(tmp_path / "target.txt", "before")
    target.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(target)
    files.write(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink() and target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_the_longest_allowed_name_can_be_written(tmp_path):
    path = tmp_path / f"{251 * 'a'}.txt"
    files.check_writable("--out", path, (".txt",), "")
    assert files.write(path, "long").read_text() == "long"


def unwritable(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere" / "file.txt")
    (tmp_path / "circle.txt").symlink_to(tmp_path / "circle.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    yield tmp_path / "folder.txt", "it is a folder"
    yield tmp_path / "dangling.txt", "it is a link to .* there is no folder"
    yield tmp_path / "circle.txt", "it cannot be written"
    yield tmp_path / "pipe.txt", "it is not a regular file"
    yield tmp_path / f"{300 * 'a'}.txt", "File name too long"
    yield tmp_path / "nowhere" / "file.txt", "there is no folder"
    yield tmp_path / "file.pdf", r"the name has to end in \.txt"
    yield "/proc/file.txt", "it cannot be written"
    for odd in (None, 3, b"file.txt", "", "."):
        yield odd, "name"


def test_files_that_cannot_be_written_are_refused_before_any_work(tmp_path):
    for path, words in unwritable(tmp_path):
        with pytest.raises(InputError, match=f"--out: got .*{words}.*Try: run.txt"):
            files.check_writable("--out", path, (".txt",), "run.txt")
    assert not list(tmp_path.glob(".*")), "trying leaves nothing behind"


def test_write_protected_folders_and_files_are_refused(tmp_path):
    closed = files.write(tmp_path / "closed.txt", "mine")
    closed.chmod(0o444)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write everywhere")
    for path, words in ((closed, "protected"), (locked / "file.txt", "Permission denied")):
        with pytest.raises(InputError, match=words):
            files.check_writable("--out", path, (".txt",), "")


def test_a_full_disk_is_refused_before_any_work(small_disk):
    while True:
        try:
            with (small_disk / "filling").open("ab", buffering=0) as file:
                file.write(b"0" * 4096)
        except OSError:
            break
    with pytest.raises(InputError, match="No space left"):
        files.check_writable("--out", small_disk / "file.txt", (".txt",), "")


def test_a_link_to_nothing_in_a_folder_makes_the_file(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "file.txt")
    path = files.check_writable("--out", tmp_path / "link.txt", (".txt",), "")
    files.write(path, "there")
    assert (tmp_path / "file.txt").read_text() == "there"


@pytest.mark.parametrize(
    "folder", ["file.txt", "file.txt/below", "/proc/folder", 300 * "a", "", None]
)
def test_folders_that_cannot_be_are_refused(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    Path("file.txt").touch()
    with pytest.raises(InputError, match=r"--out: got"):
        files.check_folder("--out", folder, "--out report")


def test_unwritable_results_are_saved_elsewhere_or_reported_as_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    words = files.save_elsewhere(lambda path: path.write_text("kept"), "run.nc")
    (path,) = tmp_path.glob("tutelage-*/run.nc")
    assert words == f"saved in {path}" and path.read_text() == "kept"
    assert files.save_elsewhere(full, "run.nc").startswith("not saved")


def test_work_goes_on_if_its_checkpoint_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "work.npz"
    Checkpoint(path, {"seed": 1}).save({"finished": np.array(1)})
    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(RuntimeWarning, match=r"No space left on device.*previous one is unchanged"):
        Checkpoint(path, {"seed": 1}).save({"finished": np.array(2)})
    assert int(Checkpoint(path, {"seed": 1}).load()["finished"]) == 1


def test_every_damaged_checkpoint_is_refused_or_as_it_was(tmp_path):
    path = tmp_path / "work.npz"
    Checkpoint(path, {"seed": 1}).save({"finished": np.arange(4.0)})
    whole = path.read_bytes()
    for place in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            loaded = Checkpoint(path, {"seed": 1}).load()
        except InputError:
            continue
        np.testing.assert_array_equal(loaded["finished"], np.arange(4.0))


def test_every_writer_of_the_package_replaces_whole_files():
    writing = re.compile(
        r"savefig\(|write_text\(|write_bytes\(|film\.save\(|np\.savez?\(|open\(\"[wax]"
    )
    source = Path(files.__file__).parents[1]
    for path in sorted(source.rglob("*.py")):
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
        # A picture in memory and the text of a help screen are no files; logs of workers grow.
        code = code.replace('savefig(file, format="svg")', "").replace("formatter.write_text(", "")
        if writing.search(code) and path.name not in ("files.py", "processes.py"):
            assert "files.replacing(" in code, path.relative_to(source)
