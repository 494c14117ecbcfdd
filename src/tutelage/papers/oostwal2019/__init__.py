"""Oostwal, Straat and Biehl, Hidden unit specialization: ReLU vs. sigmoidal (2019).

Equilibrium at high temperature: errors, free energies, phase transitions.  `sections` assigns them
to the parts of the paper; `error` has eqs. (9) to (12) and Appendix B, `free_energy` Sec. II D and
Appendix C, `loads` every critical load, `states` the statements on the states between them,
`samples` Monte Carlo, which the paper does not have, and `figures` the five figures.
"""

from tutelage.papers.paper import Paper

KEY = "oostwal2019"
PAPER = Paper(
    KEY,
    "Hidden unit specialization in layered neural networks: ReLU vs. sigmoidal",
    ("sections",),
)
