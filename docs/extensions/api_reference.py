"""The reference: a page for each package from its docstrings, and a table of all public names.

Functions stand before the objects that they return, in the order in which the pages use them.
In reference.md the line `<!-- names -->` becomes the tables.  A name without a docstring is an
error.  The pages are written to docs/api while the documentation is built; git ignores them.
"""

import inspect
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from docutils import nodes
from names import FOREIGN, full_name
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import tutelage

DOCS = Path(__file__).parents[1]
SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields|Note|Example)s?:$")
FIELD = re.compile(r"((?:\w+, )*[a-zA-Z]\w*): (.*)")
LONGEST_VALUE = 60
# Not behind "eq." or "Fig.", which are followed by a number.
SENTENCE_END = re.compile(r"\n\s*\n|(?<=\.)(?<!eq\.)(?<!eqs\.)(?<!Fig\.)(?<!Figs\.)(?<!Sec\.)\s")
# Paragraphs at the end of a package's docstring, for those who change the package.
INTERNAL = (
    *("Other packages may use the module", "The order of the files", "One file for each"),
    "Names are loaded when",
)
# Sphinx writes the arguments of a long signature as definitions without terms.
ARGUMENTS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")
# Types are written in signatures as in the source, without the modules that define them.
MODULES = re.compile(
    r"\b(?:tutelage|xarray|collections|typing|jax|jaxlib|numpy|equinox)\.(?:\w+\.)*(?=\w)"
)


def packages_in(package: ModuleType) -> dict[str, ModuleType]:
    """Public names of a package that are packages."""
    public = {name: getattr(package, name) for name in sorted(getattr(package, "__all__", []))}
    return {name: value for name, value in public.items() if inspect.ismodule(value)}


def all_packages(package: ModuleType) -> Iterator[ModuleType]:
    """A package and those in it, to any depth."""
    yield package
    for inner in packages_in(package).values():
        yield from all_packages(inner)


def public(package: ModuleType) -> list[str]:
    """Exported names that are not packages; if nothing is exported, what is defined in it."""
    own = [name for name, value in vars(package).items() if is_own(value, package)]
    names = getattr(package, "__all__", [name for name in own if name[0] != "_"])
    return sorted(
        {*names} - {*packages_in(package), "__version__"},
        key=lambda name: (not is_function(getattr(package, name)), -uses(package, name), name),
    )


