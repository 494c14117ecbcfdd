"""The equations from a recorded start: trainings that follow them, and others, with the reason."""

import numpy as np
import pytest
from training_by_hand import N, recorder, trained, weights

import tutelage as tl

RATE, STEPS = 1.0 / N, 1000


def recorded(*, said=RATE, seed=1, inputs=None, rows=None, **options):
    J, B = weights(seed)
    record = recorder(B, said, inputs=rows, **options)
    return trained(record, J, B, RATE, STEPS, seed=seed, inputs=inputs).dataset()


def causes(found):
    return {cause.name: cause.likely for cause in found.causes}


def test_a_training_that_follows_the_equations_is_described_by_them():
    found = tl.bridge.predict(recorded())
    assert found.agrees and found.parts_at is None
    assert "the equations describe the run" in str(found)
    start = tl.online.evolve(
        tl.Scenario(*[tl.Committee(1, tl.Erf())] * 2),
        tl.Overlaps(Q=[[0.3]], R=[[0.1]], T=[[1.0]]),
        1.0,
        until=10.0,
        times=found.theory.time,
    )
    # From the weights themselves, whose overlaps are those of the start up to rounding.
    np.testing.assert_allclose(found.theory.R, start.R, atol=1e-7)


@pytest.mark.slow
def test_the_level_is_how_often_such_trainings_are_said_to_part():
    """Twelve of them at the level 0.2: a binomial of mean 2.4; 8 or more has p < 1e-3."""
    parted = [not tl.bridge.predict(recorded(seed=s), level=0.2).agrees for s in range(12)]
    assert sum(parted) < 8


def test_a_rate_that_is_wrong_by_the_half_of_the_loss_is_recognised():
    found = tl.bridge.predict(recorded(said=2 * RATE))
    assert not found.agrees and found.parts_at < 5
    assert causes(found)["another learning rate"] is True
    assert "with η = 1 p" in str(found)


def test_a_rate_that_is_given_times_n_is_told_before_the_work():
    with pytest.warns(RuntimeWarning, match=r"moves as with η = 1.*by its learning_rate η is 100"):
        found = tl.bridge.predict(recorded(said=N * RATE))
    assert causes(found)["another learning rate"] is True
    assert "rate times N" in str(found)


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


def colour(ξ, rng):
    return ξ * np.where(np.arange(N) < N // 2, 1.3, 0.55)


def heavy(ξ, rng):
    """Components with common size: variance 1, no correlation, and fields far from Gaussian."""
    return ξ * np.sqrt(rng.exponential())


@pytest.mark.parametrize(
    ("inputs", "cause"),
    [(colour, "structure of the inputs"), (heavy, "fields that are not Gaussian")],
    ids=["structure", "not Gaussian"],
)
def test_what_inputs_do_is_seen_on_them(inputs, cause):
    rng = np.random.default_rng(0)
    rows = np.array([inputs(ξ, rng) for ξ in rng.standard_normal((4000, N))])
    found = tl.bridge.predict(recorded(inputs=inputs, rows=rows))
    assert causes(found)[cause] is True
    plain = tl.bridge.predict(recorded(rows=np.random.default_rng(1).standard_normal((4000, N))))
    assert causes(plain)[cause] is False
    assert causes(plain)["another error on the data"] is False


def test_what_was_not_recorded_is_not_known():
    assert causes(tl.bridge.predict(recorded()))["structure of the inputs"] is None


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
        tl.bridge.predict(change(recorded()))


def test_the_figure_shows_the_run_the_equations_and_where_they_part():
    found = tl.bridge.predict(recorded(said=2 * RATE))
    axes = tl.figures.prediction(found)
    assert len(axes) == 3
    lines = [line for line in axes[1].lines if line.get_linestyle() == "--"]
    assert any(np.all(np.asarray(line.get_xdata()) == found.parts_at) for line in lines)
    assert "parts from the equations" in axes[0].figure.get_suptitle()
