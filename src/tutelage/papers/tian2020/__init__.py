"""Tian, Student specialization in deep ReLU networks with finite width (2020)."""

from tutelage.papers.paper import Paper

KEY = "tian2020"
PAPER = Paper(
    KEY,
    "Student specialization in deep ReLU networks with finite width",
    ("sections",),
)
