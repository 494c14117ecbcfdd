"""What README and documentation quote: commands, code and what they print.

A fence without a language, or of "text", holds commands, or what something has printed: the code
block before it if "prints" stands between them, else the last command.  A command stands in a
fence, after "$ " with its output below, or indented.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

PIECE = re.compile(r"^```(\w*)\n(.*?)^```$|^ {4}((?:tutelage|make) [^\n]+)$", re.S | re.M)
# Formats and programs of others, which print nothing here.
SILENT = ("sh", "bibtex", "json", "console")
COMMAND = re.compile(r"(?:tutelage|make|pip|python|PYTHONPATH=\S+ python)\b")


class Quotation(NamedTuple):
    """What was printed, and by what: code (all blocks up to it, in order) or one command.

    Both are empty if nobody knows.
    """

    printed: str
    command: str = ""
    code: str = ""


def quotations(text: str) -> Iterator[Quotation]:
    """Everything that a page says was printed."""
    command, code, end = "", "", 0
    for piece in PIECE.finditer(text):
        between, end = text[end : piece.start()].strip(), piece.end()
        language, content, indented = piece.groups()
        if indented:
            command = indented
        elif language == "python":
            code = content
        elif language in SILENT:
            continue
        elif content.startswith("$ "):
            first, _, printed = content[2:].partition("\n")
            yield Quotation(printed, command=first)
        elif COMMAND.match(content):
            command = content.strip().splitlines()[-1]
        elif between == "prints":
            yield Quotation(content, code=code)
        else:
            yield Quotation(content, command=command)
            command = ""
