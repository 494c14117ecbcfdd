"""Examples: drawn as documented; unusable examples are refused."""

import sys

import numpy as np
import pytest
from scipy.io import savemat
from scipy.optimize import linprog

import tutelage as tl
from tutelage._checks import InputError
from tutelage.spectra import (
    curved_examples,
    digits,
    examples,
    linear_examples,
    load_examples,
)


def margin_of_separation(examples):
    """The largest t with y (w·x + b) ≥ t, |w_i| ≤ 1: positive if a line separates the classes."""
    y = 2 * examples.labels - 1
    n = examples.inputs.shape[1]
    A = np.hstack([-y[:, None] * examples.inputs, -y[:, None], np.ones((len(y), 1))])
    bounds = [(-1, 1)] * n + [(None, None)] * 2
    result = linprog(np.r_[np.zeros(n + 1), -1.0], A, np.zeros(len(y)), bounds=bounds)
    return result.x[-1]


def test_the_linear_set_has_the_size_of_the_papers_and_a_line_separates_it():
    result = linear_examples()
    assert result.inputs.shape == (51, 2)
    assert np.bincount(result.labels).tolist() == [30, 21]
    # Points keep a distance of 0.1 from a line whose w, scaled to max|w_i| = 1, has length √1.25.
    assert margin_of_separation(result) >= 0.1 * np.sqrt(1.25) - 1e-9


def test_the_curved_set_has_the_size_of_the_papers_and_no_line_separates_it():
    result = curved_examples()
    assert result.inputs.shape == (863, 2)
    assert np.bincount(result.labels).tolist() == [383, 480]
    assert margin_of_separation(result) < 1e-9
    # Neighbours belong to the same class: 3 nearest of the others classify almost all.
    apart = np.linalg.norm(result.inputs[:, None] - result.inputs, axis=-1)
    np.fill_diagonal(apart, np.inf)
    votes = result.labels[np.argsort(apart, axis=1)[:, :3]].mean(axis=1) > 0.5
    assert np.mean(votes == result.labels) > 0.95


@pytest.mark.parametrize("make", [linear_examples, curved_examples])
def test_the_seed_decides_what_is_drawn(make):
    first, second, other = make(seed=1), make(seed=1), make(seed=2)
    np.testing.assert_array_equal(first.inputs, second.inputs)
    assert not np.array_equal(first.inputs, other.inputs)


def test_the_digits_are_1797_images_in_ten_classes():
    result = digits()
    assert result.inputs.shape == (1797, 64) and result.classes == 10
    assert result.inputs.min() == 0.0 and result.inputs.max() == 1.0


def test_without_scikit_learn_the_digits_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match="scikit-learn"):
        digits()


@pytest.mark.parametrize("ending", [".mat", ".npz", ".csv"])
def test_files_hold_the_same_examples(tmp_path, ending):
    result, file = linear_examples(20), tmp_path / f"points{ending}"
    if ending == ".mat":
        savemat(file, {"X": result.inputs, "y": result.labels[:, None].astype(np.uint8)})
    elif ending == ".npz":
        np.savez(file, X=result.inputs, y=result.labels)
    else:
        table = np.column_stack([result.inputs, result.labels])
        np.savetxt(file, table, delimiter=",", header="a,b,class", comments="", fmt="%.17g")
    read = load_examples(file)
    np.testing.assert_array_equal(read.inputs, result.inputs)
    np.testing.assert_array_equal(read.labels, result.labels)
    assert (read.classes, read.name) == (2, "points")


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        ([[0.0, np.nan], [1.0, 2.0]], [0, 1], r"inputs: got nan at index \(0, 1\)"),
        ([1.0, 2.0], [0, 1], r"inputs: got shape \(2,\)"),
        ([[1.0], [2.0]], [0, 1, 1], "labels: got 3 labels, but there are 2 inputs"),
        ([[1.0], [2.0]], [0.5, 1], "labels: got the values 0.5, 1, but classes are 0, 1"),
        ([[1.0], [2.0]], [1, 2], "labels: got the values 1, 2"),
        ([[1.0], [2.0]], [-1, 1], "labels: got the values -1, 1"),
        ([[1.0], [2.0]], [0, 0], "labels: got the values 0, but"),
        ([[1.0], [2.0]], ["a", "b"], "labels: got list"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], r"labels: got shape \(2, 2\)"),
    ],
)
def test_what_are_no_examples_is_refused(inputs, labels, message):
    with pytest.raises(InputError, match=message):
        examples(inputs, labels)


def test_the_error_of_a_file_without_the_variables_lists_those_it_has(tmp_path):
    np.savez(tmp_path / "a.npz", features=np.ones((2, 1)), y=[0, 1])
    with pytest.raises(InputError, match=r"features, y.*'X' is expected"):
        load_examples(tmp_path / "a.npz")
    result = load_examples(tmp_path / "a.npz", inputs="features")
    assert result.inputs.shape == (2, 1)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "1,0", "has to end in .mat, .npz or .csv"),
        ("a.mat", "not a file of MATLAB, though it has the ending", "not a MATLAB file"),
        ("a.npz", "no archive", "not a NumPy archive"),
        ("a.csv", "1,2,0\n1,1", "same two or more columns"),
        ("a.csv", "1,2,0\n1,x,1", "has to be a number"),
        ("a.csv", "", "same two or more columns"),
    ],
)
def test_what_is_no_file_of_examples_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_examples(tmp_path / name)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        load_examples(tmp_path / "a.mat")


@pytest.mark.parametrize("arguments", [{"count": 1}, {"count": 0}, {"seed": -1}, {"seed": 0.5}])
def test_counts_and_seeds_that_cannot_be_used_are_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        tl.spectra.linear_examples(**arguments)
