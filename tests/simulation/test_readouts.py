"""Second layers in chain and network: of any value, with several outputs, fixed or learning."""

import equinox as eqx
import numpy as np
import pytest
import xarray as xr
from scenarios import assert_same_law

import tutelage as tl
from tutelage import InputError
from tutelage._jax import jax, jnp
from tutelage.model.timing import Rate, Scheduled
from tutelage.simulation import simulate
from tutelage.simulation.chain import Chain
from tutelage.simulation.ensemble import run_keys
from tutelage.simulation.learning_rule import GradientDescent
from tutelage.simulation.statistics import components

V = np.array([[1.0, -0.6], [0.3, 0.8]])
TEACHER_V = np.array([[0.9, 0.5, -0.4], [-0.2, 1.1, 0.6]])
W = np.random.default_rng(4).normal(size=(5, 9)) / 3
START = tl.Overlaps.from_weights(W[:2], W[2:])
NOISE, DECAY, READOUT_DECAY, SCALES = 0.3, 0.2, 0.4, (0.7, 1.3)
RATES = {"learning_rate": 0.9, "readout_rate": 0.6}


def scenario(v=V, **numbers):
    defaults = {"label_noise": NOISE, "weight_decay": DECAY, "readout_decay": READOUT_DECAY}
    student, teacher = tl.Committee(2, tl.Erf(), v), tl.Committee(3, tl.Erf(), TEACHER_V)
    return tl.Scenario(student, teacher, START.T, output_scale=SCALES, **defaults | numbers)


def falling(time):
    return 0.9 / (1 + time)


def rising(time):
    return 0.5 + time


def test_an_example_changes_both_layers_by_the_literal_formulas():
    """Two outputs with noise on each, decays, scales, schedules, across the end of a block."""
    s, N, runs = scenario(), 11, 4
    keys = run_keys(5, 0, runs)
    system = Chain(GradientDescent(s, Scheduled(falling, rising)), START, N)
    advance = eqx.filter_jit(lambda system, *arguments: system.advance(*arguments))
    draw, observe = (eqx.filter_jit(f) for f in (system._draw, system.observe))
    fields = eqx.filter_jit(lambda state, example: state.factor.fields(example))
    g, (s_K, s_M) = s.student.activation, SCALES
    state = system.initial(keys, jnp.arange(runs))
    for k in range(14, 18):
        ξ, noise = jax.tree.map(lambda x: x[0], draw(keys, jnp.array([k])))
        x, y = (np.stack(f, axis=-1) for f in fields(state, ξ))
        Q, R, v = (np.asarray(observe(state)[name]) for name in ("Q", "R", "readout"))
        square = np.sum(np.square(ξ.z), axis=0) + np.square(ξ.rest)
        τ = s_M * np.einsum("cm,rm->rc", TEACHER_V, g(y))
        error = τ + NOISE * np.stack(noise, axis=-1) - s_K * np.einsum("rci,ri->rc", v, g(x))
        a = falling(k / N) / N * s_K * g.derivative(x) * np.einsum("rci,rc->ri", v, error)
        d = 1 - DECAY / N
        ax = a[:, :, None] * x[:, None, :]
        expected = {
            "R": d * R + a[:, :, None] * y[:, None, :],
            "Q": d**2 * Q
            + d * (ax + np.swapaxes(ax, 1, 2))
            + a[:, :, None] * a[:, None, :] * square[:, None, None],
            "readout": (1 - READOUT_DECAY / N) * v
            + rising(k / N) / N * s_K * error[:, :, None] * np.asarray(g(x))[:, None, :],
        }
        state = advance(system, state, keys, jnp.asarray(k), jnp.asarray(1))
        for name, literal in expected.items():
            np.testing.assert_allclose(observe(state)[name], literal, rtol=0, atol=1e-14)


def standard_error(x):
    return x.std(axis=0, ddof=1) / np.sqrt(len(x))


