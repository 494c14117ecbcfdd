"""Sweeps: any public function over many values of its arguments, on one machine or a cluster.

`run` computes a function at all points of a study and returns one Dataset; `zipped` pairs values
of several arguments, `last` selects the last values of each result, `load` reads a store.

One file for each step: `points` lists the points, `scenarios` changes a part of a scenario,
`groups` decides which points are computed together, `compute` computes a group, `selection` selects
a part of each result, `combine` makes one Dataset of many results, `store` saves finished groups,
`engine` hands groups to workers (`processes` of this machine, or those of a Dask `cluster`), and
`study` joins these steps.

Other packages may use the modules `cluster`, `engine`, `groups` and `study`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
