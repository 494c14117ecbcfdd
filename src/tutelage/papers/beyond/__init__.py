"""Beyond the papers: what the exact computation adds.

Six sections, each in a module of its own: learning rates and the series that is cut, the fine
structure of the ReLU transition, noise, other activations and K ≠ M, escape times, schedules.
None of the numbers is in one of the papers; each comes with its error, and
``tests/papers/test_beyond.py`` finds it a second way.
"""

from tutelage.papers.beyond import activations as beyond_activations
from tutelage.papers.beyond import escape as beyond_escape
from tutelage.papers.beyond import noise as beyond_noise
from tutelage.papers.beyond import rates as beyond_rates
from tutelage.papers.beyond import relu as beyond_relu
from tutelage.papers.beyond import schedules as beyond_schedules
from tutelage.papers.section import Section

SECTIONS: tuple[Section, ...] = (
    beyond_rates.SECTION,
    beyond_relu.SECTION,
    beyond_noise.SECTION,
    beyond_activations.SECTION,
    beyond_escape.SECTION,
    beyond_schedules.SECTION,
)
