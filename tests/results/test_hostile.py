"""A file from somebody else can only be read (docs/files.md has the promise).

By hand: every attack that was ever found.  By mutation, in the slow tests: some hundred files, each
of which is refused in words or gives a right result, writes nothing, starts nothing, and takes
memory in proportion to its size.
"""

import io
import json
import os
import random
import struct
import subprocess
import tracemalloc
import warnings
import zipfile
from numbers import Real
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from studies import study

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError
from tutelage.results import checksum, header
from tutelage.runs import arrays, files, public_names
from tutelage.runs.checkpoint import Checkpoint
from tutelage.sweeps import cluster

MEGABYTE = 2**20


def evolved() -> xr.Dataset:
    two = tl.Committee(2, tl.Erf())
    start = tl.Overlaps(Q=[[0.25, 0], [0, 0.25]], R=np.full((2, 2), 1e-3), T=np.eye(2))
    return tl.online.evolve(tl.Scenario(two, two), start, learning_rate=0.5, until=1)


def swept() -> xr.Dataset:
    two = tl.Committee(2, tl.Erf())
    start = tl.Overlaps(Q=[[0.25, 0], [0, 0.25]], R=np.full((2, 2), 1e-3), T=np.eye(2))
    over = {"label_noise": [0.0, 0.1]}
    return tl.sweeps.run(
        tl.generalization_error, over, scenario=tl.Scenario(two, two), overlaps=start, workers=1
    )


