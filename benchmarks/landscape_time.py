"""Time of the symmetric families of a landscape, beside the estimate by which it is refused.

    python benchmarks/landscape_time.py [UNIT KxM ...]

Prints CPU seconds on one core without compilation, and divided by the estimate by which
`tutelage.online.landscape` refuses committees that would take too long.
"""

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import tutelage as tl
from tutelage.online.stationary.landscape import family_seconds
from tutelage.online.stationary.landscape_descent import Atlas
from tutelage.online.stationary.landscape_families import family_count

CASES = {
    "ReLU": ["6x6", "12x12", "13x12", "12x24", "20x20", "30x30"],
    "Erf": ["6x6", "12x12", "13x12", "12x24", "20x20"],
    "GELU": ["6x6", "12x12", "13x12", "20x20"],
    "Tanh": ["2x2", "3x3"],
}


def measure(unit, size):
    """Print the time of all families of one committee."""
    K, M = map(int, size.split("x"))
    g = getattr(tl, unit)()
    scenario = tl.Scenario(tl.Committee(K, g), tl.Committee(M, g))
    atlas = Atlas(scenario)
    seconds = []
    for _ in range(2):  # the first one compiles
        atlas.points.clear()
        start = time.process_time()
        atlas.add_families()
        seconds.append(time.process_time() - start)
    estimate = family_count(scenario) * family_seconds(K, M, atlas.landscape.kind)
    words = f"{min(seconds):.3g} s, {min(seconds) / estimate:.2f} of the estimate"
    print(f"{unit}, K = {K}, M = {M}: {words}", flush=True)


def main():
    chosen = {sys.argv[1]: sys.argv[2:]} if len(sys.argv) > 2 else CASES
    for unit, sizes in chosen.items():
        for size in sizes:
            measure(unit, size)


if __name__ == "__main__":
    main()
