"""Letters with an index in running text: Q_ik, α_c, e^{λα} get subscripts and superscripts.

Rows, docstrings and pages are also read as plain text, where they are written like that.  Names
such as from_weights, whose base is no single letter, are left alone.
"""

import re

LETTER = r"(?:(?<![\w/.])[A-Za-z]|[α-ωΑ-Ω∂])\u0302?[*']?"
INDEX = r"\{([^}]+)\}|([A-Za-zα-ω0-9]{1,4})(?![A-Za-z0-9_])"
BELOW = re.compile(rf"({LETTER})_(?:{INDEX})")
ABOVE = re.compile(r"(?<=[\w)])\^(?:\{([^}]+)\}|(\w))")


def with_indices(text: str) -> str:
    """Return HTML in which indices are low and exponents high.

    >>> with_indices("Q_ik of from_weights"), with_indices("e^{λα}")
    ('Q<sub>ik</sub> of from_weights', 'e<sup>λα</sup>')
    """
    text = BELOW.sub(lambda m: f"{m[1]}<sub>{m[2] or m[3]}</sub>", text)
    return ABOVE.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", text)