def one_step(N, draws, v=V):
    """dR, dQ and dv of inputs drawn by NumPy, all N components of them."""
    rng, s = np.random.default_rng(8), scenario(v)
    J, B = (np.pad(w, ((0, 0), (0, N - 9))) for w in (W[:2], W[2:]))
    ξ, ζ = rng.normal(size=(draws, N)), rng.normal(size=(draws, 2))
    x, y = ξ @ J.T, ξ @ B.T
    g, (s_K, s_M) = s.student.activation, SCALES
    e = s_M * np.asarray(g(y)) @ TEACHER_V.T + NOISE * ζ - s_K * np.asarray(g(x)) @ v.T
    δ = s_K * np.asarray(g.derivative(x)) * (e @ v)
    η, η_v = RATES.values()
    new = (1 - DECAY / N) * J + η / N * δ[:, :, None] * ξ[:, None, :]
    dv = η_v / N * s_K * e[:, :, None] * np.asarray(g(x))[:, None, :] - READOUT_DECAY / N * v
    return {"R": new @ B.T - J @ B.T, "Q": new @ np.swapaxes(new, 1, 2) - J @ J.T, "readout": dv}


@pytest.mark.slow
@pytest.mark.parametrize("function", ["chain", pytest.param("network", marks=pytest.mark.slow)])
def test_the_mean_change_in_one_step_is_that_of_drawn_inputs(function):
    """Within five standard errors; without noise, decay or an output they differ by more."""
    N, runs = 12, 2**14
    options = {"dimension": N, "until": 1 / N, "times": [0.0, 1 / N], "runs": runs, "seed": 3}
    result = getattr(tl.simulation, function)(scenario(), START, **RATES, **options)
    literal = one_step(N, 2**16)
    for name, expected in literal.items():
        change = result[name].values[:, 1] - result[name].values[:, 0]
        error = np.hypot(standard_error(change), standard_error(expected))
        assert np.all(np.abs(change.mean(axis=0) - expected.mean(axis=0)) < 5 * error)
    # The mean of dv again, by averages of two fields (docs/physics/online.md).
    g, C, n = tl.Erf(), np.asarray(START.covariance), range(5)
    I2 = np.array([[tl.averages.i2(g, C[np.ix_([a, b], [a, b])]) for b in n] for a in n])
    dv = SCALES[1] * TEACHER_V @ I2[2:, :2] - SCALES[0] * V @ I2[:2, :2]
    dv = (RATES["readout_rate"] * SCALES[0] * dv - READOUT_DECAY * V) / N
    change = result.readout.values[:, 1] - result.readout.values[:, 0]
    assert np.all(np.abs(change.mean(axis=0) - dv) < 5 * standard_error(change))
    # One that learns a tenth less is seen.
    assert np.any(np.abs(change.mean(axis=0) - 0.9 * dv) > 10 * standard_error(change))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("K", "drift", "batch"),
    [
        (1, 0.0, 2),
        (2, 0.0, 1),
        (2, 1.0, 3),
    ],
)
def test_the_chain_has_the_law_of_the_network_in_few_dimensions(K, drift, batch):
    """Means and variances at N = 9 and α = 1, within five standard errors."""
    M, runs = 2 * K - 1, 2000
    student, teacher = V[:, :K], TEACHER_V[:, :M]
    units = tl.Committee(K, tl.Erf(), student), tl.Committee(M, tl.Erf(), teacher)
    numbers = {"drift": drift, "label_noise": NOISE, "readout_decay": READOUT_DECAY}
    s = tl.Scenario(*units, np.diag([1.0, 1.2, 0.8][:M]), **numbers)
    start = tl.Overlaps(np.diag([0.5, 0.6][:K]), 0.2 * np.eye(K, M) + 0.1, s.T)
    options = {"dimension": 9, "until": 1.0, "times": [0.0, 1.0], "runs": runs, "batch": batch}
    chain = tl.simulation.chain(s, start, **RATES, seed=1, **options).isel(time=-1)
    network = tl.simulation.network(s, start, **RATES, seed=2, **options).isel(time=-1)
    assert_same_law(chain, network, ("R", "Q", "readout", "generalization_error"))


