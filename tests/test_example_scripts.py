"""The examples run, and the data beside their pictures are what they compute."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
# Saved data that a machine with other roundings may draw differently: random walks and trainings
# that have gone another way since.
SAMPLED = {"hysteresis.csv", "weak_teacher_nodes.csv", "digits_from_a_network.csv"}
SAMPLED |= {"where_descent_ends.csv", "temperature.csv"}
SAMPLED |= {f"own_networks_{name}.csv" for name in ("flax", "keras", "pytorch")}
# Absolute and relative; rounding elsewhere.  A curve is known to the tolerance of its integration,
# and of an optimum only the square root of the precision is known, which its curves follow.
TOLERANCES = {
    "learning_rates.csv": (1e-9, 1e-5),
    "learning_rate_schedule.csv": (1e-9, 2e-2),
    "best_of_all_schedules.csv": (1e-3, 1e-2),
    "activations_online.csv": (1e-8, 1e-3),
}


def test_examples_are_numbered_questions():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))
    for script in SCRIPTS:
        assert script.read_text(encoding="utf-8").splitlines()[0].endswith("?"), script.name


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_examples_run_and_their_saved_data_are_what_they_compute(script, tmp_path):
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    files = sorted(tmp_path.glob("*.csv"))
    assert files and all(file.with_suffix(".png").exists() for file in files)
    for file in files:
        saved = (ROOT / "docs" / "pictures" / file.name).read_text(encoding="utf-8").splitlines()
        heading, *rows = file.read_text(encoding="utf-8").splitlines()
        assert heading == saved[0]
        absolute, relative = TOLERANCES.get(file.name, (1e-12, 1e-5))
        for row, saved_row in zip(rows, saved[1:], strict=True):
            for a, b in zip(row.split(","), saved_row.split(","), strict=True):
                # Errors near rounding differ between machines; larger ones do not.
                close = abs(float(a) - float(b)) <= absolute + relative * abs(float(b))
                assert close or file.name in SAMPLED
