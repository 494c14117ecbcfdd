"""A cheap call with good arguments for every public function and class, by name.

Tests that go through all of them take it from here; one that is missing fails a test in words.
Arguments are made when they are asked for, because some are results themselves.
"""

import inspect
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import xarray as xr

import tutelage as tl

ONE = tl.Committee(1, tl.Erf())
NOISELESS = tl.Scenario(ONE, ONE)
DRIFTING = tl.Scenario(ONE, ONE, drift=0.1)
ALONE = tl.Scenario(tl.Committee(1, tl.ReLU()), tl.Committee(1, tl.ReLU()))
HALF = tl.Overlaps(Q=[[0.25]], R=[[0.5]], T=[[1.0]])
SCENARIO = tl.Scenario(ONE, ONE, label_noise=0.1)
START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
SOLVED = tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])
TIMES = [0.0, 0.5, 1.0]
ROWS = np.random.default_rng(0).standard_normal((20, 3))


def public_modules(package="tutelage", module=None):
    """The public names of all public modules: module.name -> function or class."""
    results = {}
    module = import_module(package) if module is None else module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            if name in dir(module) and hasattr(value, "__all__"):
                results |= public_modules(f"{package}.{name}", value)
        elif callable(value) and value.__module__.startswith("tutelage."):
            results[f"{package}.{name}".removeprefix("tutelage.")] = value
    return results


@cache
def public():
    """Every function and class once, by module and name; errors are not called."""
    result, seen = {}, set()
    for name, value in sorted(public_modules().items(), key=lambda item: -item[0].count(".")):
        exception = isinstance(value, type) and issubclass(value, Exception)
        if id(value) not in seen and not exception:
            seen.add(id(value))
            result[name] = value
    return result


def returns_a_dataset(function):
    import xarray as xr

    annotation = inspect.isfunction(function) and inspect.signature(function).return_annotation
    return annotation in (xr.Dataset, "xr.Dataset")


def call(name):
    """The result of the good call."""
    return public()[name](**CALLS[name]())


@cache
def theory():
    return tl.online.evolve(SCENARIO, START, 0.5, until=1.0, times=TIMES)


@cache
def runs(dimension=30):
    options = {"dimension": dimension, "until": 1.0, "runs": 10, "times": TIMES}
    return tl.simulation.chain(SCENARIO, START, 0.5, **options)


@cache
def diagram():
    units = [tl.LeakyReLU(slope) for slope in (0.0, 0.5)]
    return tl.sweeps.run(
        tl.equilibrium.phases, {"activation": units}, units=2, loads=[5.0, 10.0], workers=1
    )


def optimizer_steps():
    steps = (("optimizer", "batch"), [[50.0, 20.0], [30.0, np.inf]])
    return xr.Dataset({"steps": steps}, {"optimizer": ["plain", "muon"], "batch": [1.0, 10.0]})


def temperatures():
    return tl.sweeps.run(
        tl.equilibrium.phases,
        {"temperature": [0.05, 0.2]},
        activation=tl.ReLU(),
        units=np.inf,
        loads=[0.5, 3.0],
        label_noise=0.3,
        workers=1,
    )


made = cache(call)


ONE_EPOCH = tl.deep.images.Recipe(1, 0.01, batch=8)


@cache
def images():
    rng, labels = np.random.default_rng(0), np.arange(16) % 10
    train, test = (rng.integers(0, 256, (16, 8, 8, 3), dtype=np.uint8) for _ in range(2))
    return tl.deep.images.Images(train, labels, test, labels)


@cache
def convnet():
    return tl.deep.images.convnet((2, 2), size=8)


@cache
def networks():
    """A student and a teacher of three inputs, and examples."""
    teacher = tl.deep.teacher([2], inputs=3, outputs=2)
    return {"student": tl.deep.student(teacher, 2), "teacher": teacher, "examples": ROWS}


def quadratic(parameters):
    return 0.5 * parameters @ parameters


def two_gate():
    return tl.gates.Gate([0, 1])


def classifier():
    return tl.spectra.Classifier([2, 2, 1], two_gate().signal(2.0))


