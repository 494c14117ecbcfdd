"""A checkpoint is complete at any time, belongs to one computation, and is written whatever ends
it.
"""

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage.runs import checkpoint as module
from tutelage.runs.checkpoint import Checkpoint, digest, flat, restored

IDENTITY = {"seed": 1, "rate": 0.5}


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, MemoryError])
def test_the_last_state_is_written_on_every_exception(tmp_path, problem):
    path = tmp_path / "work.npz"
    with pytest.raises(problem), Checkpoint(path, IDENTITY) as checkpoint:
        for step in range(3):
            checkpoint.update({"finished": np.array(step)})
        raise problem
    assert int(Checkpoint(path, IDENTITY).load()["finished"]) == 2


def test_a_block_without_an_exception_writes_only_on_request(tmp_path):
    path = tmp_path / "work.npz"
    with Checkpoint(path, IDENTITY) as checkpoint:
        checkpoint.update({"finished": np.array(1)})
    assert not path.exists()


def test_content_is_made_when_it_is_written(tmp_path, monkeypatch):
    result = []

    def content():
        result.append(1)
        return {"finished": np.array(0)}

    with Checkpoint(tmp_path / "work.npz", IDENTITY) as checkpoint:
        checkpoint.update(content)
        assert not result
        monkeypatch.setattr(module, "SECONDS_BETWEEN_SAVES", 0.0)
        checkpoint.update(content)
        assert len(result) == 1


def test_no_path_keeps_nothing():
    with Checkpoint(None, IDENTITY) as checkpoint:
        assert checkpoint.load() is None
        checkpoint.save({"finished": np.array(0)})


def test_a_file_of_other_work_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "work.npz"
    Checkpoint(path, IDENTITY).save({"finished": np.array(0)})
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"rate = 0.5.*this call has rate = 0.25"):
        Checkpoint(path, {**IDENTITY, "rate": 0.25})
    assert path.read_bytes() == before


def test_differences_in_numbers_are_named_before_digests(tmp_path):
    def identity(until):
        return {"recorded": digest(np.arange(until)), "examples": until}

    with Checkpoint(tmp_path / "work.npz", identity(5)) as checkpoint:
        checkpoint.save({"finished": np.array(0)})
    words = r"examples = 5 \(and recorded\), but this call has examples = 6;"
    with pytest.raises(InputError, match=words):
        Checkpoint(tmp_path / "work.npz", identity(6)).load()


def test_trees_come_back_in_their_shape():
    tree = {"weights": np.arange(6.0).reshape(2, 3), "epoch": (np.array(3), np.zeros(2))}
    second = restored("state", tree, flat("state", tree))
    assert digest(*second["weights"]) == digest(*tree["weights"])
    np.testing.assert_array_equal(second["epoch"][0], 3)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY"])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "work.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint(path, IDENTITY)
    assert path.read_bytes() == content


@pytest.mark.parametrize("path", ["", 3, "nowhere/work.npz", "."])
def test_a_path_that_cannot_be_written_is_refused(path):
    with pytest.raises(InputError, match="checkpoint: got"):
        Checkpoint(path, IDENTITY)
