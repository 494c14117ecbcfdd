"""Stored results stay valid until code changes that computes."""

import shutil

import pytest

from tutelage.sweeps.code import PACKAGE, digest


@pytest.mark.parametrize(
    ("file", "computes"),
    [
        ("explorer/parameters.py", False),
        ("explorer/views/online/controls.py", False),
        ("figures/online.py", False),
        ("report/page.py", False),
        ("cli/online.py", False),
        ("online/flow.py", True),
        ("averages/generalization.py", True),
        ("solve/stepping.py", True),
        ("_jax.py", True),
    ],
)
def test_the_digest_changes_with_code_that_computes_and_with_no_other(tmp_path, file, computes):
    folder = tmp_path / "tutelage"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest(folder) == digest()
    changed = shutil.copytree(folder, tmp_path / "changed")
    with (changed / file).open("a", encoding="utf-8") as source:
        source.write("\nANOTHER = 1\n")
    assert (digest(changed) != digest()) == computes
