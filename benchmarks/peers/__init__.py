"""Programs that somebody who knows the equations writes in an afternoon, to compare with.

Each of them has its own right-hand sides, of error functions and of the ReLU as η → 0, for students
and teachers with all second-layer weights 1, and a function

    curve(unit, Q, R, T, learning_rate, times, tolerance) -> the states at the times,

with R row by row and then Q_ik for i <= k as columns.  ``learning_rate=0`` is the limit η → 0 in
units of 1/η.  Nothing of them is in the package, and nothing of the package is in them.
"""
