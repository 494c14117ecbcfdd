r"""The search index knows symbols: `\alpha_c` of a formula is found as α_c and as αc."""

import re

from latex2mathml.symbols_parser import convert_symbol
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

COMMAND = re.compile(r"\\([A-Za-z]+)")
INDEX = re.compile(r"_\{?(\w+)\}?")
LETTER = re.compile(r"[α-ωΑ-Ωϵ]")


class SearchSymbols(SearchEnglish):
    lang = "en"

    def split(self, input: str) -> list[str]:
        text = INDEX.sub(r"_\1", COMMAND.sub(greek, input)) if "\\" in input else input
        words = super().split(text)
        # A symbol is also found without the underscore.
        return words + [w.replace("_", "") for w in words if re.fullmatch(r"\w_\w{1,3}", w)]


def greek(command: re.Match[str]) -> str:
    r"""α for \alpha and a space for any other command."""
    code = convert_symbol("\\" + command[1].removeprefix("var"))
    symbol = chr(int(code, 16)) if code else ""
    return symbol.replace("ϵ", "ε") if LETTER.fullmatch(symbol) else " "


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_search_language(SearchSymbols)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
