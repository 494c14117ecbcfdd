"""The equations from a recorded start: trainings that follow them, and others, with the cause of
the deviation.
"""

from functools import cache

import numpy as np
import pytest
from training_by_hand import N, recorder, trained, weights

import tutelage as tl
from tutelage.bridge.prediction import _threshold

RATE, STEPS = 1.0 / N, 1000


@cache
def record_of(said):
    """A record that several tests use, computed once."""
    return recorded(said=said)


@cache
def predicted(said):
    """The prediction for a record."""
    return tl.bridge.predict(record_of(said))


def recorded(*, said=RATE, rate=RATE, seed=1, inputs=None, rows=None, training=None, **options):
    J, B = weights(seed)
    record = recorder(B, said, inputs=rows, **options)
    how = {"seed": seed, "inputs": inputs, **(training or {})}
    return trained(record, J, B, rate, STEPS, **how).dataset()


def causes(found):
    return {cause.name: cause.likely for cause in found.causes}


def test_a_training_that_follows_the_equations_is_described_by_them():
    result = predicted(RATE)
    assert result.agrees and result.departs_at is None
    assert "the equations describe the run" in str(result)
    start = tl.online.evolve(
        tl.Scenario(*[tl.Committee(1, tl.Erf())] * 2),
        tl.Overlaps(Q=[[0.3]], R=[[0.1]], T=[[1.0]]),
        1.0,
        until=10.0,
        times=result.theory.time,
    )
    # From the weights themselves, whose overlaps are those of the start up to rounding.
    np.testing.assert_allclose(result.theory.R, start.R, atol=1e-7)


@pytest.mark.slow
def test_the_level_is_the_rate_of_false_departures():
    """Twelve of them at the level 0.2: a binomial of mean 2.4; 8 or more has p < 1e-3."""
    parted = [not tl.bridge.predict(recorded(seed=s), level=0.2).agrees for s in range(12)]
    assert sum(parted) < 8


def test_a_rate_that_is_wrong_by_the_half_of_the_loss_is_recognised():
    result = predicted(2 * RATE)
    assert not result.agrees and result.departs_at < 5
    assert causes(result)["another learning rate"] is True
    assert "with η = 1 p" in str(result)


def test_a_rate_times_n_is_reported_before_the_work():
    with pytest.warns(RuntimeWarning, match=r"fits η = 1.*learning_rate gives η = 100"):
        prediction = tl.bridge.predict(recorded(said=N * RATE))
    assert causes(prediction)["another learning rate"] is True
    assert "rate times N" in str(prediction)


@pytest.mark.parametrize(
    "outputs",
    [
        pytest.param(0, id="committee"),
        pytest.param(2, id="two outputs that learn", marks=pytest.mark.slow),
    ],
)
def test_the_rate_that_a_record_shows_is_that_of_the_equations(outputs):
    """On curves of `evolve` it is off by the mean over a step: four times less for half of it."""
    from tutelage.bridge.comparison import Problem, shown_rate

    given = {"readout": [[1.0, 0.5], [-0.5, 1.0]]} if outputs else {}
    scenario = tl.Scenario(*[tl.Committee(2, tl.Erf(), **given)] * 2)
    start = tl.Overlaps(Q=[[0.3, 0.1], [0.1, 0.4]], R=[[0.2, 0.0], [0.1, 0.3]], T=np.eye(2))

    def off(steps):
        η_v = 0.3 if outputs else 0.0
        times = np.linspace(0, 4, steps + 1)
        run = tl.online.evolve(scenario, start, 0.7, until=4, times=times, readout_rate=η_v)
        record = run.expand_dims("run").assign_attrs(batch=1, learning_rate=70.0, readout_rate=η_v)
        problem = Problem.of(record, scenario, 100, 0, False)
        return shown_rate(problem)[0] - 0.7

    assert abs(off(32)) < 1e-3
    assert off(16) / off(32) == pytest.approx(4, rel=0.1)


@pytest.mark.slow
def test_times_are_those_of_a_record_that_begins_later():
    """The same weights at steps 0, 1, … and at steps 200, 201, …: all times are larger by 2."""
    J, B = weights(1)
    record, later = (recorder(B, 2 * RATE) for _ in range(2))
    steps = iter(range(2 * N, 2 * N + STEPS + 1))
    trained(lambda J: (record(J), later(J, step=next(steps))), J, B, RATE, STEPS, seed=1)
    first, second = (tl.bridge.predict(one.dataset()) for one in (record, later))
    assert not first.agrees and second.record.time.values[0] == 2
    assert second.departs_at == pytest.approx(2 + first.departs_at, abs=1e-12)
    assert second.time == pytest.approx(2 + first.time, abs=1e-12)


@pytest.mark.parametrize("networks", [100, 199, 400])
@pytest.mark.parametrize("level", [0.01, 0.05])
def test_a_deviation_is_allowed_if_and_only_if_its_p_value_is_above_the_level(networks, level):
    law = np.random.default_rng(networks).standard_normal(networks)
    threshold = _threshold(law, level)
    for one in [*law, law.max() + 1]:
        p = (1 + np.sum(law >= one)) / (1 + networks)
        assert (one <= threshold) == (p > level)


