"""Damage: files that differ from what was saved are refused with a reason."""

import warnings

import numpy as np
import pytest
import xarray as xr

from tutelage import results
from tutelage._checks import InputError

RESULT = xr.Dataset(
    {
        "R": (("time", "student"), np.linspace(0.0, 1.0, 8).reshape(4, 2)),
        "n": ("time", [1, 2, 3, 4]),
    },
    {"time": [0.0, 0.5, 1.0, 1.5]},
    {"computed_by": "online.evolve", "learning_rate": 0.5, "outcome": "reached"},
)


@pytest.fixture(params=results.ENDINGS)
def file(request, tmp_path):
    path = tmp_path / f"run{request.param}"
    results.save(RESULT, path)
    return path


def test_the_checksum_is_in_the_file_and_not_in_the_result(file):
    assert b"checksum" in file.read_bytes()
    xr.testing.assert_identical(results.load(file), RESULT)


@pytest.mark.parametrize("attributes", [{}, RESULT.attrs], ids=["plain", "computed"])
def test_every_flipped_bit_is_found(file, attributes):
    """In the checksum and in its name too: a file of ours without a checksum is refused."""
    results.save(RESULT.drop_attrs().assign_attrs(attributes), file)
    whole = file.read_bytes()
    for place in range(0, len(whole), 3 if file.suffix == ".csv" else 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=r"path: got .*[Cc]ompute it again"):
            results.load(file)


def test_every_part_of_a_file_is_refused(file):
    whole = file.read_bytes()
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"path: got .*[Cc]ompute it again"):
            results.load(file)


@pytest.mark.parametrize(
    "content", [b"", b"CDF", b"CDF\x01" + 40 * b"\xff", b"\x89HDF\r\n", b"a,b\n1,2\n"]
)
def test_what_was_never_a_result_is_refused(file, content):
    file.write_bytes(content)
    with warnings.catch_warnings(), pytest.raises(InputError, match="this file is not"):
        warnings.simplefilter("ignore")  # of NumPy, about numbers in a header that is none
        results.load(file)


def test_a_file_of_another_program_is_read_without_a_checksum(tmp_path):
    other = RESULT.drop_attrs().assign_attrs(title="by another program")
    other.to_netcdf(tmp_path / "other.nc", engine="scipy")
    xr.testing.assert_identical(results.load(tmp_path / "other.nc"), other)
    with pytest.raises(InputError, match="no attribute 'computed_by'"):
        results.recompute(results.load(tmp_path / "other.nc"))


@pytest.mark.parametrize("name", ["computed_by", "tutelage_version", "written_by"])
def test_a_file_of_the_package_without_a_checksum_is_refused(tmp_path, name):
    RESULT.drop_attrs().assign_attrs({name: "x"}).to_netcdf(tmp_path / "run.nc", engine="scipy")
    with pytest.raises(InputError, match=r"its checksum is missing.* Try: .*load_dataset"):
        results.load(tmp_path / "run.nc")


def test_a_result_that_was_read_by_xarray_and_changed_is_saved_with_a_new_checksum(tmp_path):
    results.save(RESULT, tmp_path / "run.nc")
    changed = xr.load_dataset(tmp_path / "run.nc", engine="scipy") * 2
    changed.attrs["checksum"] = 64 * "1"
    results.save(changed, tmp_path / "run.nc")
    xr.testing.assert_equal(results.load(tmp_path / "run.nc"), RESULT * 2)