def is_own(value: object, package: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", None) == package.__name__


def is_function(value: object) -> bool:
    return callable(value) and not inspect.isclass(value) and not typing.get_origin(value)


def uses(package: ModuleType, name: str) -> int:
    """How often the pages write a name."""
    written = f"tl.{package.__name__.partition('.')[2]}.{name}".replace("..", ".")
    return len(re.findall(rf"{re.escape(written)}\b", all_pages()))


@cache
def all_pages() -> str:
    pages = (path for path in DOCS.rglob("*.md") if "api" not in path.parts)
    return "\n".join(path.read_text(encoding="utf-8") for path in pages)


def home(package: ModuleType, name: str) -> str:
    """Where a name is documented: activations under `tutelage`, where users find them."""
    if getattr(tutelage, name, None) is getattr(package, name):
        return f"tutelage.{name}"
    return f"{package.__name__}.{name}"


def write_pages(app: Sphinx) -> None:
    for package in all_packages(tutelage):
        path = page_path(package)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = page(package)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page_path(package: ModuleType) -> Path:
    return DOCS / "api" / f"{package.__name__.replace('.', '/')}.rst"


def page(package: ModuleType) -> str:
    module = package.__name__
    own = [name for name in public(package) if home(package, name) == f"{module}.{name}"]
    title = f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n\n"
    functions = [name for name in own if is_function(getattr(package, name))]
    others = [name for name in own if name not in functions]
    inner = "".join(
        f"   {path.relative_to(page_path(package).parent).with_suffix('').as_posix()}\n"
        for path in map(page_path, packages_in(package).values())
    )
    contents = f".. toctree::\n   :hidden:\n\n{inner}\n" if inner else ""
    if others and functions:
        return (
            title
            + contents
            + section("Functions", functions, package)
            + section("Types", others, package)
        )
    return title + contents + documented_elsewhere(package) + section("Names", own, package)


def documented_elsewhere(package: ModuleType) -> str:
    """A sentence with links to the names that are documented on the page of another package."""
    addresses = [home(package, name) for name in public(package)]
    links = [f":py:obj:`~{a}`" for a in addresses if not a.startswith(f"{package.__name__}.")]
    return f"Documented under ``tutelage``: {', '.join(links)}.\n\n" if links else ""


def section(heading: str, names: list[str], package: ModuleType) -> str:
    if not names:
        return ""
    entries = "\n".join(entry(package, name) for name in names)
    return f"{heading}\n{'-' * len(heading)}\n\n{entries}\n"


def entry(package: ModuleType, name: str) -> str:
    value, full = getattr(package, name), f"{package.__name__}.{name}"
    if inspect.isclass(value):
        return f".. autoclass:: {full}\n   :members:\n"
    if is_function(value):
        return f".. autofunction:: {full}\n"
    return f".. py:data:: {name}\n\n   {shortened(value)}\n"


def shortened(value: object) -> str:
    """What a constant or the other name of a type is."""
    mapped = f"a dict with the keys {', '.join(value)}" if isinstance(value, dict) else ""
    text = mapped or MODULES.sub("", repr(value))
    text = text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
    return f"``{text}``"


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "reference":
        tables = "\n\n".join(table(package) for package in all_packages(tutelage))
        source[0] = source[0].replace("<!-- names -->", tables)


def table(package: ModuleType) -> str:
    module = package.__name__
    rows = [
        f"| {{py:obj}}`{name} <{home(package, name)}>` | "
        f"{sentence(getattr(package, name), f'{module}.{name}')} |"
        for name in public(package)
    ]
    heading = f"## {module}\n\n{sentence(package, module)}\n\n| name | purpose |\n| --- | --- |\n"
    return heading + "\n".join(rows)


def sentence(value: object, name: str) -> str:
    """The first sentence of a docstring; of a constant or a type's other name, its value."""
    if typing.get_origin(value) or not (inspect.ismodule(value) or callable(value)):
        return shortened(value).replace("``", "`").replace("|", "\\|")
    text = inspect.getdoc(value)
    if not text:
        raise ExtensionError(f"{name} has no docstring")
    first = re.split(SENTENCE_END, text, maxsplit=1)[0]
    return " ".join(first.split()).replace("|", "\\|").replace("``", "`")


def to_restructured_text(app, what, name, obj, options, lines: list[str]) -> None:
    """Set formulas line by line, fields as lists; bars are the modulus of a number."""
    if what == "module":
        end = (number for number, line in enumerate(lines) if line.startswith(INTERNAL))
        del lines[next(end, len(lines)) :]
    for number, line in enumerate(lines[:-1]):
        if line == "Returns:":  # else Napoleon takes the words before a colon for the type
            text = lines[number + 1].strip()
            lines[number + 1] = f"    : {text}"
    result: list[str] = []
    place = "text"  # or "fields", "section"
    for before, line in zip(["", *lines[:-1]], lines, strict=True):
        field = FIELD.match(line) if what == "class" else None
        if line and not line.startswith(" "):
            if place == "fields" and not field and before:
                result.append("")
            apart = SECTION.match(line) or line.startswith(("- ", "* ", ".. ", ">>>", "1. "))
            place = "section" if apart else "fields" if field else "text"
        if place == "text" and line.startswith("    ") and not before and not ends_indented(result):
            result += ["::", ""]
        if field and place == "fields":
            result += (
                ["", f"- ``{field[1]}``:"] if not ends_indented(result) else [f"- ``{field[1]}``:"]
            )
            line = f"  {field[2]}"
        elif place == "fields" and line.startswith("    "):
            line = "  " + line.strip()
        code = line.lstrip().startswith(">>>") or (place == "text" and line.startswith("    "))
        result.append(line if code else without_bars(line))
    if what in ("attribute", "data", "property") and ":" in "".join(lines[:1]):
        result[:0] = ["..", ""]  # else Napoleon takes the words before the colon for a type
    lines[:] = result


def ends_indented(lines: list[str]) -> bool:
    """Whether the last line that is not empty is indented."""
    return next((line for line in reversed(lines) if line), "").startswith(" ")


def without_bars(line: str) -> str:
    """Escape bars outside of code, which would name a substitution."""
    parts = re.split(r"(`+[^`]+`+)", line)
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def short_signature(app, what, name, obj, options, signature, returns):
    return tuple(
        re.sub(r"CheckedInside\[(\w+)\]", r"\1", MODULES.sub("", part)) if part else part
        for part in (signature, returns)
    )


def arguments_as_list(app: Sphinx, name, template, context: dict, doctree) -> None:
    """Turn the arguments of long signatures into lists, which screen readers can read, and name
    arrays as users do.
    """
    if "body" in context:
        body = context["body"].replace("jaxlib._jax.Array", "Array")
        context["body"] = ARGUMENTS.sub(as_list, body)


def as_list(found: re.Match) -> str:
    items = found[1].replace("<dd>", "<li>").replace("</dd>", "</li>")
    return f'<ul class="arguments">\n{items}</ul>'


def resolve(app: Sphinx, env, node, contnode):
    """Types in signatures: names of ours without their package, and names of other projects."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    foreign = FOREIGN.get(target) or FOREIGN.get(f"xarray.{target}")
    if foreign:
        return nodes.reference("", "", contnode, internal=False, refuri=foreign)
    objects = env.domains["py"].objects
    full = full_name(target, node.get("py:module") or "tutelage", objects)
    matches = [name for name in objects if name.endswith(f".{target}")] if not full else [full]
    if len(matches) != 1:
        return contnode
    found = objects[matches[0]]
    place = app.builder.get_relative_uri(node["refdoc"], found.docname)
    return nodes.reference("", "", contnode, internal=True, refuri=f"{place}#{found.node_id}")


def hidden(
    app: Sphinx, kind: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out modules in attributes, whose values are paths, and fields without a text."""
    is_bare_field = str(getattr(member, "__doc__", "")).startswith("Alias for field number")
    return True if inspect.ismodule(member) or is_bare_field else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill)
    app.connect("autodoc-skip-member", hidden)
    app.connect("autodoc-process-docstring", to_restructured_text, priority=100)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("missing-reference", resolve)
    app.connect("html-page-context", arguments_as_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
