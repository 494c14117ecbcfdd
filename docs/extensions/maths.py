r"""Formulas become MathML while the pages are built: no script draws them, and no host is asked.

Pages write $...$ and $$...$$ with LaTeX inside.  The math font is copied from a package.
"""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

FONT = Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"
PUNCTUATION = re.compile(r"[.,;:)]+")
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
    # Two operators that the converter takes for letters.
    (
        r"(</(?:mi|mn|msub|msup)>)<mi>&#x000B1;</mi>",
        r'\1<mo lspace="0.222em" rspace="0.222em">&#x000B1;</mo>',
    ),
    (r"<mi>&#x0007E;</mi>", '<mo lspace="0.278em" rspace="0.278em">&#x0223C;</mo>'),
    # Browsers hang the root of one letter below its line, and leave a gap behind it.
    (
        r"<msqrt>(?:<mrow>)?(<m[in]>[^<]+</m[in]>)(?:</mrow>)?</msqrt>",
        r'<mo form="prefix" lspace="0" rspace="0" stretchy="false">&#x0221A;</mo>\1',
    ),
    (
        r"<m[io][^>]*>(sin|cos|tan|arcsin|exp|ln|log|det|sgn)</m[io]>(?!<mo stretchy)",
        r'<mo lspace="0.167em" rspace="0.167em">\1</mo>',
    ),
]


def mathml(latex: str, display: str) -> str:
    """Convert one formula; an unknown command is an error, not a backslash on the page."""
    converted = convert(latex.strip(), display=display)
    if "\\" in converted:
        raise ExtensionError(f"the formula {latex.strip()!r} has a command that is not known")
    for pattern, spaced in SPACES:
        converted = re.sub(pattern, spaced, converted)
    return converted


class Punctuation(SphinxPostTransform):
    """Move the punctuation around a formula into it: no line begins with a comma, and none ends
    with an opening bracket.
    """

    default_priority = 850
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for node in list(self.document.findall(nodes.math)):
            text = node.next_node(descend=False, siblings=True)
            if isinstance(text, nodes.Text) and (begin := PUNCTUATION.match(text)):
                node["after"] = begin[0]
                text.parent.replace(text, nodes.Text(text[begin.end() :]))
            place = node.parent.index(node) - 1
            text = node.parent[place] if place >= 0 else None
            if isinstance(text, nodes.Text) and text.endswith("("):
                node["before"] = "("
                node.parent.replace(text, nodes.Text(text[:-1]))


def visit_inline(translator, node: nodes.Element) -> None:
    formula = node.get("before", "") + mathml(node.astext(), "inline") + node.get("after", "")
    translator.body.append(f'<span class="formula">{formula}</span>')
    raise nodes.SkipNode


def visit_block(translator, node: nodes.Element) -> None:
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def copy_font(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        shutil.copy(FONT, app.outdir / "_static" / "math.ttf")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    app.add_post_transform(Punctuation)
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
