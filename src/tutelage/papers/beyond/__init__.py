"""Results beyond the papers, from the exact computation.

Seventeen subjects, one module each: learning rates and the series that is cut, the fine
structure of the ReLU transition, noise, other activations and K ≠ M, their plateaus, escape times,
schedules, the scale from which wide students start, second layers with noisy labels and on the
plateau, teachers that drift, equilibrium at any temperature, optimizers with large
batches, the best of all schedules, the landscape of fixed points and minima, a second search for
fixed points, and the atlas of minima.
None of the numbers is in one of the papers; each comes with its error, and
``tests/papers/test_beyond.py`` finds it a second way.
"""

from tutelage.papers.paper import Paper

KEY = "beyond"
PAPER = Paper(
    KEY,
    "Beyond the papers: what the exact computation adds",
    (
        *("rates", "relu", "noise", "activations", "plateaus", "escape", "schedules", "starts"),
        *("readouts", "layers", "drift", "temperature", "optimizers", "control"),
        *("landscape", "search", "atlas"),
    ),
)
