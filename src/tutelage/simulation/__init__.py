"""Simulations of finite networks, to compare with the theory of infinite ones.

`network` trains every one of the N weights of each student on one example at a time; `chain` draws
only the overlaps, which have the same law for Gaussian inputs, at a cost that does not grow with N.
Both return the Dataset of `tutelage.online.evolve` with the dimension ``run``. `random_start` gives
the overlaps of random weights; `aligned` gives the units of every run the names they have in
another, `summary` mean, spread and quantiles over runs; `escape_times` finds when each run leaves
its plateau, `finite_size` fits how the deviation from the theory falls with N, and `compare` tests
whether theory and simulation agree.

The order of the files is that of the data: `ensemble`, `starts`, `inputs` and the `learning_rule`,
then the systems `network` and `chain`, then `simulate`, which lets many runs of a system learn, and
`observables`, their records.

Other packages may use the modules `comparison`, `ensemble`, `interpolated_theory`, `observables`,
`simulate` and `statistics`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
