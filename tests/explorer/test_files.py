"""The page shows only files of its folders, whatever their content."""

import json
import os

import numpy as np
import pytest
import xarray as xr
from explorer import training_files

import tutelage as tl
from tutelage.explorer import files
from tutelage.explorer.parameters import state_of
from tutelage.explorer.pictures import as_json
from tutelage.explorer.views import papers, playback

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A report, a folder of trainings, and a folder that must not be shown."""
    result = {name: tmp_path / name for name in ("report", "given", "hidden")}
    for folder in (*result.values(), result["report"] / "figures", result["report"] / "parts"):
        folder.mkdir()
    monkeypatch.setenv(files.REPORT, str(result["report"]))
    monkeypatch.setenv(files.FILES, str(result["given"]))
    return result


def drawn(**given):
    state = state_of(playback.PARAMETERS, {name: str(value) for name, value in given.items()})
    return json.loads(as_json(playback.draw(state)))


def test_links_are_not_followed(folders):
    hidden, figures = folders["hidden"], folders["report"] / "figures"
    (hidden / "secret.svg").write_text(SVG)
    tl.results.save(training_files.training(), hidden / "secret.nc")
    (figures / "own.svg").write_text(SVG)
    (figures / "link.svg").symlink_to(hidden / "secret.svg")
    (figures / "loop.svg").symlink_to(figures / "loop.svg")
    (folders["given"] / "link.nc").symlink_to(hidden / "secret.nc")
    listed = [{"svg": name} for name in ("own.svg", "link.svg", "loop.svg", 7)]
    (hidden / "part.json").write_text(json.dumps({"pictures": listed}))
    (folders["report"] / "parts" / "link.json").symlink_to(hidden / "part.json")
    (folders["report"] / "parts" / "own.json").write_text((hidden / "part.json").read_text())
    assert files.picture("own.svg") == SVG.encode()
    assert files.picture("link.svg") is None and files.picture("loop.svg") is None
    assert files.parts() == {"own": ["own.svg"]}
    assert "link.nc" not in files.results()
    with pytest.raises(tl.InputError, match=r"^file: "):
        files.path_of("link.nc")


def test_a_linked_folder_of_a_report_is_not_followed(folders):
    (folders["hidden"] / "secret.svg").write_text(SVG)
    tl.results.save(training_files.training(), folders["hidden"] / "secret.nc")
    (folders["report"] / "figures").rmdir()
    (folders["report"] / "figures").symlink_to(folders["hidden"])
    assert files.picture("secret.svg") is None
    assert "secret.nc" not in files.results()


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(folders, monkeypatch):
    (folders["hidden"] / "secret.svg").write_text(SVG)
    (folders["report"] / "figures" / "late.svg").symlink_to(folders["hidden"] / "secret.svg")
    monkeypatch.setattr(files, "has_picture", lambda name: True)
    assert files.picture("late.svg") is None


HEAD = "# tutelage table\n# column epoch: int64\n# column eigenvalues: float64\n"


def malformed(folder):
    """Files that are not trainings, by name."""
    whole = training_files.training()
    odd = {
        "text.nc": whole.drop_vars("eigenvalues").assign(eigenvalues=("epoch", ["a", "b", "c"])),
        "axes.nc": whole[["epoch"]].assign(teacher_correlation_1=("epoch", np.ones(3))),
        "missing.nc": whole[["eigenvalues"]] * np.nan,
        "strength.nc": whole[["strength_1"]],
    }
    for name, dataset in odd.items():
        tl.results.save(dataset, folder / name)
    contents = {"short.csv": HEAD, "long.csv": HEAD + "a,b\n1\n", "quote.csv": HEAD + '"'}
    contents |= {"empty.csv": "", "empty.nc": "", "cut.nc": "CDF\x01"}
    for name, text in contents.items():
        (folder / name).write_text(text)
    return [*odd, *contents]


def test_malformed_files_are_refused_in_words_without_a_path(folders):
    for name in malformed(folders["given"]):
        with pytest.raises(tl.InputError, match=r"^(file|layer): ") as refused:
            drawn(file=name)
        assert str(folders["given"]) not in str(refused.value), name
    files.playable()


def test_a_reader_that_fails_is_refused_in_words(folders, monkeypatch):
    """Tables with malformed headers have raised six types of exceptions."""
    (folders["given"] / "odd.csv").write_text("odd")
    for kind in (StopIteration, KeyError, RecursionError, OverflowError):
        monkeypatch.setattr(tl.results, "load", lambda path, kind=kind: _raise(kind(str(path))))
        with pytest.raises(tl.InputError, match=r"^file: ") as refused:
            drawn(file="odd.csv")
        assert str(folders["given"]) not in str(refused.value)


def _raise(problem):
    raise problem


def test_recorded_trainings_of_the_package_are_played_without_a_report(folders):
    names = [file["name"] for file in files.playable()]
    assert {
        f"tian2020_{name}_code.nc" for name in ("layers", "followed", "uniform", "recovery")
    } <= (set(names))
    assert drawn()["numbers"][0]["value"] == names[0]
    for name in names:
        assert drawn(file=name)["panels"], name


def test_a_recorded_training_has_the_numbers_of_its_file(folders):
    picture = drawn(file="tian2020_images_same.nc", setting=2)
    known = xr.load_dataset(files.PACKAGE / "tian2020/recorded/images_same.nc", engine="scipy")
    (accuracy,) = (panel for panel in picture["panels"] if panel["name"] == "accuracy")
    middle = np.sort(known["accuracy"].isel(multiple=1).values, axis=0)[1]  # of three runs
    assert accuracy["traces"][0]["y"] == middle.tolist()
    code = playback.python(state_of(playback.PARAMETERS, {"file": "tian2020_layers_code.nc"}))
    results = {}
    exec(compile(code, "copied", "exec"), results)
    assert results["result"].sizes["student_4"] == 1250


def test_the_folder_of_the_package_can_be_given(folders, monkeypatch):
    monkeypatch.setenv(files.FILES, str(files.PACKAGE / "tian2020" / "recorded"))
    for name in os.listdir(files.PACKAGE / "tian2020" / "recorded"):
        if name.startswith(("nodes", "starts")):  # which have no epochs
            with pytest.raises(tl.InputError, match="no epochs"):
                drawn(file=name)
        else:
            assert drawn(file=name)["panels"]


def test_papers_have_pictures_without_a_report(folders):
    listed = papers.figures()
    pictures = [figure["picture"] for figure in listed["figures"] if figure["picture"]]
    assert pictures == [f"/api/drawn/{name}.svg" for name in papers.SMALL]
    assert "make reproduce" in listed["message"]
    drawing = papers.drawn(papers.SMALL[0])
    assert b"<svg" in drawing and b"<path" in drawing
    with pytest.raises(tl.InputError, match=r"^section: "):
        papers.drawn("beyond_noise")