def test_a_p_value_that_no_network_reaches_is_a_bound():
    result = predicted(2 * RATE)
    assert result.p_value == 1 / (1 + result.compared)
    assert "p < 0.01;" in str(result) and "p = 0.0099" not in str(result)


def test_equations_that_diverge_do_not_describe_a_run():
    """A ReLU unit at η = 50, far beyond the rate up to which its norm stays finite."""
    J, B = weights(1)
    record = tl.bridge.Recorder(B, 50 * RATE, activation=tl.ReLU(), every=20)
    for step in range(0, 600, 20):
        record((1 + 1e-4 * step) * J, step=step)
    with pytest.warns(RuntimeWarning, match="the record fits"):
        prediction = tl.bridge.predict(record.dataset())
    assert prediction.theory.attrs["outcome"] == "diverged"
    assert not prediction.agrees and "the equations diverge at α = " in prediction.verdict
    assert "inf" not in str(prediction)


MOMENTUM = {"name": "SGD", "learning_rate": 0.2 * RATE, "momentum": 0.9}


def test_momentum_is_named_with_the_rate_as_which_it_acts():
    """η = 0.2 and μ = 0.9: the run is that of η = 2, and the advice makes the equations fit."""
    training = {"rate": 0.2 * RATE, "training": {"momentum": 0.9}, "optimizer": MOMENTUM}
    with pytest.warns(RuntimeWarning, match=r"momentum μ = 0.9 acts on-line .* η/\(1 - μ\) = 2;"):
        prediction = tl.bridge.predict(recorded(said=0.2 * RATE, **training))
    assert not prediction.agrees and causes(prediction)["momentum"] is True
    assert "another learning rate" not in causes(prediction)
    assert "learning_rate=0.02, ...)" in str(prediction) and "without its half" not in str(
        prediction
    )
    assert tl.bridge.predict(recorded(said=2 * RATE, **training)).agrees


def test_without_the_optimizer_momentum_is_one_of_the_questions():
    training = {"rate": 0.2 * RATE, "training": {"momentum": 0.9}}
    with pytest.warns(RuntimeWarning, match="the record fits"):
        prediction = tl.bridge.predict(recorded(said=0.2 * RATE, **training))
    assert causes(prediction)["optimizer"] is None
    assert "Recorder(optimizer=optimizer) would record" in str(
        prediction
    ) and ": momentum, a" in str(prediction)


def test_weight_decay_of_the_optimizer_is_named_and_goes_into_the_scenario():
    """λ = 0.5 at ρ = 1/N: γ = N ρ λ = 0.5."""
    optimizer = {"name": "SGD", "learning_rate": RATE, "weight_decay": 0.5}
    record = recorded(training={"decay": 0.5}, optimizer=optimizer)
    prediction = tl.bridge.predict(record)
    assert causes(prediction)["weight decay"] is True
    assert "weight_decay=0.5))" in str(prediction)
    one = tl.Committee(1, tl.Erf())
    scenario = tl.Scenario(one, one, weight_decay=0.5)
    assert tl.bridge.predict(record, scenario=scenario).agrees


@pytest.mark.parametrize(
    ("attributes", "cause", "words"),
    [
        (
            {"optimizer": '{"name": "Adam", "rates": [0.01]}'},
            "optimizer",
            "Adam, and the equations",
        ),
        ({"dropout": "1 (Dropout, rate 0.5)"}, "dropout", "1 (Dropout, rate 0.5); the equations"),
        (
            {
                "optimizer": '{"name": "SGD", "rates": [0.01]}',
                "optimizer_rate_factors": "[0.1, 1.0]",
            },
            "learning rate that changes",
            "from 0.1 to 1 times",
        ),
    ],
)
def test_what_the_equations_do_not_have_is_named(attributes, cause, words):
    prediction = tl.bridge.predict(record_of(2 * RATE).assign_attrs(attributes))
    assert causes(prediction)[cause] is True and words in str(prediction)
    assert "another learning rate" not in causes(prediction)


@pytest.mark.parametrize("name", ["optimizer", "resumed"])
@pytest.mark.parametrize("text", ["[1]", "{}", "x", '{"name": "SGD", "rates": [1], "momentum": 2}'])
def test_attributes_that_no_recorder_writes_are_refused(name, text):
    record = record_of(2 * RATE).assign_attrs({name: text})
    with pytest.raises(tl.InputError, match=r"Recorder|below 1"):
        tl.bridge.predict(record)


