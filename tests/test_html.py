"""HTML for notebooks: well-formed tables with the numbers of scenarios, overlaps and findings."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tutelage as tl
from tutelage._html import matrix_table

TWO = tl.Committee(2, tl.ReLU())
SCENARIO = tl.Scenario(TWO, TWO, [[1, 0], [0, 2]], weight_decay=0.01)
SHOWN = {
    "scenario": (SCENARIO, ["ReLU", "weight_decay", "0.01", "2"]),
    "several scenarios": (tl.Scenario(TWO, TWO, weight_decay=[0.1, 0.2]), ["weight_decay"]),
    "overlaps": (tl.Overlaps(Q=[[0.25]], R=[[-0.5]], T=[[1.0]]), ["0.25", "-0.5", "1"]),
    "many overlaps": (tl.Overlaps(Q=np.ones((3, 1, 1)), R=np.zeros((3, 1, 1)), T=np.ones((1, 1))),
                      ["(3, 1, 1)"]),
    "finding": (tl.equilibrium.transition_kind(tl.Erf()), ["TransitionKind"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_values_are_shown_as_tables(name):
    value, texts = SHOWN[name]
    tree = ET.fromstring(f"<div>{value._repr_html_()}</div>")  # well-formed
    shown = " ".join(tree.itertext())
    assert all(text in shown for text in texts), shown


def test_cells_are_shaded_by_their_numbers():
    cells = ET.fromstring(matrix_table("R", [[1.0, -0.5], [0.0, 0.25]])).iter("td")
    texts = [re.search(r"rgb\((\d+), (\d+), (\d+)\)", cell.attrib["style"]) for cell in cells]
    one, half, zero, quarter = (tuple(map(int, text.groups())) for text in texts)
    assert zero == (255, 255, 255) and one[0] > one[2] and half[0] < half[2]  # red, blue
    assert one[1] < quarter[1] < 255  # the larger, the darker
    for red, green, blue in (one, half, quarter):  # black text stands out, WCAG 2
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in (red / 255, green / 255, blue / 255)]  # fmt: skip
        assert (np.dot(linear, [0.2126, 0.7152, 0.0722]) + 0.05) / 0.05 > 4.5


def test_text_is_escaped_and_no_matrix_is_too_large():
    assert "&lt;b&gt;" in matrix_table("<b>", [[1.0]])
    assert "(20, 20)" in matrix_table("Q", np.eye(20))
