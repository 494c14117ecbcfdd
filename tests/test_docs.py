"""The documentation: its code prints what it says, and the built pages need nothing from elsewhere.

`make check` builds the pages and runs this file.  Without pages, or with old ones, the tests of
the pages are skipped, and say so.
"""

import importlib
import importlib.util
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
import verdicts
from browser import CHROMIUM, complaints, needs_chromium
from explorer.pages import OPTIONS as BROWSER_OPTIONS, PHONE, WIDE, faults
from quotations import quotations
from scenarios import GRADED, GRADED_START

import tutelage as tl

ROOT = Path(__file__).parents[1]
DOCS, SITE = ROOT / "docs", ROOT / "site"
EXTENSIONS = DOCS / "extensions"
# The build writes docs/api itself.
WRITTEN = [
    path
    for path in DOCS.rglob("*.*")
    if path.is_file() and path.suffix != ".pyc" and "api" not in path.parts
]
INCLUDED = [ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "GLOSSARY")]
SOURCES = [*INCLUDED, *WRITTEN, *(ROOT / "examples").glob("*.py")]
PAGES = sorted(DOCS.rglob("*.md"))
# What the theme writes to the console of a browser.
THEME = ('"[PST]', '"Got invalid theme mode')
VERBATIM = {"pre", "code", "script", "style", "math", "svg", "title"}
LOADED = {"stylesheet", "icon", "preload", "preconnect", "prefetch", "modulepreload"}
VOID = {"meta", "link", "img", "input", "br", "hr", "source", "base"}