def signals(s, x, y, noise):
    """δ_i and s_K e_c g(x_i) of one example, by the forms that network and chain use."""
    rule, v = GradientDescent(s, Rate(0.5)), s.student.weights
    whole = rule.signal(x, y, noise, v), rule.readout_signal(x, y, noise, v)
    entries = [*x], [*y], [*noise], v
    by_unit = rule.coefficients(1.0, *entries), rule.readout_coefficients(*entries)
    for a, b in zip(whole, by_unit, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(rule.signal(x, y, noise), whole[0], rtol=1e-14, atol=1e-15)
    return [np.asarray(a) for a in whole]


def test_what_an_example_does_has_the_symmetries_of_the_outputs():
    """To rounding: another sign of an odd unit, and a factor that goes from v to the output."""
    x, y, noise = (jnp.asarray(z) for z in (W[:2, 0], W[2:, 0], [0.3, -0.8]))
    sign, (s_K, s_M) = np.array([-1.0, 1.0]), SCALES
    first, second = signals(scenario(), x, y, noise)
    other = signals(scenario(V * sign), sign * x, y, noise)
    np.testing.assert_allclose(other[0], first * sign, rtol=1e-14)
    np.testing.assert_allclose(other[1], second * sign, rtol=1e-14)
    student, teacher = (
        tl.Committee(2, tl.Erf(), s_K * V),
        tl.Committee(3, tl.Erf(), s_M * TEACHER_V),
    )
    plain = signals(tl.Scenario(student, teacher, START.T, label_noise=NOISE), x, y, noise)
    np.testing.assert_allclose(plain[0], first, rtol=1e-14)
    np.testing.assert_allclose(s_K * plain[1], second, rtol=1e-14)  # v there is s_K v here


@pytest.mark.slow
@pytest.mark.parametrize("function", ["chain", "network"])
def test_a_readout_of_one_value_is_a_scale_of_the_output(function):
    """To rounding, which twenty examples do not make grow beyond 10⁻¹²."""
    two, s = tl.Committee(2, tl.Erf()), (0.7, 1.3)
    scaled = tl.Scenario(two, two, output_scale=s, label_noise=0.5)
    committees = (tl.Committee(2, tl.Erf(), [x, x]) for x in s)
    layered = tl.Scenario(*committees, label_noise=0.5)
    start = tl.Overlaps(np.diag([0.3, 0.4]), 0.1 * np.eye(2), np.eye(2))
    run = getattr(tl.simulation, function)
    one, other = (
        run(x, start, 0.8, dimension=10, until=2.0, runs=3, seed=2) for x in (scaled, layered)
    )
    assert "readout" not in other
    for name in ("Q", "R", "generalization_error"):
        np.testing.assert_allclose(other[name], one[name], rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_linear_units_end_at_the_error_of_the_closed_form():
    """ε_g(∞) = ης²K/(4 - 2ηK) (docs/physics/online.md), at N = 1000 up to O(1/N) of it."""
    K, η, ς, N = 2, 0.4, 0.8, 1000
    two = tl.Committee(K, tl.Linear(), [1.0, 1.0])
    s = tl.Scenario(two, two, label_noise=ς)
    start = tl.Overlaps(np.eye(K), 0.5 * np.eye(K), np.eye(K))
    runs = tl.simulation.chain(
        s, start, η, dimension=N, until=24.0, times=np.arange(12.0, 25.0, 3.0), runs=64, seed=5
    )
    means = runs.generalization_error.values.mean(axis=1)
    expected = η * ς**2 * K / (4 - 2 * η * K)
    assert abs(means.mean() - expected) < 5 * standard_error(means) + 2 * expected / N
    assert standard_error(means) < 0.01 * expected


@pytest.mark.slow
def test_an_odd_unit_with_the_other_sign_in_both_layers_learns_the_same():
    """To the last bit: outputs are equal, and so are the changes, up to the sign."""
    J, B = W[:2], W[2:]
    sign = np.array([-1.0, 1.0])
    options = {"dimension": 9, "until": 2.0, "runs": 2, **RATES}
    one = tl.simulation.network(scenario(), (J, B), **options)
    other = tl.simulation.network(scenario(V * sign), (sign[:, None] * J, B), **options)
    assert np.array_equal(other.R, sign[:, None] * one.R)
    assert np.array_equal(other.readout, sign * one.readout)
    assert np.array_equal(other.generalization_error, one.generalization_error)
    assert np.any(other.readout[:, -1] != other.readout[:, 0])


@pytest.mark.slow
def test_relu_units_with_what_one_layer_gains_lost_in_the_other_learn_the_same():
    """w → c w with v → v/c, the rates η c² and η_v/c²: a power of 2 for c rounds nothing."""
    c, two = 2.0, (lambda v: tl.Committee(2, tl.ReLU(), v))
    start = tl.Overlaps(np.diag([0.3, 0.4]), 0.1 * np.eye(2), np.eye(2))
    larger = tl.Overlaps(c**2 * start.Q, c * start.R, start.T)
    one, other = (
        tl.simulation.chain(
            tl.Scenario(two(v), two([1.0, 0.5]), label_noise=0.2, readout_decay=0.1),
            begin, η, readout_rate=η_v, dimension=30, until=3.0, runs=3, seed=4,
        )
        for v, begin, η, η_v in (
            (V[0], start, 0.5, 0.4), (V[0] / c, larger, 0.5 * c**2, 0.4 / c**2),
        )
    )  # fmt: skip
    # Rounding alone, in 90 examples.
    np.testing.assert_allclose(other.generalization_error, one.generalization_error, rtol=1e-11)
    np.testing.assert_allclose(other.R, c * one.R, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.readout, one.readout / c, rtol=0, atol=1e-12)


def test_relu_units_scaled_by_different_factors_have_the_same_error():
    two = lambda v: tl.Committee(2, tl.ReLU(), v)  # noqa: E731
    start = tl.Overlaps(np.diag([0.3, 0.4]), 0.1 * np.eye(2), np.eye(2))
    factors = np.array([3.0, 0.2])
    Q = factors[:, None] * np.asarray(start.Q) * factors
    scaled = tl.Overlaps(Q, factors[:, None] * np.asarray(start.R), start.T)
    errors = [
        tl.generalization_error(tl.Scenario(two(v), two([1.0, 0.5])), state)
        for v, state in ((V[0], start), (V[0] / factors, scaled))
    ]
    np.testing.assert_allclose(*errors, rtol=1e-13)


def distance(runs, theory):
    """The largest |mean - theory| of all components after the start, in standard errors."""
    values, expected = (components(x)[1] for x in (runs, theory))
    error = standard_error(values[:, 1:])
    return np.max(np.abs(values[:, 1:].mean(axis=0) - expected[1:]) / error)


@pytest.mark.parametrize(
    ("function", "N", "runs"),
    [("chain", 2000, 512), pytest.param("network", 1000, 40, marks=pytest.mark.slow)],
)
def test_runs_lie_on_the_theory_and_not_on_one_without_the_term(function, N, runs):
    """Two outputs with noise, both layers learn: within five standard errors, else 25 of them."""
    options = {"until": 2.0, "times": [0.0, 1.0, 2.0], **RATES}
    result = getattr(tl.simulation, function)(scenario(), START, dimension=N, runs=runs, **options)

    def theory(s, **changes):
        return tl.online.evolve(s, START, **options | changes)

    expected = theory(scenario())
    assert components(expected)[0] == components(result)[0]
    assert distance(result, expected) < 5
    assert tl.simulation.compare(expected, result).agrees
    assert distance(result, theory(scenario(readout_decay=0.0))) > 25
    assert distance(result, theory(scenario(), readout_rate=0.5)) > 25
    assert distance(result, theory(scenario(label_noise=0.0))) > 5


@pytest.mark.slow
def test_batches_and_drift_go_with_both_layers():
    """Against the theory with both, within five standard errors, and without either."""
    units = tl.Committee(2, tl.Erf(), V), tl.Committee(3, tl.Erf(), TEACHER_V)
    T, options = np.diag([1.0, 1.2, 0.8]), {"until": 2.0, "times": [0.0, 1.0, 2.0], **RATES}
    drifting, still = (tl.Scenario(*units, T, label_noise=0.5, drift=δ) for δ in (0.5, 0.0))
    start = tl.Overlaps(np.diag([0.5, 0.6]), 0.2 * np.eye(2, 3) + 0.1, T)
    run = tl.simulation.chain(drifting, start, dimension=4000, runs=100, batch=3, **options)
    assert distance(run, tl.online.evolve(drifting, start, batch=3, **options)) < 5
    assert distance(run, tl.online.evolve(still, start, batch=3, **options)) > 25
    assert distance(run, tl.online.evolve(drifting, start, **options)) > 25


COMMON = {"dimension": 20, "until": 1.0, "seed": 9, **RATES}


def learned(**changes):
    return tl.simulation.chain(scenario(), START, **{"runs": 19, **COMMON, **changes})


@pytest.fixture(scope="module")
def whole():
    return learned()


def same(a, b):
    xr.testing.assert_identical(a.drop_attrs(), b.drop_attrs())


@pytest.mark.slow
def test_runs_are_the_same_however_they_are_cut(whole, monkeypatch, tmp_path):
    """Bit for bit: at other times, and after an interruption."""
    some = whole.isel(time=[1, 7, 20])
    same(learned(times=some.time.values), some)
    file, learn, left = tmp_path / "run.npz", simulate._learn, [9]

    def interrupted(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return learn(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(simulate, "_learn", interrupted)
        learned(checkpoint=file)
    same(learned(checkpoint=file), whole)
    for rate in (0.5, 0.0, rising):
        with pytest.raises(InputError, match=r"checkpoint: got .*readout_rate = 0\.6"):
            learned(checkpoint=file, readout_rate=rate)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 2])
def test_three_units_learn_the_same_in_a_batch_of_any_size(batch):
    """Bit for bit, as for two units: more than two units are stored in arrays."""
    three = tl.Committee(3, tl.Erf(), [[1.0, -0.5, 0.3], [0.2, 0.7, -1.0]])
    s = tl.Scenario(three, three, label_noise=0.2, readout_decay=0.1)
    start = tl.Overlaps(np.diag([0.3, 0.4, 0.5]), 0.1 * np.eye(3), np.eye(3))
    options = {**COMMON, "batch": batch, "times": [0.5, 1.0]}
    few, many = (tl.simulation.chain(s, start, runs=n, **options) for n in (2, 19))
    same(few, many.isel(run=slice(2)))
    same(few.isel(time=[1]), tl.simulation.chain(s, start, runs=2, **options | {"times": [1.0]}))


def test_what_is_learned_is_observed_and_computed_again(whole):
    assert whole.readout.dims == ("run", "time", "output", "student")
    np.testing.assert_array_equal(whole.readout[:, 0], np.broadcast_to(V, (19, 2, 2)))
    assert components(whole)[0][-5:] == ["v_11", "v_12", "v_21", "v_22", "ε_g"]
    assert components(whole.isel(output=[0]))[0][-3:] == ["v_1", "v_2", "ε_g"]
    same(tl.results.recompute(whole), whole)
    means = tl.simulation.summary(whole)
    np.testing.assert_allclose(means.readout, whole.readout.mean("run"), rtol=1e-14)
    # ε_g with the v of its time.
    last = whole.isel(run=1, time=-1)
    state = tl.Overlaps(last.Q.values, last.R.values, START.T)
    expected = tl.generalization_error(scenario(last.readout.values), state)
    assert float(last.generalization_error) == pytest.approx(float(expected), rel=1e-13)


def test_runs_are_compared_in_both_layers(whole):
    theory = learned(seed=10).mean("run").drop_vars(["ended_at"])
    comparison = tl.simulation.compare(theory, whole)
    assert comparison.agrees
    other = theory.assign(readout=theory.readout + 0.5 * (theory.time > 0))
    comparison = tl.simulation.compare(other, whole)
    assert not comparison.agrees
    assert comparison.raw.quantity.startswith("v_")
    with pytest.raises(InputError, match=r"theory: got the readout_rate 0\.5"):
        tl.simulation.compare(theory.assign_attrs(readout_rate=0.5), whole)


def test_a_second_layer_that_diverges_ends_its_run():
    runs = learned(readout_rate=1e4)
    assert set(runs.outcome.values) == {"diverged"}
    assert np.all(np.isnan(runs.readout[:, -1])) and np.all(np.isfinite(runs.readout[:, 0]))


def test_the_deviation_of_readouts_shrinks_with_N():
    """Made-up runs that scatter in v alone, by 1/√N."""
    zero = xr.DataArray(np.zeros((3, 1, 1)), dims=("time", "student", "teacher"))
    names = {"R": zero, "Q": zero.rename(teacher="student_2")}
    v = zero.rename(teacher="output")
    theory = xr.Dataset({**names, "readout": v, "generalization_error": zero[:, 0, 0]})
    theory = theory.assign_coords(time=[0.0, 1.0, 2.0])

    def ensemble(N):
        noise = np.random.default_rng(N).normal(size=50) / np.sqrt(N)
        runs = theory.expand_dims(run=50)
        scatter = xr.DataArray(noise, dims="run")
        return runs.assign(readout=runs.readout + scatter).assign_attrs(dimension=N)

    result = tl.simulation.finite_size(theory, [ensemble(N) for N in (100, 1000, 10000)]).attrs
    assert abs(result["spread_exponent"] - 0.5) < 5 * result["spread_exponent_standard_error"] < 0.3


def test_students_are_relabelled_with_their_readouts():
    """All if v has learned; if it has not, those with equal weights, and equal teachers."""
    R = np.array([[0.9, 0.1], [0.2, 1.0]])
    v = np.array([[1.0, 2.0]])
    one = {
        "R": (("time", "student", "teacher"), np.stack([R, R])),
        "Q": (("time", "student", "student_2"), np.tile(np.eye(2), (2, 1, 1))),
        "generalization_error": ("time", [0.1, 0.1]),
    }
    learned_v = ("time", "output", "student"), np.stack([v, v])
    attrs = {"scenario": '{"teacher_overlaps": [[1, 0], [0, 1]], "teacher": {"readout": [[1, 2]]}}'}
    reference = xr.Dataset({**one, "readout": learned_v}, attrs=attrs)
    swapped = reference.isel(student=[1, 0], student_2=[1, 0]).expand_dims("run")
    result = tl.simulation.aligned(swapped, reference)
    assert result["student_order"].values.tolist() == [[2, 1]]
    np.testing.assert_array_equal(result["readout"][0], reference["readout"])
    with pytest.raises(InputError, match="reference"):
        tl.simulation.aligned(swapped, reference.drop_vars("readout"))
    # Alike but for v: what has learned decides.
    alike = reference.assign(R=0 * reference.R)
    swapped_v = alike.isel(student=[1, 0], student_2=[1, 0]).expand_dims("run")
    result = tl.simulation.aligned(swapped_v, alike)
    assert result["student_order"].values.tolist() == [[2, 1]]
    # Teachers with other weights stay where they are, and so do students whose v is fixed.
    other = reference.isel(teacher=[1, 0]).expand_dims("run")
    assert tl.simulation.aligned(other, reference)["teacher_order"].values.tolist() == [[1, 2]]
    for readout, order in (("[[1, 2]]", [1, 2]), ("[[3, 3]]", [2, 1])):
        text = f'{{"teacher_overlaps": [[1, 0], [0, 1]], "student": {{"readout": {readout}}}}}'
        fixed = swapped.drop_vars("readout").assign_attrs(scenario=text)
        result = tl.simulation.aligned(fixed, reference)
        assert result["student_order"].values.tolist() == [order]


@pytest.mark.parametrize("function", [tl.simulation.chain, tl.simulation.network])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"readout_rate": -0.1}, "readout_rate: got -0.1"),
        ({"readout_rate": np.nan}, "readout_rate: got nan"),
        ({"readout_rate": np.inf}, "readout_rate: got inf"),
        ({"readout_rate": "0.5"}, "readout_rate: got '0.5'"),
        ({"readout_rate": [0.5, 0.6]}, "readout_rate: got"),
        ({"readout_rate": None}, "readout_rate: got None"),
        ({"readout_rate": lambda time: -time}, "readout_rate: got -.* at time"),
        ({"readout_rate": lambda time: np.nan}, "readout_rate: got nan at time 0"),
        ({"scenario": scenario(np.stack([V, V]))}, "student: got readouts of 2 runs, .* 1 runs"),
        ({"scenario": scenario(label_noise=[0.1, 0.2])}, "scenario: got arrays of 2 values"),
        ({"start": tl.Overlaps(np.eye(3), np.zeros((3, 3)), START.T)}, "start: got 3 students"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(function, changes, message):
    arguments = {"scenario": scenario(), "start": START, **COMMON, "runs": 1}
    with pytest.raises(InputError, match=message):
        function(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("v", "message"),
    [
        ([1.0, 2.0, 3.0], r"readout: got shape \(3,\)"),
        ([[np.nan, 1.0]], "readout: got nan"),
        ([0.0, 0.0], "readout: got zeros only"),
        ([1.0, 1.0], "teacher: got 2 outputs, but the student has 1"),
    ],
)
def test_readouts_that_do_not_fit_are_refused_by_name(v, message):
    with pytest.raises(InputError, match=message):
        scenario(v)


@pytest.mark.parametrize(
    ("function", "readout_rate"),
    [
        ("chain", 0.6),
        pytest.param("chain", 0.0, marks=pytest.mark.slow),
        pytest.param("network", 0.6, marks=pytest.mark.slow),
        pytest.param("network", 0.0, marks=pytest.mark.slow),
    ],
)
def test_every_run_may_begin_with_a_different_readout(function, readout_rate):
    """A run is the same alone and among others, whether the readout learns or is fixed."""
    several = np.stack([V, -V, V[::-1]])
    options = {**COMMON, "runs": 3, "readout_rate": readout_rate}
    run = getattr(tl.simulation, function)
    result = run(scenario(several), START, **options)
    np.testing.assert_array_equal(result.readout[:, 0], several)
    for number, v in enumerate(several):
        alone = run(scenario(v), START, **options).isel(run=number)
        one = result.isel(run=number)
        for name in ("Q", "R", "generalization_error"):
            # Rounding of twenty examples: a readout that stays is read from another place.
            np.testing.assert_allclose(one[name], alone[name], rtol=0, atol=1e-13)
        if readout_rate:
            np.testing.assert_allclose(one.readout, alone.readout, rtol=0, atol=1e-13)
        else:
            np.testing.assert_array_equal(one.readout, np.broadcast_to(v, one.readout.shape))
    recomputed = tl.results.recompute(result)
    np.testing.assert_array_equal(recomputed.readout, result.readout)
