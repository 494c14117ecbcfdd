"""Training: a batch equals the literal loop, interrupted runs continue, students specialize."""

import equinox as eqx
import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jax, jnp
from tutelage.deep.training import training
from tutelage.deep.training.groups import concatenated, first_students, groups_of, split_into_groups
from tutelage.deep.training.settings import settings, split

SIZES = {"inputs": 6, "outputs": 4, "examples": 160, "evaluation": 200, "learning_rate": 0.05}
SIZES |= {"data": "gaussian:1"}


@pytest.fixture(scope="module")
def small():
    return tl.deep.train("3", 2, [0.0, 1.0], epochs=3, runs=4, correlations=True, **SIZES)


def by_hand(student, x, y, η):
    """One step of two layers with NumPy: W ← W + η (2/C) E[f_{l-1} g_lᵀ] (tian2020, eq. (1))."""
    (W, V), (b, c) = student
    h = x @ W + b
    f = np.maximum(h, 0.0)
    g2 = y - (f @ V + c)
    g1 = (g2 @ V.T) * (h > 0)
    rate = η * 2 / y.size
    return (
        (W + rate * x.T @ g1, V + rate * f.T @ g2),
        (b + rate * g1.sum(0), c + rate * g2.sum(0)),
    )


def begun(runs, fresh=True, **more):
    sizes = {"epochs": 1, "recorded": None, "batch": 16, "runs": runs, "seed": 4, "fresh": fresh}
    given = settings("3", 2, 0.5, correlations=False, **SIZES | sizes | more)
    return given, groups_of(given)


def learned(given, groups, epoch=0):
    """Students of all runs after an epoch from the start."""
    students = split_into_groups(first_students(given), groups)
    return concatenated(training.advance(given, groups, students, epoch))


def run_of(networks, run):
    """One of a batch of networks."""
    return jax.tree.map(lambda x: x[run], networks)


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_batch_of_runs_is_the_literal_loop_over_them(fresh, epoch):
    """Fresh examples are numbered through all epochs; a fixed set has an order for each.

    Rounded are ten steps of sums over at most 16 products each.  Fresh examples are drawn in
    float32, here by another program than the one that learns from them: they may differ in their
    last digit, and weights by the learning rate 0.05 times as much.  So they do where XLA optimizes
    nothing (--xla_backend_optimization_level=0), in 38 of 960 numbers, and weights by 5e-10.
    """
    rounding = (0.0, 0.05 * np.finfo(np.float32).eps) if fresh else (1e-12, 1e-13)
    what, groups = begun(3, fresh)
    after, before = learned(what, groups, epoch), first_students(what)
    for run, group in enumerate(groups):
        one, teacher = run_of(before, run), run_of(group.teachers, 0)
        student = tuple(tuple(np.asarray(a) for a in part) for part in (one.weights, one.biases))
        order = np.asarray(training._orders(group.keys, epoch, 160))[0]
        for i in range(10):
            numbers = np.arange(16 * i, 16 * (i + 1))
            if fresh:
                x = np.asarray(what.data.draw(group.keys[0], jnp.asarray(160 * epoch + numbers), 6))
            else:
                x = np.asarray(group.rows[0])[order[numbers]].astype(float)
            student = by_hand(student, x, np.asarray(teacher(jnp.asarray(x))), 0.05)
        for mine, theirs in zip(
            student[0] + student[1], jax.tree.leaves(run_of(after, run)), strict=True
        ):
            assert np.allclose(mine, theirs, *rounding)


