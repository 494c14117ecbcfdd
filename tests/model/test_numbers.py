"""The table of the numbers of a scenario, and all readers of the table."""

import dataclasses
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tutelage as tl
from tutelage._checks import InputError
from tutelage.model.numbers import NAMES, NUMBERS, in_units_of_time, numbers_of

SOURCE = Path(tl.__file__).parent
ONE = tl.Committee(1, tl.Erf())


@pytest.mark.parametrize("kind", [tl.Scenario, tl.online.SymmetricScenario])
def test_the_signature_that_is_written_out_is_that_of_the_table(kind):
    options = {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert options == {number.name: number.default for number in NUMBERS}
    assert set(NAMES) < {field.name for field in dataclasses.fields(kind)}


@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_a_number_is_described_bounded_and_may_differ_between_runs(number):
    assert re.search(rf"^    {number.name}: ", tl.Scenario.__doc__, re.M)
    with pytest.raises(InputError, match=f"{number.name}: got -1"):
        tl.Scenario(ONE, ONE, **{number.name: -1.0})
    several = tl.Scenario(ONE, ONE, **{number.name: np.array([0.5, 0.25])})
    assert several.leading == (2,)
    value = [getattr(scenario, number.name) for scenario in several.split_runs()]
    assert value == ([(0.5, 0.5), (0.25, 0.25)] if number.is_pair else [0.5, 0.25])
    with pytest.raises(InputError, match=rf"Try: tl.Scenario\(.*{number.name}="):
        tl.online.fixed_point(several, **{number.name: 1.0})


def test_only_rates_scale_with_the_unit_of_time():
    given = numbers_of(tl.Scenario(ONE, ONE, label_noise=0.1, drift=0.2, weight_decay=0.3))
    scaled = in_units_of_time(given, 2.0)
    assert (scaled["drift"], scaled["weight_decay"], scaled["label_noise"]) == (0.4, 0.6, 0.1)


ROW = """
    Number(
        "sparsity",
        symbol="λ",
        tex=r"\\lambda",
        title="a made-up number",
        help="Share of something made up.",
        metavar="SHARE",
        acts_on="first layer",
        default=0.0,
        slider=(1e-3, 1.0),
        at_least=0.0,
        is_rate=True,
    ),
)
NAMES ="""

FOUND = """
import json, sys
import numpy as np
import tutelage as tl
from tutelage.cli import online, simulate
from tutelage.explorer.views.online import controls, setting
from tutelage.figures.sweeps import SYMBOLS
from tutelage.sweeps.compute import evolved
import dataclasses
import inspect

two = tl.Committee(2, tl.Erf())
start = tl.Overlaps(Q=0.25 * np.eye(2), R=1e-3 * np.eye(2), T=np.eye(2))
runs = tl.online.evolve(
    tl.Scenario(two, two, sparsity=np.array([0.1, 0.2])), start, learning_rate=0.5, until=1
)
decays = tl.online.evolve(
    tl.Scenario(two, two, weight_decay=np.array([0.1, 0.2])), start, learning_rate=0.5, until=1
)
study = tl.sweeps.run(
    tl.online.evolve, {"sparsity": [0.1, 0.2]}, scenario=tl.Scenario(two, two), start=start,
    learning_rate=0.5, until=1, workers=1,
)
state = {p.name: p.default for p in controls.PARAMETERS} | {"sparsity": 0.3}
try:
    tl.online.evolve(tl.Scenario(two, two), start, 0.5, until=1, sparsity=1.0)
except tl.InputError as problem:
    hint = problem.hint
try:
    tl.Scenario(two, two, sparsity=-1)
except tl.InputError as problem:
    refusal = str(problem)
again = tl.results.recompute(runs)
print(json.dumps({
    "coordinate": runs.sel(sparsity=0.2).sizes["time"],
    "decays": bool(np.allclose(runs.Q, decays.Q, rtol=1e-9, atol=0)),
    "recomputed": again.identical(runs),
    "swept": study["sparsity"].values.tolist(),
    "options": ["sparsity" in inspect.signature(c).parameters
                for c in (online.online, simulate.simulate)],
    "slider": [p.symbol for p in controls.PARAMETERS if p.name == "sparsity"],
    "setting": setting.numbers(state),
    "symbol": SYMBOLS["sparsity"],
    "hint": hint,
    "refusal": refusal,
    "symmetric": tl.online.SymmetricScenario(two, two, sparsity=0.5).sparsity,
}))
"""


@pytest.mark.slow
def test_a_made_up_number_is_found_everywhere(tmp_path):
    """A row of the table; a field and an argument of `Scenario`, which are written out.

    As a rate, it is that at which the weights it acts on decay, without any further term.
    """
    package = tmp_path / "tutelage"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "recorded"))
    _edit(package / "model/numbers.py", ")\nNAMES =", ROW.lstrip("\n"))
    scenario, argument = package / "model/scenario.py", "readout_decay: ArrayLike = 0.0,"
    _edit(scenario, "readout_decay: Any\n", "readout_decay: Any\n    sparsity: Any\n")
    _edit(scenario, argument, f"{argument} sparsity: Any = 0.0,")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FOUND], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert result.pop("coordinate") > 1
    assert result == {
        "decays": True,
        "recomputed": True,
        "swept": [0.1, 0.2],
        "options": [True, True],
        "slider": ["λ"],
        "setting": {"sparsity": 0.3},
        "symbol": r"$\lambda$",
        "hint": "tl.Scenario(student, teacher, sparsity=...)",
        "refusal": "sparsity: got -1, but it has to be at least 0.",
        "symmetric": 0.5,
    }


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")
