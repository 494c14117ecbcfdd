"""The page as one file."""

import re

import pytest

from tutelage.explorer import bundle

MODULES = sorted(file.name for file in bundle.STATIC.glob("*.js"))


def test_each_module_occurs_once_and_before_its_importers():
    script = bundle.bundle()
    names = re.findall(r"^const module_(\w+) = ", script, re.MULTILINE)
    assert sorted(f"{name}.js" for name in names) == MODULES
    for name in names:
        text = (bundle.STATIC / f"{name}.js").read_text(encoding="utf-8")
        for imported in bundle.IMPORT.findall(text):
            assert names.index(imported[1]) < names.index(name)


def test_the_page_preloads_all_modules():
    page = (bundle.STATIC / "index.html").read_text(encoding="utf-8")
    matches = re.findall(r'modulepreload" href="/static/(\w+\.js)"', page)
    assert sorted([*matches, bundle.ENTRY_MODULE]) == MODULES


@pytest.mark.parametrize("form", ['import "./a.js";', "export default 1;", "export { a };"])
def test_forms_that_the_rule_does_not_know_are_refused(form):
    with pytest.raises(AssertionError, match="unsupported form"):
        bundle._as_function("made_up", f"{form}\n")


def test_the_page_names_no_address_to_load_from():
    page = bundle.page({"views": []}, "var Plotly = '</script>';")
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "var Plotly = '<\\/script>'" in page
    assert page.count("<script") == page.count("</script>")
