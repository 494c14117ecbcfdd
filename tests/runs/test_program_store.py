"""Compiled programs are code: files that another user could have written are not read."""

import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from tutelage import InputError
from tutelage.runs import program_store

NAME, CONTENT = "0" * 64, b"machine code"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where programs are stored, with one program."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(program_store.SWITCH, raising=False)
    program_store.write(NAME, CONTENT)
    return tmp_path / "cache" / "tutelage" / "programs"


def test_folder_and_files_are_private_to_the_user(folder):
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    assert program_store.read(NAME) == CONTENT
    assert [file.name for file in folder.iterdir()] == [NAME]


def test_files_are_private_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        program_store.write("another", CONTENT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "another").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o740, 0o701, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_reach_is_not_used(folder, mode):
    folder.chmod(mode)
    assert program_store.read(NAME) is None
    program_store.write("another", CONTENT)
    assert [file.name for file in folder.iterdir()] == [NAME]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o640, 0o604, 0o666])
def test_a_file_that_others_can_reach_is_not_read(folder, mode):
    (folder / NAME).chmod(mode)
    assert program_store.read(NAME) is None


@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_somebody_else_owns_is_not_read(folder, whose, monkeypatch):
    is_it = {"folder": stat.S_ISDIR, "file": stat.S_ISREG}[whose]
    fstat = os.fstat

    def owned(file):
        status = fstat(file)
        return os.stat_result((*status[:4], 4242, *status[5:])) if is_it(status[0]) else status

    monkeypatch.setattr(os, "fstat", owned)
    assert program_store.read(NAME) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_was_given_to_somebody_else_is_not_read(folder, whose):
    os.chown(folder if whose == "folder" else folder / NAME, 4242, 4242)
    assert program_store.read(NAME) is None


def test_a_folder_that_is_a_link_is_not_used(folder, tmp_path):
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert program_store.read(NAME) is None
    program_store.write("another", CONTENT)
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == [NAME]


def test_a_file_that_is_a_link_is_not_read(folder, tmp_path):
    (folder / NAME).rename(tmp_path / "program")
    (folder / NAME).symlink_to(tmp_path / "program")
    assert program_store.read(NAME) is None
    assert (tmp_path / "program").exists()


def test_writing_replaces_a_link_and_not_what_it_leads_to(folder, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (folder / "linked").symlink_to(tmp_path / "precious")
    program_store.write("linked", CONTENT)
    assert (tmp_path / "precious").read_text() == "precious"
    assert program_store.read("linked") == CONTENT


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_not_read(folder, kind):
    os.mkfifo(folder / kind, 0o600) if kind == "pipe" else (folder / kind).mkdir(0o700)
    assert program_store.read(kind) is None


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "longer", "of another name"])
def test_a_damaged_program_is_removed(folder, damage):
    file, name = folder / NAME, NAME
    content = bytearray(file.read_bytes())
    if damage == "of another name":
        name = "1" * 64
        file = file.rename(folder / name)
    elif damage == "changed":
        content[-1] ^= 1
    else:
        content = {"cut": content[:-1], "emptied": b"", "longer": content + b"."}[damage]
    if damage != "of another name":
        file.write_bytes(content)
    assert program_store.read(name) is None
    assert not file.exists()
    program_store.write(name, CONTENT)
    assert program_store.read(name) == CONTENT


def test_the_least_recently_used_programs_are_removed_beyond_the_limit(folder, monkeypatch):
    size = (folder / NAME).stat().st_size
    monkeypatch.setattr(program_store, "MAX_FOLDER_BYTES", 3 * size)
    os.utime(folder / NAME, (0, 500))
    for age, name in enumerate("cba"):
        program_store.write(name, CONTENT)
        os.utime(folder / name, (0, 1000 - age))
    assert {file.name for file in folder.iterdir()} == set("abc")
    assert program_store.read("a") == CONTENT  # and becomes the youngest
    program_store.write("d", CONTENT)
    assert {file.name for file in folder.iterdir()} == {"a", "c", "d"}
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 3 * size


def test_a_program_beyond_the_limit_is_not_stored(folder, monkeypatch):
    monkeypatch.setattr(program_store, "MAX_PROGRAM_BYTES", 100)
    program_store.write("large", bytes(101))
    assert program_store.read("large") is None
    (folder / NAME).write_bytes(bytes(1000))
    assert program_store.read(NAME) is None


def test_what_a_killed_process_has_left_is_removed_later(folder):
    old, new = (folder / f"{age}{program_store.UNFINISHED_SUFFIX}" for age in ("old", "new"))
    old.touch(0o600)
    new.touch(0o600)
    os.utime(old, (0, time.time() - 2 * program_store.UNFINISHED_SECONDS))
    program_store.write("another", CONTENT)
    assert not old.exists() and new.exists()


HOLDER = """
import sys, time
from tutelage.runs import program_store
with program_store.compiling(sys.argv[1]) as waited:
    print(waited, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(folder):
    """Another process that compiles a program."""
    command = [sys.executable, "-c", HOLDER, NAME]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "False\n"
        yield process
        process.kill()


def test_a_program_is_compiled_by_one_process_until_it_ends(folder, holder):
    with program_store.compiling("another") as waited:
        assert not waited
    threading.Timer(0.3, holder.kill).start()
    begun = time.monotonic()
    with program_store.compiling(NAME) as waited:
        assert waited and time.monotonic() - begun > 0.25
    with program_store.compiling(NAME) as waited:
        assert not waited
    assert [file.name for file in folder.iterdir()] == [NAME]


def test_no_process_waits_for_ever(holder, monkeypatch):
    monkeypatch.setattr(program_store, "MAX_WAIT_SECONDS", 0.1)
    with program_store.compiling(NAME) as waited:
        assert waited and holder.poll() is None


def test_without_a_folder_no_process_waits(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(program_store.SWITCH, str(tmp_path / "file" / "programs"))
    with program_store.compiling(NAME), program_store.compiling(NAME) as waited:
        assert not waited


def test_a_full_disk_stores_nothing_and_leaves_nothing(small_disk, monkeypatch):
    folder = small_disk / "programs"
    monkeypatch.setenv(program_store.SWITCH, str(folder))
    program_store.write(NAME, bytes(2**20))
    assert program_store.read(NAME) is None
    assert list(folder.iterdir()) == []


def test_a_home_that_cannot_be_written_to_stores_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv(program_store.SWITCH, str(tmp_path / "file" / "programs"))
    program_store.write(NAME, CONTENT)
    assert program_store.read(NAME) is None


def test_the_switch_turns_storing_off_or_names_a_folder(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setenv(program_store.SWITCH, str(tmp_path / "here"))
    program_store.write(NAME, CONTENT)
    assert program_store.read(NAME) == CONTENT and (tmp_path / "here" / NAME).exists()
    monkeypatch.setenv(program_store.SWITCH, "false")
    with pytest.raises(InputError, match="'off' or an absolute path"):
        program_store.read(NAME)
