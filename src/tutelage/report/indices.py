"""Subscripts and superscripts of symbols in text, such as Q_ik, α_c and e^{λα}.

Rows, docstrings and pages are written as plain text.  Names such as from_weights, whose base is
not a single letter, are unchanged.
"""

import re

LETTER = r"(?:(?<![\w/.])[A-Za-z]|[α-ωΑ-Ω∂])\u0302?[*']?"
INDEX = r"\{([^}]+)\}|([A-Za-zα-ω0-9]{1,4})(?![A-Za-z0-9_])"
BELOW = re.compile(rf"({LETTER})_(?:{INDEX})")
ABOVE = re.compile(r"(?<=[\w)])\^(?:\{([^}]+)\}|(\w))")


def with_indices(text: str) -> str:
    """Return HTML with subscripts and superscripts.

    >>> with_indices("Q_ik of from_weights"), with_indices("e^{λα}")
    ('Q<sub>ik</sub> of from_weights', 'e<sup>λα</sup>')
    """
    text = BELOW.sub(lambda m: f"{m[1]}<sub>{m[2] or m[3]}</sub>", text)
    return ABOVE.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", text)
