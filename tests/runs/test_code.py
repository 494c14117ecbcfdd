"""Stored results expire if the code that computed them changes, and only then."""

import os
import shutil
import subprocess
import sys

import pytest

from tutelage.papers import PAPERS, sections
from tutelage.runs.code import PACKAGE, SOURCES, digest, digest_of_package, modules
from tutelage.sweeps.code import versions

OWN = "papers/oostwal2019/sections.py"


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Return a function: does an addition to a file change the digest of a section?"""

    def found(section, file, text="\nANOTHER = 1\n"):
        folder = with_addition(tmp_path_factory.mktemp("sources"), file, text)
        (entry,) = sections(["oostwal2019"], section)
        return digest(entry.module, section, folder) != digest(entry.module, section)

    return found


def with_addition(folder, file, text="\nANOTHER = 1\n"):
    """A copy of the sources in which a file has an addition."""
    shutil.copytree(SOURCES / PACKAGE, folder / PACKAGE, copy_function=os.link)
    path = folder / PACKAGE / file
    content = path.read_text(encoding="utf-8") + text
    path.unlink()  # it is also the file of the package
    path.write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "file",
    [
        "papers/oostwal2019/error.py",
        "averages/generalization.py",  # imported by that
        "papers/row.py",
        "activations/__init__.py",
        "_jax.py",
    ],
)
def test_what_a_section_uses_computes_it_again(changed, file):
    assert changed("eq11", file)


@pytest.mark.parametrize(
    ("section", "file"),
    [
        ("fig4", "figures/equilibrium.py"),  # imported inside a function, by a lazily loaded name
        pytest.param(  # equilibrium.transitions, an attribute
            "eq20", "equilibrium/symmetric/transitions.py", marks=pytest.mark.slow
        ),
    ],
)
def test_names_that_load_lazily_are_followed(changed, section, file):
    assert changed(section, file) and not changed("eq11", file)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param("deep/training/training.py", "\nANOTHER = 1\n", marks=pytest.mark.slow),
        pytest.param("simulation/network.py", "\nANOTHER = 1\n", marks=pytest.mark.slow),
        ("papers/straat2019/runs.py", "\nANOTHER = 1\n"),
        pytest.param("report/page.py", "\nANOTHER = 1\n", marks=pytest.mark.slow),
        pytest.param("cli/reproduce.py", "\nANOTHER = 1\n", marks=pytest.mark.slow),
        (OWN, "\n\ndef _unused(full):\n    yield from ()\n"),  # of other sections
    ],
)
def test_other_code_does_not(changed, file, text):
    assert not changed("eq11", file, text)


def test_the_definition_of_a_section_is_its_code(changed):
    assert changed("eq11", OWN, '\nSECTIONS += (Section("eq11", "another", "", _fig4),)\n')


@pytest.mark.parametrize(
    ("file", "expire"),
    [
        pytest.param("explorer/views/online/controls.py", "", marks=pytest.mark.slow),
        pytest.param("cli/online.py", "", marks=pytest.mark.slow),
        ("figures/overlap_curves.py", ""),
        ("online/flow.py", "study section"),
        ("activations/smooth.py", "study"),  # which an argument of a study may be
    ],
)
def test_labels_of_front_ends_expire_nothing_and_the_equations_everything(tmp_path, file, expire):
    folder = with_addition(tmp_path, file)
    (entry,) = sections(["straat2019"], "table")
    section = entry.module, entry.section.name
    study = "online.evolve"
    assert (versions(study, folder) != versions(study)) == ("study" in expire)
    assert (digest(*section, folder) != digest(*section)) == ("section" in expire)


@pytest.mark.parametrize(("file", "text"), [("cli/online.py", "\n"), ("online/flow.py", "")])
def test_the_digest_of_the_package_changes_with_every_file(tmp_path, file, text):
    folder = with_addition(tmp_path, file, text) / PACKAGE
    assert (digest_of_package(folder) == digest_of_package()) == (text == "")
    (folder / file).rename(folder / "renamed.py")
    assert digest_of_package.__wrapped__(folder) != digest_of_package()


RUN = """
import sys
from importlib import import_module
module, name = sys.argv[1:]
section = next(s for s in import_module(module).SECTIONS if s.name == name)
list(section.compute(False))
print(*(loaded for loaded in sys.modules if loaded.partition(".")[0] == "tutelage"))
"""


@pytest.mark.slow
def test_nothing_is_loaded_that_was_not_foreseen():
    (entry,) = sections(["oostwal2019"], "fig4")
    command = [sys.executable, "-c", RUN, entry.module, "fig4"]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    others = {f"{PACKAGE}.papers.{key}" for key in PAPERS} - {f"{PACKAGE}.papers.oostwal2019"}
    assert set(loaded) - others <= modules(entry.module), "other papers are found, not used"
