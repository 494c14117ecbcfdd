from .overlaps import overlaps as overlaps
from .reading import describe as describe
from .scenario import scenario as scenario
