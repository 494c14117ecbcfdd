"""The first curve of a new process, against programs that are written in an afternoon, on one core.

    make bench
    python benchmarks/first_curves.py erf 2    # one row

CPU seconds of the first call, the least of three processes; imports are measured apart.  Each
program has the widest tolerance with which its error is at most that of `afternoon.py`.  "Nothing
stored" begins with an empty folder of compiled programs, "stored" with that of an earlier process.
"""

import json
import os
import subprocess
import sys
import tempfile

PROCESSES = 3
# Curves that the other programs do not have: terms in η² of ReLUs, and stability at the end.
WITH_RATE, PLATEAU = "relu at a rate of 0.5", "erf to a plateau"
OWN = (WITH_RATE, PLATEAU)
# Programs in new processes: imports, then a function of the setting, the times and the tolerance.
LIBRARY = """
import numpy, jax, equinox, xarray
import tutelage as tl

unit = {"erf": tl.Erf, "relu": tl.ReLU}[name]
tl.Committee, tl.Scenario, tl.Overlaps, tl.online.evolve  # loads the modules

def curve(name, Q, R, T, eta, times, tolerance):
    committee = tl.Committee(len(Q), unit())
    scenario, start = tl.Scenario(committee, committee, T), tl.Overlaps(Q, R, T)
    return tl.online.evolve(
        scenario, start, eta, until=times[-1], times=times, tolerance=tolerance
    )
"""
PEER = "from peers.{} import curve"
PEERS = {"numba": "numba_loops", "diffrax": "diffrax_program", "NumPy, SciPy": "scipy_program"}
MEASURED = """
import json, sys, time
import numpy as np

name, Q, R, T, eta, times, tolerance = json.loads(sys.argv[1])
Q, R, T, times = map(np.array, (Q, R, T, times))
start = time.process_time()
{program}
imported = time.process_time()
curve(name, Q, R, T, eta, times, tolerance)
print(json.dumps([imported - start, time.process_time() - imported]))
"""


def first_call(program, setting, times, tolerance, store="off"):
    """CPU seconds of the imports and of the first call, in a new process."""
    arguments = [x.tolist() if hasattr(x, "tolist") else x for x in (*setting, times, tolerance)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "NUMBA_"))}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "TUTELAGE_PROGRAMS": store}
    command = [sys.executable, "-c", MEASURED.format(program=program), json.dumps(arguments)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def add_row(table, unit, units):
    from afternoon import PEERS as CURVES, library, setting_of, widest_tolerance

    setting, times = setting_of(unit.partition(" ")[0], units)
    peers, tolerance = PEERS, {}
    if unit in OWN:
        name, Q, R, T, _ = setting
        setting, peers, tolerance["tutelage"] = (name, Q, R, T, 0.5), {}, 1e-8
        if unit == PLATEAU:
            setting, times = (name, 0 * Q + 0.25, 0 * R, T, 0.5), times / 5
    else:
        for name, curve in {"tutelage": library, **CURVES}.items():
            tolerance[name] = widest_tolerance(curve, setting, times)[0]
    calls = {name: [] for name in ("nothing stored", "stored", *peers)}
    imports = []
    for _ in range(PROCESSES):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("nothing stored", "stored"):
                imported, call = first_call(
                    LIBRARY, setting, times, tolerance["tutelage"], f"{folder}/programs"
                )
                calls[name].append(call)
                imports.append(imported)
        for name, module in peers.items():
            program = PEER.format(module)
            calls[name].append(first_call(program, setting, times, tolerance[name])[1])
    seconds = {name: f"{min(every):.2f}" for name, every in calls.items()}
    cells = (seconds.get(name, "–") for name in ("nothing stored", "stored", *PEERS))
    table.add_row(f"{unit}, K = M = {units}", *cells, f"{min(imports):.2f}")


if __name__ == "__main__":
    from rich.console import Console
    from rich.table import Table

    table = Table(title="first curve of a new process, CPU s")
    columns = ("nothing stored (target 0.5)", "stored (0.7)", *PEERS, "imports of tutelage")
    for column in ("curve", *columns):
        table.add_column(column)
    sizes = [int(x) for x in sys.argv[2:]] or [2, 4]
    for unit in sys.argv[1:2] or ["erf", "relu", *OWN]:
        for size in sizes:
            add_row(table, unit, size)
    Console(width=None if sys.stdout.isatty() else 150).print(table)