# --- What a file names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("workers", "tcp://127.0.0.1:1"),
        ("workers", 2),
        ("store", "somewhere"),
        ("start_over", True),
        ("retry", True),
        ("progress", True),
        ("checkpoint", "somewhere"),
        ("function", "online.evolve"),
        ("seed", 3),
    ],
)
@pytest.mark.parametrize("place", ["fixed", "over"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_no_file_sets_what_only_a_caller_may(argument, value, place, nested, tmp_path, monkeypatch):
    """A file of `sweeps.run` cannot set the store, the workers, or whether to start over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "connected", lambda *_: pytest.fail("a scheduler was asked"))
    Path("somewhere").mkdir()
    result = swept()
    content = json.loads(result.attrs[place])
    (content if place == "fixed" else content["values"])[argument] = (
        value if place == "fixed" else [value]
    )
    evil = result.assign_attrs({place: json.dumps(content)})
    if nested:
        outer = json.loads(result.attrs["fixed"]) | {"dataset": {"dataset": evil.attrs}}
        evil = result.assign_attrs(fixed=json.dumps(outer))
    if (place, argument) == ("over", "seed") and not nested:
        match = "an argument that generalization_error does not have"
    else:
        match = "a file cannot set|does not have"
    with pytest.raises(InputError, match=match):
        results.recompute(evil)
    assert os.listdir(tmp_path) == ["somewhere"] and os.listdir("somewhere") == []


@pytest.mark.parametrize(
    "name",
    [
        *("cli.__main__.x", "os.system", "cli.main", "online", "", ".", "online.", ".evolve"),
        *("results.save", "results.load", "explorer.serve", "papers.reproduce", "online.np"),
        *("bridge.Recorder", "online.trajectory.evolve", "online.evolve.__globals__", "sweeps.os"),
        *("activations.Erf", "deep.images.cifar.Images", "runs.files.write", "x" * 100_000),
    ],
)
@pytest.mark.parametrize("place", ["computed_by", "type", "class", "function", "nested"])
def test_no_file_names_what_is_not_in_the_tables(name, place, monkeypatch):
    monkeypatch.setattr(
        public_names, "import_module", _only_known_modules(public_names.import_module)
    )
    if place == "class" and name == "activations.Erf":
        return  # a value type, which a file may name
    attributes = {
        "computed_by": {"computed_by": name},
        "type": {"computed_by": "online.evolve", "scenario": json.dumps({"type": name})},
        "class": {"computed_by": "online.evolve", "scenario": json.dumps({"class": name})},
        "function": {"computed_by": "sweeps.run", "function": name, "over": "{}", "fixed": "{}"},
        "nested": {
            "computed_by": "online.evolve",
            "scenario": json.dumps({"dataset": {"computed_by": name}}),
        },
    }
    with pytest.raises(InputError):
        results.recompute(xr.Dataset(attrs=attributes[place]))


def _only_known_modules(original):
    known = {*public_names.COMPUTING, *public_names.VALUE_TYPES.values()}

    def imported(name):
        assert name.removeprefix("tutelage").removeprefix(".") in known
        return original(name)

    return imported


def test_the_table_of_value_types_has_every_type_that_an_argument_can_have():
    """Types that an annotation of a computing function names can be written, and read again."""
    exported = {
        kind
        for package in public_names.COMPUTING
        for kind in vars_of(package)
        if isinstance(kind, type) and public_names.name_of(kind)
    }
    named = {public_names.value_type(name, "x") for name in public_names.VALUE_TYPES}
    assert exported <= named and len(named) == len(public_names.VALUE_TYPES)
    for kind in named:
        assert public_names.value_type(public_names.name_of(kind), "x") is kind


def vars_of(package: str) -> list:
    module = public_names._module(package)
    return [getattr(module, name) for name in module.__all__]


@pytest.mark.parametrize("attribute", ["scenario", "start", "times", "learning_rate"])
@pytest.mark.parametrize(
    "value",
    [
        "[" * 100_000,
        "[" * 500 + "]" * 500,
        json.dumps({"type": "model.Scenario"}),
        json.dumps({"type": "model.Scenario", "student": 3, "teacher": None}),
        json.dumps({"type": "model.Committee", "units": -1, "activation": "Erf"}),
        json.dumps({"type": "model.Overlaps", "Q": "a", "R": [[]], "T": {}}),
        json.dumps({"type": "activations.Swish", "beta": [1, 2]}),
        json.dumps({"type": ["model.Scenario"]}),
        json.dumps({"class": {}}),
        json.dumps({"dataset": []}),
        json.dumps({"dataset": {"computed_by": 3}}),
        json.dumps({"not written": {"a": "b"}}),
        "NaN",
        "1e999",
        "1" * 4000,
    ],
)
def test_arguments_that_are_none_are_refused(attribute, value):
    with pytest.raises(InputError):
        results.recompute(evolved().assign_attrs({attribute: value}))


# --- What a header says ------------------------------------------------------------------------


def table(*lines: str) -> bytes:
    below = "".join(f"{line}\n" for line in lines).encode()
    return f"# checksum: {checksum.of(below)}\n".encode() + below


COLUMN = '# column x: {"kind": "variable", "indices": ["t"], "type": "float64"}'
ODD_TABLES = {
    "nothing": table(),
    "only a head": table('# sizes: {"t": 1}'),
    "too few rows": table('# sizes: {"t": 3}', COLUMN, "t,x", "0,1"),
    "too many rows": table('# sizes: {"t": 1}', COLUMN, "t,x", "0,1", "1,2"),
    "many rows": table('# sizes: {"t": 1000000000000}', COLUMN, "t,x", "0,1"),
    "negative": table('# sizes: {"t": -1}', COLUMN, "t,x", "0,1"),
    "no number": table('# sizes: {"t": "a"}', COLUMN, "t,x", "0,1"),
    "a list": table("# sizes: [1, 2]", COLUMN, "t,x", "0,1"),
    "unknown index": table('# sizes: {"s": 1}', COLUMN, "t,x", "0,1"),
    "no such column": table('# sizes: {"t": 1}', COLUMN, "t,y", "0,1"),
    "short row": table('# sizes: {"t": 1}', COLUMN, "t,x", "0"),
    "no numbers": table('# sizes: {"t": 1}', COLUMN, "t,x", "0,abc"),
    "wide text": table('# sizes: {"t": 1}', COLUMN.replace("float64", "<U500000000"), "t,x", "0,a"),
    "object": table('# sizes: {"t": 1}', COLUMN.replace("float64", "object"), "t,x", "0,a"),
    "small numbers": table('# sizes: {"t": 1}', COLUMN.replace("float64", "int8"), "t,x", "0,999"),
    "no kind": table('# sizes: {"t": 1}', '# column x: {"indices": ["t"]}', "t,x", "0,1"),
    "no mapping": table('# sizes: {"t": 1}', "# column x: 3", "t,x", "0,1"),
    "deep": table(f"# sizes: {'[' * 100_000}", COLUMN, "t,x", "0,1"),
    "NUL": table('# sizes: {"t": 1}', COLUMN, "t,x", "0,\0"),
    "one quote": table('# sizes: {"t": 1}', COLUMN, "t,x", '0,"1'),
    "empty and large": table(
        '# sizes: {"t": 0, "s": 1000000000}', COLUMN.replace('["t"]', '["t", "s"]'), "t,s,x"
    ),
    "long attribute": table("# numbers a: [" + 2_000_000 * "[]," + "[]]", "t"),
}


@pytest.mark.parametrize("name", ODD_TABLES)
def test_a_table_with_a_right_checksum_and_an_odd_head_is_refused_or_right(name, tmp_path):
    loaded = loaded_or_refused(tmp_path / "odd.csv", ODD_TABLES[name])
    assert loaded is None or (name == "wide text" and loaded["x"].item() == "a")


def loaded_or_refused(path, content):
    """The data in a file, None if it is refused; both in bounded memory."""
    path.write_bytes(content)
    with bounded_memory(len(content)):
        try:
            return results.load(path)
        except InputError as problem:
            assert "path: got" in str(problem)
            return None


class bounded_memory:
    """Memory that is taken inside stays below 64 MB and 20 times the size of a file."""

    def __init__(self, file_bytes: int):
        self.limit = 64 * MEGABYTE + 20 * file_bytes

    def __enter__(self):
        tracemalloc.start()

    def __exit__(self, kind, problem, traceback):
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if kind is None:
            assert peak <= self.limit


@pytest.mark.parametrize("longest", [3, 100_000])
def test_text_of_very_different_lengths_is_read_in_bounded_memory(longest, tmp_path):
    """One long text among many short ones would take its length for each of them."""
    texts = np.array(["a" * longest, *("b" for _ in range(20_000))], dtype=object)
    results.save(xr.Dataset({"x": ("t", texts)}), tmp_path / "text.csv")
    with bounded_memory((tmp_path / "text.csv").stat().st_size):
        loaded = results.load(tmp_path / "text.csv")
    assert loaded["x"].values.tolist() == texts.tolist()


def netcdf(dims: dict[str, int], variables: int = 1, at: int | None = None, kind: int = 6) -> bytes:
    """A header without data, whose variables have all dimensions and the same bytes."""

    def name(text: str) -> bytes:
        return struct.pack(">i", len(text)) + text.encode() + b"\0" * (-len(text) % 4)

    parts = [b"CDF\x01", struct.pack(">iii", 0, 10, len(dims))]
    parts += [name(dim) + struct.pack(">i", size) for dim, size in dims.items()]
    parts += [struct.pack(">iiii", 0, 0, 11, variables)]
    for number in range(variables):
        axes = struct.pack(f">i{len(dims)}i", len(dims), *range(len(dims)))
        parts += [name(f"v{number}"), axes, struct.pack(">iiiii", 0, 0, kind, 0, at or 0)]
    return b"".join(parts)


ODD_NETCDF = {
    "large": netcdf({"t": 2**31 - 1}),
    "larger": netcdf({"t": 2**31 - 1, "s": 2**31 - 1}),
    "the same bytes often": netcdf({"t": 100_000}, variables=9000) + bytes(800_000),
    "many variables": netcdf({"t": 1}, variables=50_000) + bytes(8),
    "empty texts": netcdf({"t": 2**30, "s": 0}, kind=2),
    "no dimension": netcdf({}) + bytes(8),
    "unknown dimension": netcdf({"t": 1}).replace(
        struct.pack(">ii", 1, 0), struct.pack(">ii", 1, 7)
    ),
    "unknown type": netcdf({"t": 1}, kind=9) + bytes(8),
    "beyond the end": netcdf({"t": 1}, at=2**30),
}


@pytest.mark.parametrize("name", ODD_NETCDF)
def test_a_netcdf_header_is_compared_with_the_bytes_before_anything_is_allocated(name, tmp_path):
    loaded = loaded_or_refused(tmp_path / "odd.nc", ODD_NETCDF[name])
    assert loaded is None or (name == "no dimension" and loaded["v0"].shape == ())


@pytest.mark.parametrize("attribute", ["variables", "fp", "close", "flush", "_attributes"])
def test_an_attribute_cannot_replace_what_scipy_needs(attribute, tmp_path):
    with pytest.raises(InputError, match="SciPy's NetCDF files use this name"):
        results.save(xr.Dataset(attrs={attribute: "x"}), tmp_path / "run.nc")
    assert attribute in header.reserved()
    content = xr.Dataset(attrs={"x" * len(attribute): "x"}).to_netcdf(engine="scipy")
    evil = bytes(content).replace(b"x" * len(attribute), attribute.encode())
    (tmp_path / "odd.nc").write_bytes(evil)
    with pytest.raises(InputError, match="this file is not NetCDF 3"):
        results.load(tmp_path / "odd.nc")


def npy(shape: tuple, dtype: str, data: bytes = b"") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue() + data


ODD_ARRAYS = {
    "large": npy((10**12,), "<f8"),
    "object": npy((1,), "|O", b"cos\nsystem\n(S'true'\ntR."),
    "wide text": npy((1,), "<U500000000"),
    "empty text": npy((10**12,), "|S0"),
    "too short": npy((3,), "<f8", bytes(16)),
    "too long": npy((1,), "<f8", bytes(16)),
    "negative": npy((-1,), "<f8", b""),
    "fields": npy((1,), "<f8", bytes(8)).replace(b"'<f8'", b"[('a', '<f8')]"),
    "nothing": b"",
    "a formula": b"\x93NUMPY\x01\x00\x10\x00" + b"__import__('os')",
}


@pytest.mark.parametrize("packed", [False, True], ids=["npy", "npz"])
@pytest.mark.parametrize("name", ODD_ARRAYS)
def test_arrays_are_compared_with_their_bytes(name, packed, tmp_path):
    path = tmp_path / "odd"
    path.write_bytes(ODD_ARRAYS[name])
    if packed:
        with zipfile.ZipFile(tmp_path / "odd.npz", "w") as archive:
            archive.write(path, "x.npy")
        path = tmp_path / "odd.npz"
    with bounded_memory(path.stat().st_size), pytest.raises(arrays.ArrayFileError):
        (arrays.load_npz if packed else arrays.load_npy)(path)


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((8 * MEGABYTE,)), y=np.zeros(3))
    assert (tmp_path / "bomb.npz").stat().st_size < MEGABYTE
    with bounded_memory(MEGABYTE), pytest.raises(InputError, match=r"unpack to \d+ times"):
        tl.spectra.load_examples(tmp_path / "bomb.npz")
    with bounded_memory(MEGABYTE), pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint(tmp_path / "bomb.npz", {})


@pytest.mark.parametrize("method", [8, 12, 14, 99], ids=["deflate", "bzip2", "lzma", "unknown"])
def test_an_archive_that_names_another_compression_is_refused(method, tmp_path):
    """Plain bytes that claim to be compressed make each decompressor fail in a different way."""
    path = tmp_path / "kept.npz"
    np.savez(path, head=np.array("{}"), x=np.arange(5.0))
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        at = content.find(mark)
        while at >= 0:
            content[at + offset : at + offset + 2] = struct.pack("<H", method)
            at = content.find(mark, at + 1)
    content[content.find(b"\x93NUMPY")] = 0x07  # a block type that deflate does not have
    path.write_bytes(bytes(content))
    with pytest.raises(arrays.ArrayFileError):
        arrays.load_npz(path)
    with pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint(path, {})


@pytest.mark.parametrize("by_columns", [False, True])
def test_right_arrays_are_read_as_numpy_reads_them(by_columns, tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    x = np.asfortranarray(x) if by_columns else x
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x, word=np.array("abc"), none=np.zeros((0, 3)))
    assert np.array_equal(arrays.load_npy(tmp_path / "x.npy"), np.load(tmp_path / "x.npy"))
    read = arrays.load_npz(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as expected:
        assert read.keys() == set(expected.files)
        assert all(np.array_equal(read[name], expected[name]) for name in read)


# --- Links and locks ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lock", "manifest.json", "000001.nc"])
@pytest.mark.parametrize("link", ["soft", "dangling", "hard", "pipe"])
def test_nothing_in_a_store_is_written_through_a_link(name, link, tmp_path):
    store, victim = tmp_path / "store", tmp_path / "victim"
    study(store=store)
    before = (store / name).read_bytes()
    if link != "dangling":
        victim.write_bytes(before)
    (store / name).unlink()
    if link == "pipe":
        os.mkfifo(store / name)
    elif link == "hard":
        (store / name).hardlink_to(victim)
    else:
        (store / name).symlink_to(victim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            study({"learning_rate": [0.9], "weight_decay": [0.0]}, store=store)
        except InputError as problem:
            assert "store: got" in str(problem)
    assert victim.exists() == (link != "dangling")
    assert not victim.exists() or victim.read_bytes() == before


def test_loading_a_store_changes_nothing_in_it(tmp_path):
    store = tmp_path / "store"
    study(store=store)
    content = (store / "000001.nc").read_bytes()
    (store / "000001.nc").write_bytes(content[:-1])
    names = sorted(os.listdir(store))
    with pytest.warns(UserWarning, match="until tl.sweeps.run computes them again"):
        loaded = tl.sweeps.load(store)
    assert set(loaded["failure"].values.ravel()) == {"not computed yet"}
    assert sorted(os.listdir(store)) == names


@pytest.mark.parametrize(
    "manifest",
    [
        *("", "[]", "3", "[" * 100_000, '{"identity": 1, "points": 2}'),
        '{"identity": {}, "points": {}}',
        '{"identity": {}, "points": {"table": false, "values": {"a": 3}}}',
        '{"identity": {}, "points": {"table": true, "values": {"a": [1, 2], "b": [1]}}}',
        '{"identity": {}, "points": {"table": false, "values": {"a": [{"type": "os.system"}]}}}',
        json.dumps(
            {
                "identity": {},
                "points": {"table": False, "values": {n: list(range(100)) for n in "abcd"}},
            }
        ),
    ],
)
def test_a_manifest_is_read_as_data(manifest, tmp_path):
    store = tmp_path / "store"
    study(store=store)
    (store / "manifest.json").write_text(manifest)
    with bounded_memory(len(manifest)), pytest.raises(InputError):
        tl.sweeps.load(store)


def test_a_lock_that_is_a_link_is_refused_in_words(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="it is a link"), files.locked("store", tmp_path):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


# --- Generated files ---------------------------------------------------------------------------


def mutated(content: bytes, seed: int) -> bytes:
    """Some bytes changed, cut, doubled or exchanged, and numbers made large, by a seed."""
    chance = random.Random(seed)
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(max(len(changed), 1))
        length = chance.choice([1, 4, 8, 40])
        what = chance.randrange(6)
        if what == 0:
            changed[at : at + 1] = bytes([chance.randrange(256)])
        elif what == 1:
            del changed[at : at + length]
        elif what == 2:
            changed[at:at] = changed[at : at + length]
        elif what == 3:
            changed[at : at + 4] = struct.pack(">i", chance.choice([-1, 0, 2**31 - 1, 2**20]))
        elif what == 4:
            changed[at : at + 1] = chance.choice([b"9" * 9, b"[" * 50, b'"', b"{", b"-", b"e99"])
        else:
            other = chance.randrange(max(len(changed), 1))
            changed[at : at + length] = changed[other : other + length]
    return bytes(changed)


def signed(content: bytes, suffix: str) -> bytes:
    """The same file with a right checksum, so that the checksum is not the reason of a refusal."""
    if suffix == ".csv":
        below = content.partition(b"\n")[2]
        return f"# checksum: {checksum.of(below)}\n".encode() + below
    place = results.netcdf._place(content)
    if not place:
        return content
    start, end = place
    whole = content[:start] + results.netcdf.EMPTY + content[end:]
    return content[:start] + checksum.of(whole).encode() + content[end:]


@pytest.fixture
def nothing_happens(monkeypatch, tmp_path):
    """Processes, connections, imports named by a file, and writes outside of one folder fail."""

    def forbidden(*_, **__):
        raise AssertionError("a file made something happen")

    for name in ("Popen",):
        monkeypatch.setattr(subprocess, name, forbidden)
    monkeypatch.setattr(os, "system", forbidden)
    monkeypatch.setattr(files, "replacing", forbidden)
    monkeypatch.setattr(files, "locked", forbidden)
    monkeypatch.setattr(cluster, "connected", forbidden)
    monkeypatch.setattr(
        public_names, "import_module", _only_known_modules(public_names.import_module)
    )


RESULTS = {"evolved": evolved, "swept": swept}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", results.ENDINGS)
@pytest.mark.parametrize("name", RESULTS)
def test_generated_files_are_refused_or_right(name, suffix, tmp_path, request):
    """120 files of each kind: 480 in all; those that load are computed again."""
    result = RESULTS[name]()
    path = tmp_path / f"whole{suffix}"
    results.save(result, path)
    content, numbers = path.read_bytes(), {"refused": 0, "loaded": 0, "computed": 0}
    request.getfixturevalue("nothing_happens")
    for seed in range(120):
        path.write_bytes(signed(mutated(content, seed), suffix))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers[_outcome(path)] += 1
    assert os.listdir(tmp_path) == [path.name]
    assert min(numbers["refused"], numbers["loaded"] + numbers["computed"]) > 0, numbers


def _outcome(path: Path) -> str:
    with bounded_memory(path.stat().st_size):
        try:
            loaded = results.load(path)
        except InputError:
            return "refused"
    if _costs_too_much(loaded):
        return "loaded"
    try:
        results.recompute(loaded)
    except InputError:
        return "loaded"
    return "computed"


def _costs_too_much(loaded: xr.Dataset) -> bool:
    """Whether a number has grown so much that the computation would take too long, which is no
    question of safety.
    """
    until = loaded.attrs.get("until", 1.0)
    return not isinstance(until, Real) or until > 100


@pytest.mark.slow
def test_generated_stores_and_checkpoints_are_refused_or_right(tmp_path, request):
    """100 stores with a changed manifest or group, 100 checkpoints."""
    store, path = tmp_path / "store", tmp_path / "kept.npz"
    study(store=store)
    with Checkpoint(path, {"work": "this"}) as checkpoint:
        checkpoint.save({"x": np.arange(5.0)})
    contents = {name: (store / name).read_bytes() for name in ("manifest.json", "000001.nc")}
    stored = path.read_bytes()
    request.getfixturevalue("nothing_happens")
    for seed in range(100):
        name = ("manifest.json", "000001.nc")[seed % 2]
        for one, content in contents.items():
            changed = mutated(content, seed) if one == name else content
            (store / one).write_bytes(signed(changed, Path(one).suffix))
        path.write_bytes(mutated(stored, seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _refused_or_right(store, path)
    assert sorted(os.listdir(store)) == ["000001.nc", "lock", "manifest.json"]


def _refused_or_right(store: Path, path: Path) -> None:
    with bounded_memory(sum(file.stat().st_size for file in store.iterdir())):
        try:
            tl.sweeps.load(store)
        except InputError as problem:
            assert problem.argument
    with bounded_memory(path.stat().st_size):
        try:
            loaded = Checkpoint(path, {"work": "this"}).load()
        except InputError as problem:
            assert problem.argument == "checkpoint"
        else:
            assert set(loaded) == {"x"}
