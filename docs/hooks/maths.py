r"""Formulas become MathML while the pages are built: nothing is left for a script to do.

Pages write $...$ and $$...$$ with LaTeX inside; pymdownx.arithmatex finds them and marks them as
\(...\) and \[...\]. Browsers draw MathML by themselves, with a font of the system.
"""

import html
import re

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>'
    r"(?P<after>[.,;:)]*)",
    re.DOTALL,
)
# Spaces that the converter leaves to the browser, which has other ideas.
SPACES = [
    (r"<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">/</mo>'),
    (r"<mo>&#x0221E;</mo>", "<mi>&#x0221E;</mi>"),
    (
        r'<mo(?: stretchy="false")?>&#x0007C;</mo>',
        '<mo lspace="0" rspace="0" stretchy="false">|</mo>',
    ),
    # A minus behind an equals sign, a comma or a bracket is a sign, not a difference.
    (
        r"(<mo[^>]*>&#x000(?:3D|2C|28);</mo>(?:<mspace[^>]*>)?)<mo>&#x02212;</mo>",
        r'\1<mo form="prefix" lspace="0" rspace="0">&#x02212;</mo>',
    ),
    (
        r"<m[io][^>]*>(sin|cos|tan|arcsin|exp|ln|log|det|sgn)</m[io]>(?!<mo stretchy)",
        r'<mo lspace="0.167em" rspace="0.167em">\1</mo>',
    ),
]


def mathml(latex: str, display: str) -> str:
    """One formula; an unknown command is an error, not a backslash on the page."""
    drawn = convert(latex.strip(), display=display)
    if "\\" in drawn:
        raise PluginError(f"the formula {latex.strip()!r} has a command that is not known")
    for pattern, spaced in SPACES:
        drawn = re.sub(pattern, spaced, drawn)
    return drawn


def on_page_content(content: str, page, config, files) -> str:
    def replace(found: re.Match[str]) -> str:
        display = "block" if found["tag"] == "div" else "inline"
        try:
            drawn = mathml(html.unescape(found["latex"]), display)
        except PluginError as problem:
            raise PluginError(f"{page.file.src_uri}: {problem}") from None
        if display == "block":
            return f'<div class="formula">{drawn}</div>{found["after"]}'
        # No line begins with the comma behind a formula.
        return f'<span class="formula">{drawn}{found["after"]}</span>'

    return MARKED.sub(replace, content)