class Built(HTMLParser):
    """A built page: its anchors, links, loaded files, and its text without code."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.text, self.formulas, self.nested, self._open = "", 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attrs = dict(attributes)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        self.formulas += tag == "math"
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
            self.nested += [attrs["href"]] if "a" in self._open else []
        if tag == "link" and LOADED & set((attrs.get("rel") or "").split()):
            self.loaded.append(attrs["href"])
        self.loaded += [attrs[name] for name in ("src", "data", "poster") if attrs.get(name)]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        while tag in self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not VERBATIM & set(self._open):
            self.text += data


@pytest.fixture(scope="module")
def site() -> Path:
    if not (SITE / "searchindex.js").exists():
        pytest.skip("the pages have not been built: make docs")
    if max(path.stat().st_mtime for path in SOURCES) > (SITE / "searchindex.js").stat().st_mtime:
        pytest.skip("site/ is older than docs/: make docs")
    return SITE


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


@cache
def built(path: Path) -> Built:
    return Built(path.read_text(encoding="utf-8"))


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def extension(name: str, monkeypatch):
    """One of our extensions of Sphinx."""
    pytest.importorskip("sphinx", reason="pip install -e '.[test,docs]'")
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    return importlib.import_module(name)


def source_of(page: Path) -> str:
    """The text of a page, with the file that it includes."""
    text = page.read_text(encoding="utf-8")
    included = re.match(r"```\{include\} (\S+)", text)
    return (page.parent / included[1]).read_text(encoding="utf-8") if included else text


def test_an_unknown_command_in_a_formula_is_an_error(monkeypatch):
    maths = extension("maths", monkeypatch)
    assert "<mfrac>" in maths.mathml(r"\frac{1}{2}", "inline")
    assert "msqrt" not in maths.mathml(r"1/\sqrt N", "inline")
    with pytest.raises(maths.ExtensionError, match="nosuch"):
        maths.mathml(r"\nosuch{1}", "inline")


def test_what_needs_an_undecided_address_is_left_out(monkeypatch):
    addresses = extension("addresses", monkeypatch)
    text = "a\n<!-- if repository -->\nb <repository>\n<!-- end -->\nc\n"
    assert addresses.with_addresses(text, {"repository": ""}) == "a\nc\n"
    filled = addresses.with_addresses(text, {"repository": "https://example.org"})
    assert filled == "a\nb https://example.org\nc\n"


def test_symbols_of_formulas_are_searched_as_they_are_written(monkeypatch):
    search = extension("symbol_search", monkeypatch).SearchSymbols({})
    assert {"α_c", "αc"} <= set(search.split(r"\alpha_c = 3"))
    assert "Q_ik" in search.split("Q_{ik} \\ge 0") and "R_in" in search.split("the overlap R_in")


def test_a_docstring_becomes_restructured_text(monkeypatch):
    api_reference = extension("api_reference", monkeypatch)
    lines = [
        "Sum.",
        "",
        "    |a| + b",
        "",
        "a: the |first|,",
        "    longer.",
        "b: the other.",
        "",
        "End.",
    ]
    api_reference.to_restructured_text(None, "class", "", None, None, lines)
    assert [line for line in lines if line] == [
        *("Sum.", "::", "    |a| + b", "- ``a``:", r"  the \|first\|,", "  longer."),
        *("- ``b``:", "  the other.", "End."),
    ]


def test_names_in_code_font_are_found(monkeypatch):
    names = extension("names", monkeypatch)
    listed = (
        "online.fixed_point",
        "online.plateau",
        "a.best_of",
        "b.best_of",
        "generalization_error",
    )
    objects = {f"tutelage.{name}": SimpleNamespace(objtype="function") for name in listed}
    for written, full in {
        "tl.online.plateau": "tutelage.online.plateau",
        "online.plateau": "tutelage.online.plateau",
        "fixed_point": "tutelage.online.fixed_point",
        "plateau": None,  # a word
        "best_of": None,  # of two packages
        "generalization_error": None,  # a variable of Datasets
    }.items():
        assert names.full_name(written, "", objects) == full
    assert names.CALL.sub("", "tl.online.plateau(scenario, f(x))") == "tl.online.plateau"


def test_a_first_sentence_ends_behind_its_references(monkeypatch):
    end = extension("api_reference", monkeypatch).SENTENCE_END
    assert end.split("As Fig. 2 and eqs. (3).  More.", maxsplit=1)[0] == "As Fig. 2 and eqs. (3)."


def test_every_link_and_anchor_leads_somewhere(site):
    for page in pages(site):
        for address in built(page).links + built(page).loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), f"{page.relative_to(site)}: {address}"
            if parts.fragment and target.suffix == ".html":
                anchors = built(target).anchors
                result = unquote(parts.fragment) in anchors
                assert result, f"{page.relative_to(site)}: {address}"


def test_no_link_is_inside_a_link(site):
    """A browser shows the outer one without text."""
    for page in pages(site):
        assert not built(page).nested, page.relative_to(site)


def test_nothing_is_loaded_from_elsewhere(site):
    for page in pages(site):
        away = [address for address in built(page).loaded if is_elsewhere(address)]
        assert not away, f"{page.relative_to(site)}: {away}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//", text), sheet.name


def test_formulas_are_rendered(site):
    """Nothing is left of LaTeX, and no page has lost its formulas on the way."""
    for source in PAGES:
        page = built(site / source.relative_to(DOCS).with_suffix(".html"))
        left = re.search(r"\$|\\[a-zA-Z(\[]", page.text)
        assert not left, f"{source.name}: {page.text[left.start() - 40 : left.end() + 40]!r}"
        text = re.sub(r"```.*?```|`[^`\n]*`", "", source_of(source), flags=re.S)
        written = re.findall(r"\$\$.+?\$\$|\$[^$]+?\$", text, flags=re.S)
        assert page.formulas == len(written), source.name


def public_names(package) -> Iterator[str]:
    """Addresses of the exported names of a package and its subpackages."""
    for name in getattr(package, "__all__", []):
        thing = getattr(package, name)
        if inspect.ismodule(thing):
            yield from public_names(thing)
        elif not name.startswith("_"):
            home = tl if getattr(tl, name, None) is thing else package
            page = home.__name__.replace(".", "/")
            yield f"api/{page}.html#{home.__name__}.{name}"


def test_every_public_name_is_in_the_reference(site):
    assert set(public_names(tl)) <= set(built(site / "reference.html").links)


def test_every_example_is_in_the_gallery(site):
    gallery = built(site / "gallery.html")
    for script in sorted((ROOT / "examples").glob("*.py")):
        assert any(link.endswith(f"/{script.name}") for link in gallery.links)
        question = script.read_text(encoding="utf-8").splitlines()[0].strip('"')
        assert question.endswith("?") and question in gallery.text


@pytest.fixture
def served(site) -> Iterator[str]:
    """The address of the pages behind a server, which the search needs."""
    handler = partial(Quiet, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A server that logs no requests."""

    def log_message(self, *_):
        pass


