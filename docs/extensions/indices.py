"""Letters with an index in running text: Q_ik, α_c and e^{λα} get subscripts and superscripts.

The search index keeps them as they are written.  Code and formulas are left alone.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from tutelage.report.indices import with_indices

VERBATIM = (
    *(nodes.literal, nodes.literal_block, nodes.doctest_block, nodes.math, nodes.math_block),
    *(nodes.raw, nodes.image, addnodes.desc_signature),
)


class indexed(nodes.General, nodes.Inline, nodes.TextElement):
    """Text that has letters with indices."""


class Indices(SphinxPostTransform):
    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if with_indices(text) != text and not inside(text, VERBATIM):
                text.parent.replace(text, indexed("", nodes.Text(text)))


def inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    while (node := node.parent) is not None:
        if isinstance(node, kinds):
            return True
    return False


def visit_indexed(translator, node: indexed) -> None:
    translator.body.append(with_indices(translator.encode(node.astext())))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(indexed, html=(visit_indexed, None))
    app.add_post_transform(Indices)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
