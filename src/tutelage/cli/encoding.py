"""Readable output for terminals and files whose encoding lacks our letters, such as ASCII."""

import codecs
import sys
import unicodedata
from typing import Any

NAME = "tutelage.readable"
WORDS = {
    **{"±": "+/-", "√": "sqrt", "·": "*", "×": "x", "⁄": "/", "∞": "inf", "∂": "d", "∇": "grad"},
    **{"Σ": "sum", "∑": "sum", "∫": "integral", "∘": "o", "∈": "in", "∖": "-", "⟂": "perp"},
    **{"≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∝": "~", "≪": "<<", "≫": ">>"},
    **{"–": "-", "—": "-", "−": "-", "…": "...", "⋯": "...", "•": "*", "→": "->", "←": "<-"},
    **{"′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "⟨": "<", "⟩": ">"},
    **{"‖": "||", "∥": "||", "⌈": "ceil(", "⌉": ")", "λ": "lambda", "Λ": "Lambda", "ς": "sigma"},
    **{"ø": "o", "ß": "ss"},
}


def make_encodable(stream: object) -> None:
    """Make a stream replace letters that its encoding lacks, instead of failing."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=NAME)


def encodable(text: str) -> str:
    """Replace characters that standard output cannot encode; click would write UTF-8 anyway."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, NAME).decode(encoding)


def readable(letter: str) -> str:
    r"""Return a readable ASCII replacement of a letter.

    >>> [readable(letter) for letter in "ηΔ⁶⁻₁ℝé½"], readable("\udcff")
    (['eta', 'Delta', '^6', '^-', '_1', 'R', 'e', '1/2'], '\\udcff')
    """
    if letter in WORDS:
        return WORDS[letter]
    name = unicodedata.name(letter, "")
    if name.startswith("GREEK "):
        word = name.split(" LETTER ")[-1].split()[0].lower()
        return word.capitalize() if "CAPITAL" in name else word
    if name.startswith("BOX DRAWINGS"):
        return {"HORIZONTAL": "-", "VERTICAL": "|"}.get(name.split()[-1], "+")
    mark = "^" if name.startswith("SUPERSCRIPT") else "_" if name.startswith("SUBSCRIPT") else ""
    plain = "".join(WORDS.get(x, x) for x in unicodedata.normalize("NFKD", letter))
    plain = plain.encode("ascii", "ignore").decode()
    if unicodedata.combining(letter):  # an accent on the letter before it
        return ""
    return f"{mark}{plain}" if plain else letter.encode("ascii", "backslashreplace").decode()


def _replaced(problem: Any) -> tuple[str, int]:
    """Handle a `UnicodeEncodeError`: return the replacement text and the position after it."""
    letters = problem.object[problem.start : problem.end]
    return "".join(map(readable, letters)), problem.end


codecs.register_error(NAME, _replaced)
