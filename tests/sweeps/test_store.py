"""Finished points stay, are found again, and are never mixed with other points."""

import fcntl
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from studies import GRID, study

import tutelage as tl
from tutelage._checks import InputError
from tutelage.online.flow import SWEEP_LANES
from tutelage.sweeps import code, compute, engine


@pytest.fixture
def store(tmp_path):
    study(store=tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture
def counted(monkeypatch):
    """The keys of points that are computed."""
    results = []

    def timed(task, points):
        results.extend(key for key, _ in points)
        return compute.timed(task, points)

    monkeypatch.setattr(engine, "timed", timed)
    return results


def test_the_same_call_computes_nothing_and_another_grid_only_what_is_new(store, counted):
    first = study(store=store)
    assert counted == []
    xr.testing.assert_identical(first.drop_attrs(), study().drop_attrs())
    counted.clear()
    more = study({"learning_rate": [0.5, 0.8], "weight_decay": [0.0]}, store=store)
    assert counted == ['{"learning_rate": 0.8, "weight_decay": 0.0}']
    assert np.array_equal(more.R.sel(learning_rate=0.5), first.R.sel(learning_rate=0.5)[:1])


def test_files_are_plain_netcdf_and_json(store):
    manifest = json.loads((store / "manifest.json").read_text())
    assert manifest["identity"]["function"] == "online.evolve"
    (file,) = store.glob("*.nc")
    with xr.open_dataset(file, engine="scipy") as group:
        assert group.sizes["point"] == 6 and "generalization_error" in group
    assert {path.name for path in store.iterdir()} == {"manifest.json", "lock", file.name}


def test_other_arguments_are_refused_with_what_differs(store):
    with pytest.raises(
        InputError, match=r"until is 4.0 in the store and 5.0 in this call.*start_over=True"
    ):
        study(store=store, until=5.0)
    with pytest.raises(InputError, match=r"keep is null in the store"):
        study(store=store, keep="R")
    with pytest.raises(InputError, match=r"batch is 1 in the store and nothing in this call"):
        study({**GRID, "batch": [1, 2]}, store=store)
    with pytest.raises(InputError, match=r"function is online.evolve in the store"):
        study({"units": [2]}, tl.equilibrium.transitions, activation=tl.Erf(), store=store)


def test_other_code_is_refused_and_start_over_renames_the_old_store(store, monkeypatch, counted):
    before = study(store=store)
    other = {**code.versions("online.evolve"), "jax": "0.0.1"}
    monkeypatch.setattr("tutelage.sweeps.study.versions", lambda _: other)
    with pytest.raises(InputError, match=r"versions.jax is .* in the store and 0.0.1 in this call"):
        study(store=store)
    study(store=store, start_over=True)
    assert len(counted) == 6
    monkeypatch.undo()
    assert tl.sweeps.load(f"{store}.before-1").drop_attrs().identical(before.drop_attrs())


def test_a_store_in_use_is_refused(store):
    with (store / "lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=r"process \d+ on .* is using it"):
            study(store=store)
    study(store=store)


@pytest.mark.parametrize("harm", ["cut", "edited", "emptied", "another"])
def test_a_damaged_file_is_put_aside_and_its_points_computed_again(store, harm, counted):
    before = tl.sweeps.load(store)
    (file,) = store.glob("*.nc")
    content = file.read_bytes()
    wrong = {"cut": content[:-100], "emptied": b"", "another": b"PK\3\4 or a pickle"}
    file.write_bytes(wrong.get(harm, content[:-1] + bytes([content[-1] ^ 1])))
    with pytest.warns(UserWarning, match=r"000001.nc in .* is damaged"):
        second = study(store=store)
    assert len(counted) == 6
    assert second.drop_attrs().identical(before.drop_attrs())
    assert file.with_suffix(".damaged").exists()
    study(store=store)
    assert len(counted) == 6


def test_a_group_after_a_damaged_one_overwrites_nothing(tmp_path, counted):
    rates, store = [0.3, 0.5, 0.7], tmp_path / "study"
    for count in (1, 2, 3):  # a group for each rate
        before = study({"learning_rate": rates[:count]}, store=store)
    finished = {name: (store / name).read_bytes() for name in ("000001.nc", "000003.nc")}
    for harmed, repeated in (("000002", "000004"), ("000004", "000005")):
        counted.clear()
        (store / f"{harmed}.nc").write_bytes(harmed.encode())
        with pytest.warns(UserWarning, match=rf"{harmed}.nc in .* is damaged"):
            second = study({"learning_rate": rates}, store=store)
        assert counted == ['{"learning_rate": 0.5}']
        assert second.drop_attrs().identical(before.drop_attrs())
        assert (store / f"{repeated}.nc").exists()
        assert (store / f"{harmed}.damaged").read_bytes() == harmed.encode()
    assert {name: (store / name).read_bytes() for name in finished} == finished
    assert tl.sweeps.load(store).drop_attrs().identical(before.drop_attrs())
    more = study({"learning_rate": [*rates, 0.9]}, store=store)
    assert (store / "000006.nc").exists()
    assert tl.sweeps.load(store).drop_attrs().identical(more.drop_attrs())
    assert {name: (store / name).read_bytes() for name in finished} == finished


def test_temporary_files_of_killed_writers_are_removed_and_nothing_else(store, tmp_path):
    own = [store / f".0123456789a{i}{suffix}" for i, suffix in enumerate(["", ".nc", ".json"])]
    other = [store / name for name in (".gitignore", ".0123.nc", ".0123456789ab.nc.copy", "x.nc")]
    for path in (*own, *other, tmp_path / "target"):
        path.write_text("half")
    link = store / ".0123456789ab.nc"
    link.symlink_to(tmp_path / "target")
    (store / ".0123456789ac").mkdir()
    tl.sweeps.load(store)
    assert all(path.exists() for path in own), "only a writer that has the lock removes files"
    study(store=store)
    assert not any(path.exists() for path in own)
    assert all(path.read_text() == "half" for path in (*other, link))
    assert (store / ".0123456789ac").is_dir()


def test_a_writer_that_is_killed_leaves_a_file_that_the_next_one_removes(store):
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tutelage.runs import files\n"
        "with files.replacing(Path(sys.argv[1]) / '000002.nc') as temporary:\n"
        "    temporary.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(store)])
    assert ended.returncode == -signal.SIGKILL
    assert len(list(store.glob(".*"))) == 1
    study(store=store)
    assert list(store.glob(".*")) == []


def test_a_manifest_that_cannot_be_read_and_a_folder_of_others_are_refused(store, tmp_path):
    (store / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest cannot be read"):
        study(store=store)
    with pytest.raises(InputError, match=r"a store needs an empty folder"):
        study(store=tmp_path)


def test_points_that_failed_stay_failed_until_they_are_retried(tmp_path, counted, monkeypatch):
    over = {"learning_rate": [0.3, 0.5]}
    evolved = compute.evolved

    def fails(calls, *rest):
        if any(call["learning_rate"] == 0.5 for call in calls):
            raise MemoryError("no room")
        return evolved(calls, *rest)

    monkeypatch.setattr(compute, "evolved", fails)
    with pytest.warns(UserWarning, match="1 of 2 points failed"):
        result = study(over, store=tmp_path / "study")
    assert result.failure.values.tolist() == ["", "MemoryError: no room"]
    monkeypatch.setattr(compute, "evolved", evolved)
    counted.clear()
    with pytest.warns(UserWarning, match="1 of 2 points failed"):
        study(over, store=tmp_path / "study")
    assert counted == []
    second = study(over, store=tmp_path / "study", retry=True)
    assert counted == ['{"learning_rate": 0.5}'] and second.failure.values.tolist() == ["", ""]
    assert study(over, store=tmp_path / "study").drop_attrs().identical(second.drop_attrs())


def test_what_is_interrupted_goes_on(tmp_path, monkeypatch):
    timed, left = compute.timed, [1]

    def interrupted(task, points):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return timed(task, points)

    over = tl.sweeps.zipped({"learning_rate": np.linspace(0.1, 1.0, 36)})
    monkeypatch.setattr(engine, "timed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study(over, store=tmp_path / "study")
    part = tl.sweeps.load(tmp_path / "study")
    assert (part.failure == "").sum() == SWEEP_LANES and part.failure[-1] == "not computed yet"
    assert np.isnan(part.R[SWEEP_LANES:]).all()
    monkeypatch.undo()
    result = study(over, store=tmp_path / "study")
    assert result.drop_attrs().identical(study(over).drop_attrs())


def test_a_function_is_refused_by_a_store(tmp_path):
    schedules = [lambda t: 0.5 + 0 * t, lambda t: 0.3 + 0 * t]
    result = study({"learning_rate": schedules})
    assert result.learning_rate.values.tolist() == [0, 1]
    assert not np.array_equal(result.R[0], result.R[1])
    with pytest.raises(InputError, match="a store cannot distinguish functions"):
        study({"learning_rate": schedules}, store=tmp_path / "study")


@pytest.mark.slow
def test_a_full_disk_loses_nothing(small_disk):
    over = {"learning_rate": np.linspace(0.1, 1.0, 64).tolist()}
    fixed = {"times": np.linspace(0.0, 4.0, 51)}
    store = small_disk / "study"
    with pytest.raises(OSError, match="No space left"):
        study(over, store=store, **fixed)
    part = tl.sweeps.load(store)
    assert 0 < (part.failure == "").sum() < 64
    whole = study(over, **fixed)
    there = (part.failure == "").values
    assert np.array_equal(part.R[there], whole.R[there])
