"""Colours: contrast with white, and differences for colour-blind readers.

Two simulations of dichromats, each with formulas of its own: Machado, Oliveira and Fernandes
(IEEE TVCG 15, 1291 (2009)), a matrix in linear RGB; Viénot, Brettel and Mollon (Color Res. Appl.
24, 243 (1999)), a projection in the space of cones.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import tutelage as tl
from tutelage.figures import phases
from tutelage.figures.style import ordered_colours, palette

# The contrast with white that WCAG 2.1 (1.4.11) asks of lines and symbols.
CONTRAST = 3.0
# Distances in Lab, where 2.3 is just noticeable (Mahy et al., Color Res. Appl. 19, 105 (1994)).
JUST_NOTICEABLE = 2.3
APART, NEIGHBOURS = 8 * JUST_NOTICEABLE, 2 * JUST_NOTICEABLE

MACHADO = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Viénot: linear RGB to L, M, S; what a dichromat lacks follows from the other two.
LMS = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
VIENOT = {
    "protan": [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
    "deutan": [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = XYZ.sum(axis=1)

SIGHTS = {"all cones": np.eye(3)}
SIGHTS |= {f"{name}, Machado": np.array(matrix) for name, matrix in MACHADO.items()}
SIGHTS |= {f"{name}, Viénot": np.linalg.inv(LMS) @ matrix @ LMS for name, matrix in VIENOT.items()}


def linear(colour):
    """Return the linear RGB values of an sRGB colour."""
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(light):
    """Return CIE L*a*b* of linear RGB."""
    t = XYZ @ np.clip(light, 0, 1) / WHITE
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a, b, sight):
    return float(np.linalg.norm(lab(sight @ linear(a)) - lab(sight @ linear(b))))


def contrast(colour):
    return 1.05 / (XYZ[1] @ linear(colour) + 0.05)


def test_the_formulas_have_their_known_values():
    """L* = 53.24 for red of sRGB, 100 for white; grey stays grey in all simulations."""
    assert lab(linear("red")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert lab(linear("white")) == pytest.approx([100, 0, 0], abs=0.01)
    assert contrast("white") == pytest.approx(1.0) and contrast("black") == pytest.approx(21.0)
    for sight in SIGHTS.values():
        assert sight @ np.ones(3) == pytest.approx(np.ones(3), abs=1e-5)
    green, red = "#808000", "#a06000"  # a confusion of deuteranopes
    assert distance(green, red, SIGHTS["deutan, Viénot"]) < 0.5 * distance(green, red, np.eye(3))


@pytest.fixture(params=["screen", "paper"])
def colours(request):
    with tl.figures.style(request.param):
        return palette()


def test_lines_are_seen_on_white(colours):
    ordered = [*ordered_colours(1), *ordered_colours(8)]
    assert min(contrast(colour) for colour in [*colours, *ordered]) >= CONTRAST


@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
def test_unordered_colours_are_distinguishable(colours, sight):
    closest = min(distance(a, b, sight) for a, b in combinations(colours, 2))
    assert len(colours) == 7 and closest >= APART


@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
def test_ordered_colours_grow_lighter_and_neighbours_are_distinguishable(sight):
    ordered = ordered_colours(8)
    lightness = [lab(sight @ linear(colour))[0] for colour in ordered]
    assert lightness == sorted(lightness)
    assert min(distance(a, b, sight) for a, b in pairwise(ordered)) >= NEIGHBOURS


@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
def test_phases_are_distinguishable(sight):
    neighbours = pairwise(phases.PHASE_COLOURS)
    assert min(distance(a, b, sight) for a, b in neighbours) >= NEIGHBOURS
