"""Sweeps: any public function over many values of its arguments, on one machine or a cluster.

`run` computes a function at all points of a study and returns one Dataset; `zipped` says which
values belong together, `last` what of each result is kept, `load` reads what a store holds.

How it is done, a file for each step: `points` says which points there are, `scenarios` changes a
part of a scenario, `groups` decides which points are worked on together, `compute` is what a
worker does with a group, `pieces` makes one Dataset of many results, `store` keeps groups that are
finished, `engine` hands groups to processes, and `study` brings these together.

Other packages may use the modules `cluster`, `engine`, `groups` and `study`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
