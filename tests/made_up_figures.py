"""Every figure drawn from made-up data, with as many curves as it can hold."""

import json
import math

import numpy as np
import xarray as xr
from made_up_runs import ensemble, theory, two_layers

import tutelage as tl
from tutelage import figures
from tutelage.bridge.causes import Cause
from tutelage.bridge.prediction import Prediction
from tutelage.simulation import compare, finite_size, summary

draw = np.random.default_rng(0)


def run(K=2, M=2, **more):
    """Curves that all differ, over 60 units of time."""
    time = np.linspace(0.0, 60.0, 121)
    late = 1 - np.exp(-time[:, None, None] / draw.uniform(5.0, 40.0, (K, M)))
    R = draw.uniform(-0.4, 1.0, (K, M)) * late
    Q = np.einsum("tin,tkn->tik", R, R) + 0.2 * np.eye(K)
    return xr.Dataset(
        {
            "Q": (("time", "student", "student_2"), Q),
            "R": (("time", "student", "teacher"), R),
            "generalization_error": ("time", 0.4 * np.exp(-time / 9)),
        },
        coords={"time": time},
        attrs={"learning_rate": "1.0", "integration_error": 1e-3, **more},
    )


def rates(count=8):
    """Runs at several learning rates, of which two diverge."""
    one = run()["generalization_error"]
    speed = np.linspace(0.5, 2.0, count)
    errors = [one.values ** (0.3 * s) for s in speed[:-2]]
    errors += [0.4 * np.exp(one["time"].values / 5)] * 2
    return xr.Dataset(
        {
            "generalization_error": (("run", "time"), np.array(errors)),
            "outcome": ("run", ["reached"] * (count - 2) + ["diverged"] * 2),
        },
        coords={"time": one["time"]},
        attrs={"learning_rate": json.dumps(list(speed))},
    )


CURVE = theory(K=2, M=2)
RUNS = ensemble(draw, runs=30, N=100, curve=CURVE)


def comparison():
    return compare(CURVE, RUNS)


def prediction():
    record = RUNS.isel(run=[0]).assign_attrs(dimension=100)
    networks = RUNS.isel(run=slice(1, None))
    return Prediction(
        theory=CURVE.assign_attrs(outcome="reached"),
        record=record,
        networks=networks,
        compared=29,
        p_value=0.001,
        level=0.01,
        deviation=5.0,
        threshold=4.0,
        quantity="R_12",
        time=4.0,
        departs_at=4.0,
        causes=(Cause("batches", True, "b/N = 0.3, and the equations take small batches"),),
    )


def branch():
    result = run().isel(time=slice(0, 40)).rename(time="point")
    η = np.linspace(0.1, 3.0, 40)
    special = {
        "special_kind": ("special", ["fold", "branch point"]),
        "special_learning_rate": ("special", [3.0, 1.5]),
        "special_R": result["R"].isel(point=[39, 19]).rename(point="special"),
        "special_Q": result["Q"].isel(point=[39, 19]).rename(point="special"),
    }
    values = ("point", "direction"), (η - 1.5)[:, None] * np.ones(7)
    return result.assign(learning_rate=("point", η), eigenvalue=values, **special)


def escapes():
    def one(N):
        times = ("run", np.sort(draw.uniform(20, 40 + N / 20, 40)))
        return xr.Dataset({"escape_time": times}, {"time": [0.0, 60.0]}, {"dimension": N})

    return [one(N) for N in (50, 100, 200, 400)]


def sizes():
    result = [ensemble(draw, runs=50, N=N, bias=3.0, curve=theory()) for N in (50, 100, 200, 400)]
    return finite_size(theory(), result)


def phases():
    x, y = np.linspace(0.5, 4.0, 6), np.geomspace(2.0, 50.0, 9)
    lines = {
        name: ("activation", f * (6 + 12 / x))
        for name, f in (("appears", 0.6), ("coexists", 0.8), ("unstable", 1.2))
    }
    words = ("activation", "load"), np.full((6, 9), "unspecialized")
    coords = {"activation_beta": ("activation", x), "load": y}
    return xr.Dataset({**lines, "phase": words}, coords)