@needs_chromium
def test_pages_open_without_a_complaint_and_ask_no_other_host(site, served, tmp_path):
    """All of them in frames of one page, because a browser takes long to start."""
    names = [page.relative_to(site) for page in pages(site)]
    shown = [name for name in names if "api" not in name.parts or name.name == "online.html"]
    frames = "".join(
        f'<iframe src="{served}{n}" width="1000" height="700"></iframe>' for n in shown
    )
    page = tmp_path / "pages.html"
    page.write_text(f"<!doctype html><html><body>{frames}</body></html>", encoding="utf-8")
    assert [c for c in complaints(page, tmp_path, own=served) if not c.startswith(THEME)] == []


@needs_chromium
def test_a_complaint_of_a_page_in_a_frame_is_seen(tmp_path):
    bad, page = tmp_path / "bad.html", tmp_path / "page.html"
    bad.write_text('<script src="http://example.org/x.js"></script>', encoding="utf-8")
    frame = f'<iframe src="{bad.as_uri()}"></iframe>'
    page.write_text(f"<!doctype html><html><body>{frame}</body></html>", encoding="utf-8")
    assert any("http://example.org/x.js" in what for what in complaints(page, tmp_path))


ACCESSIBLE = [
    *("index", "quickstart", "choose", "online", "glossary", "gallery", "reference"),
    *("tutorials/04_phase_transition", "physics/averages", "api/tutelage/results"),
    "physics/equilibrium",
]


CUT_CODE = """() => [...document.querySelectorAll("article pre")]
    .filter((block) => block.scrollWidth > block.clientWidth + 1)
    .map((block) => block.textContent)"""


# Names and formulas wider than the column of a phone.
OVERHANG = """() => [...document.querySelectorAll("article :is(h1, h2, h3, p, li, dt)")]
    .filter((text) => text.scrollWidth > text.clientWidth + 1 && text.clientWidth > 0)
    .map((text) => text.textContent.slice(0, 80))"""


@pytest.mark.slow
@needs_chromium
def test_pages_have_no_serious_accessibility_fault_and_cut_no_code(site):
    """By axe-core, on a screen and on a phone, where no text is wider than its column."""
    pytest.importorskip("axe_core_python")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(BROWSER_OPTIONS))
        for size in (WIDE, PHONE):
            page = browser.new_context(**size).new_page()
            for name in ACCESSIBLE:
                page.goto((site / f"{name}.html").as_uri())
                assert not faults(page), name
                assert size is PHONE or page.evaluate(CUT_CODE) == [], name
                assert page.evaluate(OVERHANG) == [], name
        page.set_content("<html lang=en><title>t</title><main><img src=x></main></html>")
        assert [fault[0] for fault in faults(page)] == ["image-alt"]
        browser.close()


def search_index(site: Path) -> dict:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


@pytest.mark.parametrize(
    ("word", "page"),
    [("plateau", "physics/online"), ("α_c", "equilibrium"), ("αc", "equilibrium"),
     ("q_ik", "physics/model"), ("r_in", "physics/model"), ("ε_g", "online")],
)  # fmt: skip
def test_the_search_knows_words_and_symbols_of_the_pages(site, word, page):
    index = search_index(site)
    places = index["terms"][word]
    places = [places] if isinstance(places, int) else places
    assert page in [index["docnames"][place] for place in places]


def test_the_search_knows_functions(site):
    objects = search_index(site)["objects"]
    names = {f"{prefix}.{entry[4]}" for prefix, entries in objects.items() for entry in entries}
    assert {"tutelage.online.evolve", "tutelage.Overlaps.to_weights"} <= names


def test_the_readme_has_the_ratios_of_the_benchmarks():
    """Speed relative to the fastest program of an afternoon: the last column of its table."""
    table = (DOCS / "benchmarks.md").read_text(encoding="utf-8").partition("| erf | tutelage,")[2]
    ratios = [row.rpartition("|")[0].rpartition("|")[2].split(":")[0].strip()
              for row in table.split("\n\n")[0].splitlines()[2:]]  # fmt: skip
    two, four, eight, sixteen = ratios
    sentence = (
        f"{two} with two units, {four} with four, {eight} with eight and {sixteen} with sixteen"
    )
    assert sentence in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


