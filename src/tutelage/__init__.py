"""Statistical physics of learning from a teacher.

The packages, in the order in which data flows: `activations` has the activation functions; `model`
who teaches and who learns (`Committee`, `Scenario`, `Overlaps`); `runs` what every long or random
computation needs; `solve` numerics without physics; `averages` the Gaussian averages of the fields,
and the error that follows from them; `online` how overlaps change while the student learns, and
`simulation` how they do in finite networks; `equilibrium` what a student learns from a fixed set of
examples; `gates`, `spectra` and `deep` the networks of ``milletari2019`` and ``tian2020``;
`results` saves and reopens; `bridge` reads a user's own network; `sweeps` computes any of these at
many points, on many cores; `figures` draws; `papers` compares published numbers with computed ones;
`explorer` is a page of sliders and pictures; `cli` is the command ``tutelage``.

Numbers are float64, set here: an array that a user makes after ``import tutelage`` has the
precision of those the package makes.  Nothing else in the user's process is changed.  Names are
loaded when they are first used, so that ``import tutelage`` and ``tutelage --help`` answer at once.
"""

from tutelage._lazy import lazy_names
from tutelage._precision import enable_float64

enable_float64()

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
