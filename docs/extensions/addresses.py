"""Addresses that are not decided yet: a paragraph that needs one is left out while it is empty.

A page writes the paragraph between `<!-- if repository -->` and `<!-- end -->`, and the address as
`<repository>`.  The addresses stand in pyproject.toml, under [tool.tutelage.addresses].
"""

import re

from sphinx.application import Sphinx

PARAGRAPH = re.compile(r"<!-- if (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def with_addresses(text: str, addresses: dict[str, str]) -> str:
    """Insert known addresses; remove the paragraphs that need unknown ones."""

    def replacement(paragraph: re.Match[str]) -> str:
        name, content = paragraph.groups()
        return content.replace(f"<{name}>", addresses[name]) if addresses[name] else ""

    return PARAGRAPH.sub(replacement, text)


def setup(app: Sphinx) -> dict[str, bool]:
    def on_source_read(app: Sphinx, docname: str, source: list[str]) -> None:
        source[0] = with_addresses(source[0], app.config.tutelage_addresses)

    app.add_config_value("tutelage_addresses", {}, "env")
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
