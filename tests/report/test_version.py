"""Keys of stored results."""

from tutelage.papers import Entry, Paper, sections
from tutelage.papers.section import Section
from tutelage.papers.tian2020 import cifar as tian2020_cifar
from tutelage.report.version import key


def entry(name="fig1", full="", paper="p", outside=""):
    section = Section(name, "", "", lambda large: [], full, lambda: outside)
    return Entry(Paper(paper, "", ()), section, "made_up_paper")


def test_the_key_distinguishes_papers_sections_sizes_and_data():
    keys = {
        key(entry(), False),
        key(entry("fig2"), False),
        key(entry(paper="q"), False),
        key(entry(full="more"), True),
        key(entry(outside="with images"), False),
    }
    assert len(keys) == 5


def test_a_section_of_one_size_has_one_key():
    assert key(entry(), True) == key(entry(), False)
    assert key(entry(full="more"), False) == key(entry(), False)


def test_images_that_have_arrived_are_used():
    """A missing figure 8 of tian2020 is not stored, and is computed once the images exist."""
    (figure,) = sections(["tian2020"], "8")
    assert figure.section.outside is tian2020_cifar.outside