def sampled():
    dims = ("direction", "load", "run")
    values = draw.uniform(size=(2, 6, 3))
    return xr.Dataset(
        {"specialization": (dims, values), "generalization_error": (dims, values)},
        coords={"direction": ["up", "down"], "load": np.linspace(5.0, 40.0, 6)},
    )


def loads(units, factor=1.0):
    return xr.Dataset(
        {"coexists": ("beta", [math.inf, 20.0 * factor, 7.0 * factor, 6.1 * factor])},
        coords={"beta": [0.0, 0.5, 2.0, math.inf]},
        attrs={"gate": "Gate([0, 1])", "units": units},
    )


def layer(count):
    unit = np.arange(2 * count)
    values = {
        name: (("beta", "unit"), draw.uniform(0.1, 1.0, (1, 2 * count)))
        for name in ("signal", "mean_field", "standard_error")
    }
    return xr.Dataset(values, {"layer": ("unit", 1 + unit // count), "beta": [1.0]})


def study(**axes):
    shape = tuple(map(len, axes.values()))
    numbers = np.exp(-np.sum(np.indices(shape), axis=0) / 2.0)
    numbers.flat[-1] = np.nan
    over = json.dumps({"table": False, "values": {name: list(x) for name, x in axes.items()}})
    return xr.Dataset({"generalization_error": (tuple(axes), numbers)}, axes, {"over": over})


def spectra(seed=0):
    random = np.random.default_rng(seed)
    epochs = np.unique(np.geomspace(1, 300, 14).astype(int))
    λ = random.normal(size=(5, len(epochs), 40)) * np.geomspace(10, 0.01, len(epochs))[:, None]
    down = np.sort(random.uniform(0.01, 1, (5, len(epochs))), axis=1)[:, ::-1]
    curve = ("run", "epoch"), down
    names = ("loss", "zero_residuals", "negative_fraction", "zero_fraction")
    return xr.Dataset(
        {**dict.fromkeys(names, curve), "eigenvalues": (("run", "epoch", "eigenvalue"), λ)},
        coords={"epoch": epochs},
        attrs={"tolerance": 1e-10},
    )


def density():
    λ = np.linspace(-1, 1, 50)
    ρ = np.exp(-4 * λ**2)
    return xr.Dataset(
        {"density": ("eigenvalue", ρ), "density_error": ("eigenvalue", 0.1 * ρ), "width": 0.1},
        coords={"eigenvalue": λ},
    )


def error_of_runs():
    axes = figures.error(CURVE, label="theory")
    return figures.error(RUNS, axes, label="30 runs")


def overlaps_of_runs():
    return figures.overlaps(RUNS, figures.overlaps(CURVE))


def recoveries():
    """Runs in which wider students have recovered more."""
    one = two_layers()
    names = [name for name in one if str(name).startswith("teacher_correlation")]
    wider = [one.assign({n: np.minimum(one[n] + x, 1.0) for n in names}) for x in (0, 0, 0.3)]
    return xr.concat(wider, xr.Variable("multiple", [1, 2, 5]))


def levels():
    """Six minima of a landscape and two saddles."""
    error, index = np.array([0.0, 0.02, 0.03, 0.031, 0.05, 0.08, 0.09, 0.12]), [0] * 5 + [1, 2, 0]
    share = np.where(np.array(index) == 0, draw.uniform(0.0, 0.3, 8), 0.0)
    return xr.Dataset(
        {
            "generalization_error": ("level", error),
            "family": ("level", ["solution", *(f"{k} spread" for k in range(1, 8))]),
            "index": ("level", index),
            "share": ("level", share),
            "share_error": ("level", 0.1 * share + 0.01),
            "hessian_eigenvalue": (("level", "direction"), draw.uniform(0.1, 1.0, (8, 6))),
            "transverse_eigenvalue": (("level", "student"), draw.uniform(0.1, 1.0, (8, 3))),
        },
        attrs={"starts": 100, "start_dimension": 4, "scale": 1.0},
    )


def many_levels(count=40):
    """Minima whose errors crowd near one value."""
    index = np.arange(count)
    error = 0.1 + 0.05 * np.exp(-index[::-1] / 8)
    share = draw.uniform(0.0, 0.1, count)
    return xr.Dataset(
        {
            "generalization_error": ("level", error),
            "family": ("level", [f"{k} spread" for k in index]),
            "index": ("level", np.zeros(count, int)),
            "share": ("level", share),
            "share_error": ("level", 0.1 * share + 0.01),
            "hessian_eigenvalue": (("level", "direction"), draw.uniform(0.1, 1.0, (count, 6))),
            "transverse_eigenvalue": (("level", "student"), draw.uniform(0.1, 1.0, (count, 3))),
        },
        attrs={"starts": 100, "start_dimension": 4, "scale": 1.0},
    )


def branch_of_minima(scale):
    η = np.linspace(0.1, 3.0, 40)
    return xr.Dataset(
        {
            "learning_rate": ("point", η),
            "generalization_error": ("point", scale * η),
            "eigenvalue": (("point", "direction"), (η - 1.5)[:, None]),
            "special_kind": ("special", ["fold"]),
            "special_learning_rate": ("special", [3.0]),
        }
    )


def added_unit():
    return run(3, 5, gain=0.123).assign(direction=("student", np.ones(3)))


RATES, DECAYS = list(np.linspace(0.5, 3.0, 7)), [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
TRAININGS = {"ReLU": spectra(), "Swish, one trained β for each unit": spectra(1)}
GATE = tl.gates.Gate([0, 1])


def controlled():
    """Three controls that cross, with the curves of `run`."""
    time = np.linspace(0.0, 60.0, 121)
    rate = 1 + np.exp(-time / 20) * np.cos(time / 4)
    return run().assign(
        learning_rate=("time", rate),
        readout_rate=("time", 0.3 + 0.2 * np.sin(time / 9)),
        weight_decay=("time", 0.5 * np.exp(-time / 30)),
    )


def optimizer_steps():
    """Steps of four optimizers over batches, with schedules and networks."""
    names, batch = ["plain", "momentum", "normalized", "muon"], np.geomspace(0.1, 100, 6)
    steps = np.array([40, 55, 60, 15])[:, None] * (1 + 1 / batch)
    steps[2, 0] = np.inf
    over = ("optimizer", "batch")
    return xr.Dataset(
        {
            "steps": (over, steps),
            "scheduled_steps": (over, 0.8 * steps),
            "network_steps": ("optimizer", 1.05 * steps[:, 2]),
            "network_error": ("optimizer", 0.05 * steps[:, 2]),
            "network_batch": float(batch[2]),
        },
        coords={"optimizer": names, "batch": batch},
    )


EVERY = {
    "control": lambda: figures.control(controlled()),
    "optimizer_map": lambda: figures.optimizer_map(optimizer_steps()),
    "overlaps": lambda: figures.overlaps(run()),
    "overlaps of five units": lambda: figures.overlaps(run(5, 5)),
    "overlaps of eight units": lambda: figures.overlaps(run(8, 8)),
    "overlaps of runs": overlaps_of_runs,
    "overlaps in one style": lambda: figures.overlaps(run(5, 5), style="--"),
    "error": lambda: figures.error(run()),
    "error of runs": error_of_runs,
    "error at several rates": lambda: figures.error(rates()),
    "learning_curves": lambda: figures.learning_curves(run()),
    "learning_curves of five units": lambda: figures.learning_curves(run(5, 5)),
    "learning_curves of runs": lambda: figures.learning_curves(summary(RUNS), CURVE),
    "comparison": lambda: figures.comparison(comparison()),
    "prediction": lambda: figures.prediction(prediction()),
    "branch": lambda: figures.branch(branch()),
    "landscape": lambda: figures.landscape(levels(), saddles=True),
    "curvatures": lambda: figures.curvatures(levels(), saddles=True),
    "landscape of many levels": lambda: figures.landscape(many_levels()),
    "curvatures of many levels": lambda: figures.curvatures(many_levels()),
    "all_branches": lambda: figures.all_branches([branch_of_minima(s) for s in (0.1, 0.2, 0.4)]),
    "opening": lambda: figures.opening(added_unit()),
    "escapes": lambda: figures.escapes(escapes()),
    "finite_size": lambda: figures.finite_size(sizes()),
    "order_parameters": lambda: figures.order_parameters(
        tl.equilibrium.learning_curve(tl.Erf(), 5, np.linspace(0, 100, 41)),
        transitions=tl.equilibrium.transitions(tl.Erf(), 5),
        which=["R", "S", "C"],
    ),
    "equilibrium_curves": lambda: figures.equilibrium_curves(
        tl.equilibrium.learning_curve(tl.ReLU(), 10, np.linspace(0.5, 20, 41)),
        tl.equilibrium.transitions(tl.ReLU(), 10),
    ),
    "temperature_curves": lambda: figures.temperature_curves(
        tl.equilibrium.learning_curve(tl.Erf(), math.inf, np.linspace(0.1, 8, 30), temperature=0.1),
        tl.equilibrium.transitions(tl.Erf(), math.inf, temperature=0.1),
    ),
    "temperature_states": lambda: figures.temperature_states(
        [
            tl.equilibrium.learning_curve(
                tl.ReLU(), math.inf, np.linspace(0.0, 4, 30), temperature=T, label_noise=0.3
            )
            for T in (0.03, 0.09, 0.3)
        ]
    ),
    "temperature_diagram": lambda: figures.temperature_diagram(
        tl.sweeps.run(
            tl.equilibrium.phases,
            {"temperature": [0.03, 0.09, 0.3]},
            activation=tl.ReLU(),
            units=math.inf,
            loads=np.linspace(0.2, 4, 10),
            label_noise=0.3,
            workers=1,
        )
    ),
    "phase_diagram": lambda: figures.phase_diagram(phases()),
    "hysteresis": lambda: figures.hysteresis(
        sampled(), theory={"R > S": ([5, 40], [0.2, 0.9]), "R = S": ([5, 40], [0.0, 0.0])}
    ),
    "gate_activations": lambda: figures.gate_activations(
        tl.gates.curves(GATE, [0.5, 1.0, 2.0, 5.0, math.inf], np.linspace(-3, 3, 61))
    ),
    "critical_load": lambda: figures.critical_load([loads("2"), loads("inf", 1.3)]),
    "sampled_gates": lambda: figures.sampled_gates(layer(6)),
    "specialization": lambda: figures.specialization(two_layers()),
    "recovery": lambda: figures.recovery(recoveries(), threshold=0.5),
    "best_correlations": lambda: figures.best_correlations(two_layers(), layer=2),
    "training": lambda: figures.training(TRAININGS, scale="log"),
    "index_against_loss": lambda: figures.index_against_loss(TRAININGS),
    "index_against_tolerance": lambda: figures.index_against_tolerance(TRAININGS),
    "eigenvalue_ridges": lambda: figures.eigenvalue_ridges(TRAININGS["ReLU"]),
    "spectral_density": lambda: figures.spectral_density(density(), eigenvalues=[0.0, 0.5]),
    "sweep of one argument": lambda: figures.sweep(study(learning_rate=RATES)),
    "sweep of names": lambda: figures.sweep(
        study(learning_rate=RATES, activation=["Erf", "ReLU", "LeakyReLU(0.5)"])
    ),
    "sweep map": lambda: figures.sweep(study(learning_rate=RATES, weight_decay=DECAYS)),
    "sweep in panels": lambda: figures.sweep(
        study(learning_rate=RATES, weight_decay=DECAYS, activation=["Erf", "ReLU"])
    ),
}