TEXTS = [ROOT / "README.md", *PAGES]
WITH_CODE = [page for page in TEXTS if "```python" in page.read_text(encoding="utf-8")]
QUOTED = [
    (page, quotation)
    for page in TEXTS
    for quotation in quotations(page.read_text(encoding="utf-8"))
]
COMMANDS = sorted({q.command for _, q in QUOTED if q.command.startswith("tutelage ")})


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_the_second_line_of_a_table_has_dashes_alone(page):
    """Otherwise the page shows its source."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for table in re.findall(r"(?:^\| .*\n)+", text, flags=re.M):
        second = [*table.splitlines(), ""][1]
        assert re.fullmatch(r"\|(?: :?-{3,}:? \|)+", second), table


def test_it_is_known_what_has_printed_every_quotation():
    """Code and commands are run below; the quotation of `make reproduce` is the count of all
    verdicts.
    """
    report = f"{verdicts.summary()}\nreport: report/index.html\n"
    for page, result in QUOTED:
        assert result.code or result.command in COMMANDS or result.printed == report, (page, result)
    assert {page.name for page, _ in QUOTED} >= {"README.md", "quickstart.md", "simulation.md"}


def test_a_quotation_has_its_command_or_its_code():
    text = "```python\nprint(1)\n```\n\nprints\n\n```\n1\n```\n\n    tutelage x\n\n```\n2\n```\n"
    text += "```\n$ tutelage y\n3\n```\n\n```text\n4\n```\n"
    assert [(q.printed, q.command, q.code) for q in quotations(text)] == [
        ("1\n", "", "print(1)\n"),
        ("2\n", "tutelage x", ""),
        ("3\n", "tutelage y", ""),
        ("4\n", "", ""),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_in_the_pages_prints_what_they_say(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page in order, as a reader would enter them."""
    text = page.read_text(encoding="utf-8")
    said = {result.code: result.printed for result in quotations(text) if result.code}
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```\n", text, flags=re.S):
        if "import torch" in code and not importlib.util.find_spec("torch"):
            continue  # `make torch` installs it, where it can
        exec(compile(code, page.name, "exec"), names)
        out = capsys.readouterr().out
        assert out == said.get(code, out)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_what_the_pages_quote(command, tmp_path, monkeypatch, run):
    """Every line that is quoted; a page may leave lines out."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(*command.split()[1:])
    printed = {line.strip() for line in out.splitlines()}
    assert code == 0
    for page, result in QUOTED:
        if result.command == command:
            assert {line.strip() for line in result.printed.splitlines()} <= printed, page.name


@cache
def of_citton2025():
    return tl.online.critical_learning_rates(GRADED, GRADED_START)


def transitions_of(activation, units, name="coexists"):
    return getattr(tl.equilibrium.transitions(activation, units), name)


# Numbers in tables, by the page and the first cell of their row.
COMPUTED = {
    ("equilibrium", "erf, K = 5, α_c"): lambda: transitions_of(tl.Erf(), 5).value,
    ("equilibrium", "erf, K = 5, α_d"): lambda: transitions_of(tl.Erf(), 5, "unstable").value,
    ("equilibrium", "ReLU, K = 10, α_c"): lambda: transitions_of(tl.ReLU(), 10).value,
    ("equilibrium", r"ReLU, K = 3, jump of \|R − S\| at α_c"): lambda: transitions_of(
        tl.ReLU(), 3, "jump"
    ),
    ("equilibrium", "ReLU, K = 10, the same"): lambda: transitions_of(tl.ReLU(), 10, "jump"),
    ("online", "error not monotonic above"): lambda: of_citton2025().non_monotonic.value,
    ("online", "no plateau above (a fold)"): lambda: of_citton2025().plateau_vanishes.value,
    ("online", "norms grow without bound above"): lambda: of_citton2025().diverges.value,
    ("online", "final state unstable above"): lambda: of_citton2025().loses_stability.value,
}
SLOW = {"online": pytest.mark.slow}


@pytest.mark.parametrize(
    ("page", "cell"),
    [pytest.param(*key, marks=SLOW.get(key[0], ())) for key in COMPUTED],
)
def test_numbers_in_tables_are_those_that_are_computed(page, cell):
    """To the last digit that is printed."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    printed = re.search(rf"^\| {re.escape(cell)} \| (\d+\.\d+) \|", text, re.M).group(1)
    digits = len(printed.partition(".")[2])
    assert f"{COMPUTED[page, cell]():.{digits}f}" == printed
