"""Committees and scenarios: defaults, and messages of refusals."""

import numpy as np
import pytest

import tutelage as tl

TWO = tl.Committee(2, tl.ReLU())


def test_defaults_are_plain():
    scenario = tl.Scenario(student=tl.Committee(3, tl.Erf()), teacher=TWO)
    assert (scenario.K, scenario.M) == (3, 2)
    assert scenario.T.tolist() == [[1, 0], [0, 1]]
    assert scenario.output_scale == (1.0, 1.0)
    assert scenario.label_noise == scenario.weight_decay == 0.0


def test_output_scale_may_differ_between_student_and_teacher():
    assert tl.Scenario(TWO, TWO, output_scale=(0.5, 2.0)).output_scale == (0.5, 2.0)
    assert tl.Scenario(TWO, TWO, output_scale=0.5).output_scale == (0.5, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tl.Committee(0, tl.ReLU()), "units: got 0.*at least 1"),
        (lambda: tl.Committee(True, tl.ReLU()), "units: got True.*whole number"),
        (lambda: tl.Committee(2.0, tl.ReLU()), "units: got 2.0.*whole number"),
        (lambda: tl.Committee(2, "relu"), r"activation: got 'relu'.*tl.ReLU\(\)"),
        (lambda: tl.Committee(2, tl.ReLU), "activation: .*Activation"),
        (lambda: tl.Scenario(TWO, 2), "teacher: got 2.*Committee"),
        (lambda: tl.Scenario(None, TWO), "student: got None.*Committee"),
        (lambda: tl.Scenario(TWO, TWO, np.eye(3)), r"teacher_overlaps: got shape \(3, 3\).*2 x 2"),
        (lambda: tl.Scenario(TWO, TWO, np.ones((1, 1, 2, 2))), r"teacher_overlaps: .*\(2, 2\)"),
        (lambda: tl.Scenario(TWO, TWO, -np.eye(2)), "teacher_overlaps: .*eigenvalue -1"),
        (lambda: tl.Scenario(TWO, TWO, output_scale=0), "output_scale: got 0.*greater than 0"),
        (lambda: tl.Scenario(TWO, TWO, output_scale=(1, 1, 1)), r"output_scale: .*\(s_K, s_M\)"),
        (lambda: tl.Scenario(TWO, TWO, label_noise=-1), "label_noise: got -1.*at least 0"),
        (lambda: tl.Scenario(TWO, TWO, weight_decay=np.nan), "weight_decay: got nan.*finite"),
    ],
)
def test_bad_networks_are_refused(call, message):
    with pytest.raises(tl.InputError, match=message):
        call()