@pytest.mark.parametrize("hidden", [pytest.param("3", marks=pytest.mark.slow), "5-4-3"])
def test_a_step_goes_down_the_automatic_derivative(hidden):
    teacher = tl.deep.teacher(hidden, inputs=6, outputs=4)
    student = tl.deep.student(teacher, 2, seed=1)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(16, 6)))
    loss = lambda student: jnp.mean((student(x) - teacher(x)) ** 2)  # noqa: E731
    gradient = jax.jit(jax.grad(loss))(student)
    after = jax.jit(lambda student: training.descend(student, x, teacher(x), 0.05))(student)
    for w, g, now in zip(*map(jax.tree.leaves, (student, gradient, after)), strict=True):
        assert np.allclose(now, w - 0.05 * g, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("fresh", [True, False])
def test_no_run_depends_on_other_runs_of_its_batch(fresh, monkeypatch):
    """On a CPU every run is a group, on a GPU all runs are one group."""
    what, groups = begun(4, fresh)
    after = learned(what, groups)
    alone = learned(*begun(1, fresh))
    assert [len(group.keys) for group in groups] == [1, 1, 1, 1]
    monkeypatch.setattr("tutelage.deep.training.groups.group_size", lambda runs: runs)
    what, groups = begun(4, fresh)
    assert [len(group.keys) for group in groups] == [4]
    together = learned(what, groups)
    for a, b, c in zip(*map(jax.tree.leaves, (after, alone, together)), strict=True):
        assert np.array_equal(a[:1], b)
        # Products of matrices in a batch are summed in another order.
        assert np.allclose(a, c, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("fresh", [True, False])
def test_steps_in_several_blocks_are_the_same_steps(fresh, monkeypatch):
    what, groups = begun(2, fresh)
    whole = learned(what, groups, epoch=1)
    monkeypatch.setattr(training, "BLOCK", 5)
    for a, b in zip(*map(jax.tree.leaves, (whole, learned(what, groups, epoch=1))), strict=True):
        assert np.allclose(a, b, rtol=1e-13, atol=1e-14)


def test_the_same_call_gives_the_same_bits(small):
    run = tl.deep.train("3", 2, [0.0, 1.0], epochs=3, runs=4, correlations=True, **SIZES)
    assert run.identical(small)


def test_another_seed_gives_other_runs(small):
    other = tl.deep.train("3", 2, [0.0, 1.0], epochs=3, runs=4, seed=1, **SIZES)
    assert not np.any(other.evaluation_loss.values == small.evaluation_loss.values)


def test_runs_differ_and_polarities_share_everything_else(small):
    assert len(set(small.evaluation_loss.values.ravel())) == small.evaluation_loss.size
    even, polar = small.sel(polarity=0.0), small.sel(polarity=1.0)
    assert np.array_equal(even.teacher_weights_1, polar.teacher_weights_1)
    assert np.array_equal(even.correlation_1[:, 0], polar.correlation_1[:, 0])
    assert not np.array_equal(even.correlation_1[:, 1], polar.correlation_1[:, 1])


def test_batches_that_were_joined_can_be_parted_again():
    """A checkpoint of runs in one batch, from a GPU, continues where every run is a separate
    group.
    """
    given, groups = begun(3)
    students = first_students(given)
    parts = split_into_groups(students, groups)
    assert [len(one.biases[0]) for one in parts] == [1, 1, 1]
    assert eqx.tree_equal(concatenated(parts), students)


class Interrupted(Exception):
    """An interruption by the user."""


def stopped_at(when):
    """`training.advance` until this epoch."""
    advance = training.advance

    def stop(given, groups, students, epoch):
        if epoch == when:
            raise Interrupted
        return advance(given, groups, students, epoch)

    return stop


@pytest.mark.parametrize("when", [0, 1])
def test_a_training_interrupted_before_its_first_record_goes_on(tmp_path, monkeypatch, when):
    call = {"epochs": 3, "recorded": [3], "runs": 2, **SIZES}
    whole = tl.deep.train("3", 2, **call)
    call["checkpoint"] = tmp_path / "run.npz"
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(training, "advance", stopped_at(when))
        tl.deep.train("3", 2, **call)
    with np.load(call["checkpoint"]) as file:
        assert (int(file["finished"]), int(file["recorded"])) == (when, 0)
    assert tl.deep.train("3", 2, **call).identical(whole)


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ({"polarity": 1 / 3}, {"polarity": 0.3333334}),
        ({"data": "gaussian:0.3333333"}, {"data": "gaussian:0.33333334"}),
        pytest.param(
            {"data": "uniform:1.0000001"},
            {"data": "uniform:1.0000002"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_checkpoint_of_a_number_that_is_nearly_the_same_is_refused(tmp_path, mine, other):
    call = {"epochs": 1, "runs": 1, "checkpoint": tmp_path / "run.npz", **SIZES}
    tl.deep.train("3", 2, **call | mine)
    with pytest.raises(tl.InputError, match=f"checkpoint: got .*{next(iter(mine))} = "):
        tl.deep.train("3", 2, **call | other)


def test_threads_are_no_more_than_the_cores_of_this_process(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert training._cores() == 3
    monkeypatch.delattr("os.sched_getaffinity")  # macOS and Windows have none
    assert training._cores() == 64


@pytest.mark.parametrize("when", [1, 2])
def test_an_interrupted_training_goes_on_to_the_same_result(small, tmp_path, monkeypatch, when):
    file = tmp_path / "run.npz"
    advance = training.advance
    call = {"epochs": 3, "runs": 4, "correlations": True, "checkpoint": file, **SIZES}
    monkeypatch.setattr(training, "advance", stopped_at(when))
    with pytest.raises(Interrupted):
        tl.deep.train("3", 2, [0.0, 1.0], **call)
    monkeypatch.setattr(training, "advance", advance)
    assert tl.deep.train("3", 2, [0.0, 1.0], **call).identical(small)
    monkeypatch.setattr(training, "advance", lambda *_: pytest.fail("trained again"))
    assert tl.deep.train("3", 2, [0.0, 1.0], **call).identical(small)
    with pytest.raises(tl.InputError, match=r"checkpoint: got .*seed = 0"):
        tl.deep.train("3", 2, [0.0, 1.0], seed=1, **call)


def test_an_array_is_a_fixed_set_and_a_third_of_it_is_for_the_evaluation():
    rows = np.random.default_rng(0).normal(size=(90, 6))
    sizes = {"inputs": 6, "outputs": 4, "epochs": 1, "runs": 2, "batch": 10, "learning_rate": 0.05}
    run = tl.deep.train("3", 2, data=rows, **sizes)
    learn, rest = split(rows, 0)
    assert (len(learn), len(rest)) == (60, 30)
    assert {tuple(row) for row in learn} | {tuple(row) for row in rest} == set(map(tuple, rows))
    student, teacher = tl.deep.networks(run, run=1)
    assert np.isclose(
        run.evaluation_loss[1, -1], np.mean((student(rest) - teacher(rest)) ** 2), rtol=1e-12
    )
    with pytest.raises(tl.InputError, match=r"^fresh: got True"):
        tl.deep.train("3", 2, data=rows, fresh=True, **sizes)


def test_a_run_that_diverges_is_an_outcome():
    run = tl.deep.train(
        "3", 2, [0.0, 1.0], epochs=2, runs=4, correlations=True, **(SIZES | {"learning_rate": 1e3})
    )
    assert set(run.outcome.values.ravel()) == {"diverged"}
    lost = ~np.isfinite(run.evaluation_loss)
    assert not lost[..., 0].any() and lost[..., 1:].all()
    for name in ("teacher_correlation_1", "student_correlation_1", "correlation_1"):
        assert np.array_equal(run[name].isnull().any(run[name].dims[3:]), lost)
        assert np.array_equal(run[name].isnull().all(run[name].dims[3:]), lost)
    for name in ("winner_1", "follows_1"):
        assert np.array_equal((run[name] == -1).any(run[name].dims[3:]), lost)
        assert np.array_equal((run[name] == -1).all(run[name].dims[3:]), lost)
    rate = tl.deep.recovery_rate(run)
    assert rate[:, 0].notnull().all() and rate[:, 1:].isnull().all()
    assert tl.deep.mean_correlation(run)[..., 1:].isnull().all()
    assert tl.deep.focus_shifts(run).isnull().all()


def test_what_is_no_number_stays_none_in_a_network():
    """Otherwise the loss of a run with filters that are NaN would be that of its last biases."""
    lost = tl.deep.Network(
        (jnp.full((2, 3), jnp.nan), jnp.ones((3, 1))), (jnp.zeros(3), jnp.zeros(1))
    )
    assert np.isnan(lost(jnp.ones((1, 2)))).all()


def test_with_the_objective_of_equation_2_the_students_of_the_paper_diverge():
    """Gradients of ½‖f* - f‖² are C/2 times ours: with C = 50 the rate 0.01 acts as 0.25."""
    sizes = {"epochs": 1, "examples": 320, "evaluation": 100, "runs": 2}
    paper = tl.deep.train(10, 5, learning_rate=0.01 * 50 / 2, **sizes)
    ours = tl.deep.train(10, 5, learning_rate=0.01, **sizes)
    assert set(paper.outcome.values) == {"diverged"}
    assert set(ours.outcome.values) == {"reached"}
    assert np.all(ours.evaluation_loss[:, 1] < ours.evaluation_loss[:, 0])


@pytest.mark.slow
def test_a_sweep_over_multiples_has_the_trainings_of_one_seed():
    sizes = {"epochs": 2, "runs": 2, **SIZES}
    over = {"multiple": (1, 2), "seed": [0]}
    pair = tl.sweeps.run(tl.deep.train, over, hidden="3", workers=1, **sizes).isel(seed=0)
    one = tl.deep.train("3", 1, **sizes)
    assert np.array_equal(pair.teacher_correlation_1.sel(multiple=1), one.teacher_correlation_1)
    assert np.array_equal(pair.strength_1.sel(multiple=1)[..., :3], one.strength_1)
    assert pair.strength_1.sel(multiple=1)[..., 3:].isnull().all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"polarity": -1.0}, "polarity"),
        ({"polarity": []}, "polarity"),
        ({"polarity": [1.0, 1.0]}, "polarity: .*all have to be different"),
        ({"epochs": 0}, "epochs"),
        ({"recorded": [3, 1]}, "recorded"),
        ({"recorded": [0, 200]}, "recorded"),
        ({"recorded": []}, "recorded: got no epoch"),
        ({"examples": 0}, "examples"),
        ({"evaluation": 0}, "evaluation"),
        ({"batch": 161}, "batch"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": [(1, 0.1)]}, "learning_rate: .*from 0 on"),
        ({"learning_rate": [(0, 0.1), (0, 0.2)]}, "learning_rate"),
        ({"learning_rate": [0.1, 0.2]}, "learning_rate"),
        ({"start_scale": 0.0}, "start_scale"),
        ({"start_scale": float("nan")}, "start_scale"),
        ({"construction": "paper"}, "construction"),
        ({"precision": "float16"}, "precision"),
        ({"steps": 0, "fresh": False}, "steps"),
        ({"steps": 5, "fresh": True}, "steps: .*fixed set"),
        ({"runs": 0}, "runs"),
        ({"multiple": 0}, "multiple"),
        ({"multiple": (1, 2)}, "multiple"),
        ({"checkpoint": 5}, "checkpoint"),
        ({"data": np.zeros((2, 6)), "examples": None}, "data"),
    ],
)
def test_bad_arguments_of_a_training_are_named(change, words):
    with pytest.raises(tl.InputError, match=f"^{words}"):
        tl.deep.train("3", **(SIZES | change))


def test_the_scale_of_the_start_scales_the_start_and_nothing_else():
    first, small = (
        tl.deep.train(
            "3",
            2,
            epochs=1,
            runs=2,
            recorded=[0],
            start_scale=s,
            **SIZES | {"learning_rate": 1e-70},
        )
        for s in (1.0, 0.01)
    )
    for name in ("student_weights_1", "student_weights_2", "student_biases_1"):
        assert np.allclose(small[name], 0.01 * first[name], rtol=1e-14)
    assert np.array_equal(small.teacher_weights_1, first.teacher_weights_1)


def test_rates_change_at_their_epochs():
    sizes = SIZES | {"epochs": 4, "runs": 1, "recorded": [0, 2, 4]}
    changed = tl.deep.train("3", 2, **sizes | {"learning_rate": [(0, 0.05), (2, 0.01)]})
    high, low = (tl.deep.train("3", 2, **sizes | {"learning_rate": rate}) for rate in (0.05, 0.01))
    assert np.array_equal(changed.evaluation_loss[:, :2], high.evaluation_loss[:, :2])
    assert not np.isclose(changed.evaluation_loss[0, 2], high.evaluation_loss[0, 2], rtol=1e-6)
    assert not np.isclose(changed.evaluation_loss[0, 2], low.evaluation_loss[0, 2], rtol=1e-6)
    given = settings(
        "3",
        2,
        0.5,
        correlations=False,
        batch=16,
        seed=0,
        fresh=None,
        **sizes | {"learning_rate": [(0, 0.2), (20, 0.1)]},
    )
    assert [given.rate(epoch) for epoch in (0, 19, 20, 99)] == [0.2, 0.2, 0.1, 0.1]


def test_steps_draw_from_the_fixed_set_with_replacement():
    what, groups = begun(2, None, steps=25)
    assert what.iterations == 25 and not what.fresh
    orders = np.asarray(training._orders(groups[0].keys, 0, *training._drawn(what)))[0]
    assert orders.shape == (400,) and orders.min() >= 0 and orders.max() < 160
    # 400 of 160: (1 - 1/160)^400 = 8 percent, 13 ± 3, are never drawn, and most more than once.
    assert 0 < 160 - len(set(orders)) < 30
    student = run_of(learned(what, groups), 0)
    before = run_of(first_students(what), 0)
    hand = tuple(tuple(np.asarray(a) for a in part) for part in (before.weights, before.biases))
    teacher, rows = run_of(groups[0].teachers, 0), np.asarray(groups[0].rows[0]).astype(float)
    for batch in orders.reshape(25, 16):
        x = rows[batch]
        hand = by_hand(hand, x, np.asarray(teacher(jnp.asarray(x))), 0.05)
    for mine, theirs in zip(hand[0] + hand[1], jax.tree.leaves(student), strict=True):
        assert np.allclose(mine, theirs, rtol=1e-11, atol=1e-12)


def test_float32_takes_the_same_way_up_to_its_rounding():
    sizes = {"epochs": 3, "runs": 2, **SIZES}
    wide, short = (tl.deep.train("3", 2, precision=p, **sizes) for p in ("float64", "float32"))
    assert short.evaluation_loss.dtype == np.float64
    # 30 steps, each with a relative rounding of 2⁻²⁴ = 6e-8 that the next ones may enlarge.
    assert np.allclose(short.evaluation_loss, wide.evaluation_loss, rtol=1e-4)
    assert not np.array_equal(short.evaluation_loss[:, -1], wide.evaluation_loss[:, -1])
    W = short.student_weights_1.values
    assert np.array_equal(W, W.astype(np.float32))  # the steps were in float32


@pytest.mark.slow
def test_a_checkpoint_in_float32_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    options = SIZES | {"epochs": 3, "runs": 2, "precision": "float32"}
    whole = tl.deep.train("3", 2, **options)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(training, "advance", stopped_at(2))
        with pytest.raises(Interrupted):
            tl.deep.train("3", 2, checkpoint=tmp_path / "run.npz", **options)
    run = tl.deep.train("3", 2, checkpoint=tmp_path / "run.npz", **options)
    assert np.array_equal(run.evaluation_loss, whole.evaluation_loss)
    assert np.array_equal(run.student_weights_1, whole.student_weights_1)