def file(name):
    """A file of the tests, in a temporary folder."""
    return FOLDER / name


FOLDER = None  # set by the tests that write

CALLS = {
    "Committee": lambda: {"units": 2, "activation": tl.ReLU()},
    "Scenario": lambda: {"student": ONE, "teacher": ONE},
    "Overlaps": lambda: {"Q": [[0.25]], "R": [[0.1]], "T": [[1.0]]},
    "generalization_error": lambda: {"scenario": SCENARIO, "overlaps": START},
    "averages.i2": lambda: {"activation": tl.ReLU(), "covariance": np.eye(2)},
    "averages.i3": lambda: {"activation": tl.ReLU(), "covariance": np.eye(3)},
    "averages.i4": lambda: {"activation": tl.ReLU(), "covariance": np.eye(4)},
    "online.evolve": lambda: {
        "scenario": SCENARIO,
        "start": START,
        "learning_rate": 0.5,
        "until": 1.0,
        "times": TIMES,
    },
    "online.evolve_symmetric": lambda: {
        "scenario": NOISELESS,
        "start": tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0),
        "learning_rate": tl.online.Schedule([0.5, 0.2], [0.5]),
        "until": 1.0,
    },
    "online.iterate": lambda: {
        "scenario": SCENARIO,
        "start": START,
        "learning_rate": 0.5,
        "steps": 2,
    },
    "online.branch": lambda: {
        "scenario": NOISELESS,
        "start": SOLVED,
        "learning_rate": 1.0,
        "until": 1.1,
    },
    "online.plateau": lambda: {"scenario": NOISELESS, "start": START, "learning_rate": 0.5},
    "online.fixed_point": lambda: {"scenario": SCENARIO, "start": START, "learning_rate": 0.5},
    "online.fixed_points": lambda: {"scenario": SCENARIO, "learning_rate": 0.5, "starts": 2},
    "online.landscape": lambda: {"scenario": NOISELESS, "starts": 2},
    "online.added_unit": lambda: {"scenario": ALONE, "start": HALF, "until": 2.0},
    "online.minimum_path": lambda: {"scenario": NOISELESS, "start": SOLVED, "to": NOISELESS},
    "online.critical_learning_rates": lambda: {"scenario": NOISELESS, "start": START},
    "online.best_learning_rate": lambda: {"scenario": NOISELESS, "start": START, "error": 0.01},
    "online.best_tracking": lambda: {"scenario": DRIFTING, "start": SOLVED},
    "online.best_control": lambda: {
        "scenario": SCENARIO,
        "start": START,
        "until": 1.0,
        "controls": {"learning_rate": (0, 2)},
        "knots": 4,
    },
    "online.LinearSchedule": lambda: {"times": [0.0, 1.0], "values": [1.0, 0.5]},
    "optimizers.Momentum": lambda: {"momentum": 0.9},
    "optimizers.Muon": lambda: {"momentum": 0.9},
    "optimizers.Normalized": lambda: {"epsilon": 1e-12},
    "online.best_schedule": lambda: {"scenario": NOISELESS, "start": START, "error": 0.01},
    "online.Flow": lambda: {"scenario": SCENARIO},
    "online.SymmetricFlow": lambda: {"scenario": NOISELESS},
    "online.SymmetricScenario": lambda: {"student": ONE, "teacher": ONE},
    "online.SymmetricState": lambda: {"Q": 0.5, "C": 0.0, "R": 0.1, "S": 0.0},
    "online.Schedule": lambda: {"rates": [0.5, 0.2], "switches": [0.5]},
    "simulation.chain": lambda: {
        "scenario": SCENARIO,
        "start": START,
        "learning_rate": 0.5,
        "dimension": 30,
        "until": 1.0,
        "runs": 10,
        "times": TIMES,
    },
    "simulation.network": lambda: {
        "scenario": SCENARIO,
        "start": START,
        "learning_rate": 0.5,
        "dimension": 10,
        "until": 1.0,
        "runs": 2,
        "inputs": "uniform",
    },
    "simulation.random_start": lambda: {"scenario": SCENARIO, "dimension": 10},
    "simulation.summary": lambda: {"runs": runs()},
    "simulation.aligned": lambda: {"runs": runs()},
    "simulation.compare": lambda: {"theory": theory(), "runs": runs()},
    "simulation.escape_times": lambda: {"runs": runs(), "height": 0.1},
    "simulation.finite_size": lambda: {
        "theory": theory(),
        "ensembles": [runs(dimension) for dimension in (30, 60, 120)],
    },
    "equilibrium.blocks": lambda: {"overlaps": START},
    "equilibrium.kernel_of": lambda: {"activation": tl.Erf()},
    "equilibrium.states": lambda: {"activation": tl.Erf(), "units": 2, "load": 20.0},
    "equilibrium.free_energy": lambda: {
        "activation": tl.Erf(),
        "units": 2,
        "load": 20.0,
        "specialization": [0.0, 0.5],
    },
    "equilibrium.transitions": lambda: {"activation": tl.Erf(), "units": 2},
    "equilibrium.transition_kind": lambda: {"activation": tl.Erf()},
    "equilibrium.minima": lambda: {"scenario": NOISELESS, "load": 5.0, "starts": 2},
    "equilibrium.learning_curve": lambda: {
        "activation": tl.Erf(),
        "units": 2,
        "loads": [20.0, 25.0],
    },
    "equilibrium.phases": lambda: {"activation": tl.Erf(), "units": 2, "loads": [20.0, 25.0]},
    "equilibrium.sample": lambda: {
        "scenario": NOISELESS,
        "load": 1.0,
        "dimension": 10,
        "sweeps": 3,
        "runs": 2,
    },
    "equilibrium.hysteresis": lambda: {
        "scenario": NOISELESS,
        "loads": [1.0, 2.0],
        "dimension": 10,
        "sweeps": 3,
        "runs": 2,
    },
    "bridge.correlations": lambda: {
        "student": networks()["student"],
        "teacher": networks()["teacher"],
        "data": ROWS,
    },
    "bridge.hessian": lambda: {
        "model": networks()["teacher"],
        "loss": lambda outputs, targets: ((outputs - targets) ** 2).sum(),
        "data": (ROWS, ROWS[:, :2]),
    },
    "bridge.describe": lambda: {"network": ROWS[:2]},
    "bridge.overlaps": lambda: {"student": ROWS[:1], "teacher": ROWS[1:3], "inputs": ROWS[3:]},
    "bridge.scenario": lambda: {
        "student": ROWS[:1],
        "teacher": ROWS[1:3],
        "inputs": ROWS,
        "activation": tl.Erf(),
    },
    "bridge.Recorder": lambda: {
        "teacher": ROWS[1:3],
        "learning_rate": 0.1,
        "activation": tl.Erf(),
        "inputs": ROWS,
    },
    "bridge.predict": lambda: {"record": record()},
    "gates.Gate": lambda: {"states": [0, 1]},
    "gates.Interval": lambda: {"low": 0.0, "high": 1.0},
    "gates.TwoSlopes": lambda: {"left": 0.0, "right": 1.0},
    "gates.Signal": lambda: {"gate": two_gate(), "beta": 1.0},
    "gates.Expectation": lambda: {"gate": two_gate(), "beta": 1.0},
    "gates.thermodynamics": lambda: {"gate": two_gate(), "beta": 1.0, "fields": [0.5]},
    "gates.layer": lambda: {"gate": two_gate(), "beta": 1.0, "fields": [0.5]},
    "gates.backpropagation_factor": lambda: {"gate": two_gate(), "beta": 1.0, "field": [0.5]},
    "gates.count_probabilities": lambda: {"probabilities": [0.2, 0.7]},
    "gates.cross_entropy": lambda: {"labels": [0, 1], "probabilities": [0.2, 0.7]},
    "gates.label_probability": lambda: {"labels": [0, 1], "probabilities": [0.2, 0.7]},
    "gates.saddle_point": lambda: {"count": 1, "probabilities": [0.2, 0.7]},
    "gates.curves": lambda: {"gate": two_gate(), "beta": [1.0, 2.0], "field": [-1.0, 1.0]},
    "gates.specialization_loads": lambda: {"gate": two_gate(), "beta": [1.0], "units": 2},
    "gates.mean_field": lambda: {
        "weights": [np.eye(2)],
        "inputs": [0.5, 1.0],
        "gate": two_gate(),
        "beta": 1.0,
    },
    "gates.sample_network": lambda: {
        "weights": [np.eye(2)],
        "inputs": [0.5, 1.0],
        "gate": two_gate(),
        "beta": 1.0,
        "samples": 4,
    },
    "spectra.Classifier": lambda: {"sizes": [2, 2, 1], "activation": tl.Tanh()},
    "spectra.Examples": lambda: {"inputs": ROWS, "labels": np.arange(20) % 2, "classes": 2},
    "spectra.examples": lambda: {"inputs": ROWS, "labels": np.arange(20) % 2},
    "spectra.load_examples": lambda: {"path": file("rows.npz")},
    "spectra.train": lambda: {
        "classifier": classifier(),
        "examples": tl.spectra.linear_examples(8),
        "epochs": 2,
        "runs": 2,
    },
    "spectra.density": lambda: {"loss": quadratic, "parameters": np.ones(3), "probes": 2},
    "spectra.spectral_mean": lambda: {"dataset": made("spectra.density"), "function": np.square},
    "spectra.hessian": lambda: {"loss": quadratic, "parameters": np.ones(3)},
    "spectra.hessian_eigenvalues": lambda: {"loss": quadratic, "parameters": np.ones(3)},
    "spectra.extreme_eigenvalues": lambda: {"loss": quadratic, "parameters": np.ones(3)},
    "spectra.negative_fraction": lambda: {"eigenvalues": [-1.0, 1.0], "tolerance": 0.1},
    "spectra.zero_fraction": lambda: {"eigenvalues": [-1.0, 1.0], "tolerance": 0.1},
    "deep.network": lambda: {"weights": [np.eye(2), np.ones((2, 1))]},
    "deep.teacher": lambda: {"hidden": [2], "inputs": 3, "outputs": 2},
    "deep.student": lambda: {"teacher": networks()["teacher"]},
    "deep.correlations": lambda: {**networks()},
    "deep.prune": lambda: {**networks(), "threshold": 0.1},
    "deep.train": lambda: {
        "hidden": 2,
        "multiple": 2,
        "inputs": 4,
        "outputs": 3,
        "epochs": 2,
        "examples": 64,
        "evaluation": 50,
        "runs": 2,
    },
    "deep.networks": lambda: {"dataset": single_training()},
    "deep.focus_shifts": lambda: {"dataset": single_training()},
    "deep.mean_correlation": lambda: {"dataset": single_training()},
    "deep.recovery_rate": lambda: {"dataset": single_training()},
    "deep.images.Images": lambda: images()._asdict(),
    "deep.images.Recipe": lambda: {"epochs": 1, "learning_rate": 0.01},
    "deep.images.cifar10": lambda: {"path": FOLDER},
    "deep.images.convnet": lambda: {"hidden": (2, 2), "size": 8},
    "deep.images.channel_correlations": lambda: {
        "student": convnet(),
        "teacher": convnet(),
        "images": images().test,
    },
    "deep.images.channel_strengths": lambda: {"network": convnet(), "images": images().test},
    "deep.images.prune_channels": lambda: {"network": convnet(), "images": images().test},
    "deep.images.train_on_images": lambda: {
        "images": images(),
        "hidden": "2-2",
        "multiples": (1,),
        **dict.fromkeys(("pretraining", "tuning", "learning"), ONE_EPOCH),
    },
    "figures.animation": lambda: {"run": theory(), "path": file("run.gif"), "frames": 3},
    "figures.best_correlations": lambda: {"dataset": single_training()},
    "figures.all_branches": lambda: {"branches": [made("online.branch")]},
    "figures.curvatures": lambda: {"dataset": made("online.landscape")},
    "figures.landscape": lambda: {"dataset": made("online.landscape")},
    "figures.opening": lambda: {"dataset": made("online.added_unit")},
    "figures.branch": lambda: {"dataset": made("online.branch")},
    "figures.caption": lambda: {"axes": tl.figures.error(theory())},
    "figures.comparison": lambda: {"result": made("simulation.compare")},
    "figures.control": lambda: {
        "dataset": theory().assign(learning_rate=("time", [1.0, 0.8, 0.5]))
    },
    "figures.optimizer_map": lambda: {"dataset": optimizer_steps()},
    "figures.critical_load": lambda: {"datasets": [made("gates.specialization_loads")]},
    "figures.eigenvalue_animation": lambda: {
        "datasets": made("spectra.train"),
        "path": file("film.gif"),
    },
    "figures.eigenvalue_ridges": lambda: {"dataset": made("spectra.train")},
    "figures.equilibrium_curves": lambda: {"dataset": made("equilibrium.learning_curve")},
    "figures.error": lambda: {"dataset": theory()},
    "figures.escapes": lambda: {"ensembles": [made("simulation.escape_times")]},
    "figures.finite_size": lambda: {"dataset": made("simulation.finite_size")},
    "figures.gate_activations": lambda: {"dataset": made("gates.curves")},
    "figures.hysteresis": lambda: {"dataset": made("equilibrium.hysteresis")},
    "figures.index_against_loss": lambda: {"datasets": made("spectra.train")},
    "figures.learning_curves": lambda: {"dataset": theory()},
    "figures.order_parameters": lambda: {"dataset": made("equilibrium.learning_curve")},
    "figures.overlaps": lambda: {"dataset": theory()},
    "figures.phase_diagram": lambda: {"dataset": diagram()},
    "figures.prediction": lambda: {"result": made("bridge.predict")},
    "figures.recovery": lambda: {"dataset": single_training()},
    "figures.sampled_gates": lambda: {"dataset": made("gates.sample_network")},
    "figures.specialization": lambda: {"dataset": single_training()},
    "figures.spectral_density": lambda: {"dataset": made("spectra.density")},
    "figures.sweep": lambda: {"dataset": made("sweeps.run")},
    "figures.temperature_curves": lambda: {
        "dataset": tl.equilibrium.learning_curve(
            tl.Erf(), np.inf, np.linspace(0.1, 8, 12), temperature=0.1
        )
    },
    "figures.temperature_diagram": lambda: {"dataset": temperatures()},
    "figures.temperature_states": lambda: {
        "datasets": [
            tl.equilibrium.learning_curve(tl.ReLU(), np.inf, [0.5, 1.0, 2.0], temperature=T)
            for T in (0.1, 0.3)
        ]
    },
    "figures.training": lambda: {"datasets": made("spectra.train")},
    "figures.index_against_tolerance": lambda: {"datasets": made("spectra.train")},
    "papers.reproduce": lambda: {"papers": ["nobody1999"]},
    "papers.sections": lambda: {},
    "results.save": lambda: {"dataset": theory(), "path": file("run.nc")},
    "results.load": lambda: {"path": file("run.nc")},
    "sweeps.last": lambda: {"names": "generalization_error"},
    "sweeps.zipped": lambda: {"lists": {"label_noise": [0.0, 0.1]}},
    "sweeps.run": lambda: {
        "function": tl.generalization_error,
        "over": {"label_noise": [0.0, 0.1], "activation": [tl.Erf()]},
        "scenario": NOISELESS,
        "overlaps": START,
        "workers": 1,
    },
    "sweeps.load": lambda: {"store": stored()},
    "results.table": lambda: {"dataset": theory().isel(time=0, drop=True)},
    "results.recompute": lambda: {"dataset": theory()},
}


def stored():
    """A folder with a study."""
    folder = file("study")
    tl.sweeps.run(**CALLS["sweeps.run"](), store=folder)
    return folder


@cache
def record():
    """A record of a student that turns to its teacher, with ten inputs."""
    student, teacher = np.eye(2, 10)
    recorder = tl.bridge.Recorder(teacher[None], 0.05, every=1, activation=tl.Erf())
    for step in range(4):
        recorder((student + 0.01 * step * teacher)[None])
    return recorder.dataset()


@cache
def single_training():
    return tl.deep.train(2, 2, inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=2)