@pytest.mark.slow
def test_gaps_of_a_resumed_training_are_left_out_of_the_rate_and_named():
    """A record without its middle: a step across the gap is no step of the equations."""
    from tutelage.bridge.comparison import Problem, shown_rate

    record = recorded()
    cut = record.isel(time=np.r_[0:6, 40:51]).assign_attrs(resumed="[[100, 800]]")
    problem = Problem.of(cut, None, 100, 0, False)
    assert problem.gaps == [(1.0, 8.0)]
    parts = [
        Problem.of(cut.isel(time=part), None, 100, 0, False) for part in (slice(6), slice(6, 17))
    ]
    rates = sorted(shown_rate(part)[0] for part in parts)
    assert rates[0] <= shown_rate(problem)[0] <= rates[1]
    blind = Problem.of(cut.assign_attrs(resumed="[]"), None, 100, 0, False)
    across = shown_rate(blind)[0]
    assert not rates[0] <= across <= rates[1]
    prediction = tl.bridge.predict(cut)
    assert causes(prediction)["resumed training"] is None
    assert "from α = 1 to 8" in next(
        c.words for c in prediction.causes if c.name == "resumed training"
    )


def test_long_work_is_announced_with_its_cost(capsys):
    """Smooth units with two layers, α = 20: named and timed before anything is computed."""
    from tutelage.bridge import cost
    from tutelage.bridge.comparison import Problem

    rng = np.random.default_rng(0)
    J, B = rng.standard_normal((4, 300)) / 300**0.5, rng.standard_normal((3, 300)) / 300**0.5
    options = {"readout_rate": 6 / 300, "batch": 10}
    record = tl.bridge.Recorder([B, np.ones(3)], 6 / 300, activation=tl.Tanh(), **options)
    for step in (0, 6000):
        record([J, np.ones(4)], step=step)
    problem = Problem.of(record.dataset(), None, 100, 0, False)
    assert cost.announce(problem, None) and not cost.announce(problem, False)
    message = capsys.readouterr().err
    assert "α = 20 (K = 4, M = 3, Tanh, both layers learn)" in message and "about" in message
    assert "100 networks of N = 300 inputs for 6000 steps" in message
    tl.bridge.predict(record_of(RATE))
    assert capsys.readouterr().err == ""
    tl.bridge.predict(record_of(RATE), progress=True)
    assert "predict integrates the equations to α = 10" in capsys.readouterr().err


def colour(ξ, rng):
    return ξ * np.where(np.arange(N) < N // 2, 1.3, 0.55)


def heavy(ξ, rng):
    """Components with common size: variance 1, no correlation, and fields far from Gaussian."""
    return ξ * np.sqrt(rng.exponential())


@pytest.mark.parametrize(
    ("inputs", "cause"),
    [
        pytest.param(colour, "structure of the inputs", id="structure"),
        pytest.param(
            heavy, "fields that are not Gaussian", id="not Gaussian", marks=pytest.mark.slow
        ),
    ],
)
def test_what_inputs_do_is_seen_on_them(inputs, cause):
    rng = np.random.default_rng(0)
    rows = np.array([inputs(ξ, rng) for ξ in rng.standard_normal((4000, N))])
    prediction = tl.bridge.predict(recorded(inputs=inputs, rows=rows))
    assert causes(prediction)[cause] is True
    plain = tl.bridge.predict(recorded(rows=np.random.default_rng(1).standard_normal((4000, N))))
    assert causes(plain)[cause] is False
    assert causes(plain)["different error on the data"] is False


def test_what_was_not_recorded_is_not_known():
    assert causes(predicted(RATE))["structure of the inputs"] is None


@pytest.mark.slow
def test_a_record_of_a_unit_that_no_file_holds_needs_its_scenario():
    import jax.numpy as jnp

    J, B = weights()
    record = tl.bridge.Recorder(B, RATE, activation=jnp.sin, every=1)
    for step in range(3):
        record((1 + 0.1 * step) * J)
    with pytest.raises(tl.InputError, match=r"scenario=recorder\.scenario"):
        tl.bridge.predict(record.dataset())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda record: record.isel(time=[0]), "a start and a later time"),
        (lambda record: record.drop_attrs(), "one run of tl.bridge.Recorder"),
        (lambda record: record.isel(run=[0, 0]), "one run of tl.bridge.Recorder"),
    ],
)
def test_what_is_no_record_is_refused(change, words):
    with pytest.raises(tl.InputError, match=words):
        tl.bridge.predict(change(record_of(RATE)))


def test_the_figure_shows_the_run_the_equations_and_where_they_part():
    result = predicted(2 * RATE)
    axes = tl.figures.prediction(result)
    assert len(axes) == 4
    lines = [line for line in axes[1].lines if line.get_linestyle() == "--"]
    assert any(np.all(np.asarray(line.get_xdata()) == result.departs_at) for line in lines)
    assert "parts from the equations" in axes[0].figure.get_suptitle()
    drawn = np.concatenate([x.get_ydata() for x in axes[3].lines if len(x.get_ydata()) > 2])
    assert np.max(np.abs(drawn)) == pytest.approx(result.deviation, rel=1e-6)
    band = axes[3].patches[0].get_extents().transformed(axes[3].transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((-result.threshold, result.threshold))
