"""What a result is named by."""

from tutelage.papers import Entry
from tutelage.papers.section import Section
from tutelage.report.version import key


def entry(name="fig1", full="", paper="p"):
    return Entry(paper, Section(name, "", "", lambda large: [], full))


def test_the_key_tells_papers_sections_and_sizes_apart():
    keys = {
        key(entry(), False),
        key(entry("fig2"), False),
        key(entry(paper="q"), False),
        key(entry(full="more"), True),
    }
    assert len(keys) == 4


def test_a_section_of_one_size_has_one_key():
    assert key(entry(), True) == key(entry(), False)
    assert key(entry(full="more"), False) == key(entry(), False)
