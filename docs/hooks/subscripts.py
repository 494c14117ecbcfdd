"""Letters with an index in running text: Q_ik, α_c, e^{λα} get their subscripts and superscripts.

Pages and docstrings are also read as plain text, where they are written like that. Code and
formulas are left alone, and so are names such as from_weights, whose base is no single letter.
"""

import re

VERBATIM = ("code", "pre", "math", "script", "style", "summary")
TAG = re.compile(r"(<[^>]+>)")
LETTER = r"(?:(?<![\w/.])[A-Za-z]|[α-ωΑ-Ω∂])\u0302?[*']?"
INDEX = r"\{([^}]+)\}|([A-Za-zα-ω0-9]{1,4})(?![A-Za-z0-9_])"
BELOW = re.compile(rf"({LETTER})_(?:{INDEX})")
ABOVE = re.compile(r"(?<=[\w)])\^(?:\{([^}]+)\}|(\w))")


def on_page_content(content: str, page, config, files) -> str:
    inside, parts = 0, []
    for part in TAG.split(content):
        name = re.match(r"</?(\w+)", part)
        if name and name[1] in VERBATIM:
            inside += -1 if part.startswith("</") else 1
        parts.append(part if name or inside else with_indices(part))
    return "".join(parts)


def with_indices(text: str) -> str:
    """Q_ik → Q<sub>ik</sub>."""
    text = BELOW.sub(lambda m: f"{m[1]}<sub>{m[2] or m[3]}</sub>", text)
    return ABOVE.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", text)
