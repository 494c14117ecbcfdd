"""The stepper: known solutions, the published coefficients, and the ends of runs."""

import numpy as np
import pytest
from scipy.integrate import RK45

from tutelage._jax import jax, jnp
from tutelage.solve import stepping
from tutelage.solve.stepping import every_step, initial_state, integrate

TIMES = np.linspace(0.0, 10.0, 41)

NO_PAUSE = 10**9  # steps


def oscillators(frequencies, tolerance, times=TIMES, ends=lambda t, y, slope: 0 * t.astype(int)):
    """One run for each frequency of y'' = -ω² y from y = 1 at rest."""
    omega = jnp.asarray(frequencies)

    def rates(t, y):
        return jnp.stack([y[:, 1], -(omega**2) * y[:, 0]], axis=-1)

    y0, t0 = jnp.tile(jnp.asarray([1.0, 0.0]), (len(frequencies), 1)), jnp.zeros(len(frequencies))
    begin, span = initial_state(y0, t0, len(times)), (jnp.asarray(times), times[-1])
    return jax.jit(lambda: integrate(rates, ends, 9, begin, *span, tolerance, NO_PAUSE))()


def test_coefficients_are_those_of_dormand_and_prince():
    """Another copy of the published table; E is the difference of the two orders."""
    assert np.array_equal(stepping.STAGES[:6, :5], RK45.A)
    assert np.array_equal(stepping.STAGES[6, :6], RK45.B)
    assert np.array_equal(stepping.NODES[:6], RK45.C)
    assert np.array_equal(stepping.DENSE, RK45.P)
    # One rounding of the difference.
    assert np.allclose(stepping.LOWER_ORDER - stepping.STAGES[6], RK45.E, rtol=0, atol=2.0**-53)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_an_oscillator_stays_within_its_tolerance_at_every_recorded_time(tolerance):
    """Errors of the steps add up over the time: at most one tolerance for each step, and a
    step is a fraction of a period; 100 steps is more than the run takes per radian."""
    end = oscillators([1.0, 3.0], tolerance)
    for run, omega in enumerate([1.0, 3.0]):
        error = np.max(np.abs(end.records[run, :, 0] - np.cos(omega * TIMES)))
        assert error <= 100 * 10 * omega * tolerance


def test_a_smaller_tolerance_is_a_smaller_error():
    """Error of order 5 in the step, and the step follows the tolerance to the power 1/5."""
    errors = [
        np.max(np.abs(oscillators([1.0], t).records[0, :, 0] - np.cos(TIMES)))
        for t in (1e-5, 1e-7, 1e-9)
    ]
    assert errors[0] > 30 * errors[1] > 30**2 * errors[2]


def test_the_error_falls_with_the_fifth_power_of_the_step():
    """The order is the slope of ln(error) over ln(h): of y' = y cos t and of y' = y (1 - y).

    The tolerance accepts every step.  Steps grow from 10⁻⁶ to h by factors of ten, and all further
    ones are h.  With errors c h⁵ (1 + O(h)) the slopes come closer to 5 as h falls.
    """
    first, steps = 0.011111, np.array([1 / 16, 1 / 32, 1 / 64])

    def rates(t, y):
        return jnp.stack([y[:, 0] * jnp.cos(t), y[:, 1] * (1 - y[:, 1])], axis=-1)

    @jax.jit
    def at_the_end(h):
        y0 = jnp.asarray([1.0, 0.1])
        options = {"until": first + 1, "tolerance": 1e9, "longest": h, "most": 200}
        run = every_step(rates, lambda t, y, s: 0 * t.astype(int), 9, lambda w: w.t, y0, **options)
        return run[2].y[0]

    exact = np.array([np.exp(np.sin(first + 1)), 1 / (1 + 9 * np.exp(-first - 1))])
    errors = np.abs([at_the_end(h) - exact for h in steps])
    longer, shorter = -np.diff(np.log2(errors), axis=0)
    assert np.all(np.rint(shorter) == 5), shorter
    assert np.all(np.abs(shorter - 5) < np.abs(longer - 5)), (longer, shorter)


def test_runs_do_not_know_of_each_other():
    """The operations on a run do not depend on the other runs.

    Batches may round differently.  Rounding changes an estimated error of the size of the
    tolerance, 10⁻⁸, by 2⁻⁵²/10⁻⁸ of itself, the next step by a fifth of that, and so the error
    of the result, below 10⁻⁶, by less than 10⁻¹³.
    """
    alone, together = oscillators([2.0], 1e-8), oscillators([1.0, 2.0, 7.0], 1e-8)
    assert np.allclose(alone.records[0], together.records[1], rtol=0, atol=1e-13)
    assert alone.t[0] == together.t[1] == TIMES[-1]


def test_a_run_ends_at_its_end_and_the_others_continue():
    def ends(t, y, slope):
        return jnp.where((jnp.arange(2) == 0) & (y[:, 0] < 0), 3, 0)

    end = oscillators([1.0, 1.0], 1e-8, ends=ends)
    assert list(end.reason) == [3, 0]
    assert np.pi / 2 <= end.t[0] < np.pi and end.t[1] == TIMES[-1]


def test_a_solution_that_blows_up_is_lost_just_before():
    """y' = y² from 1 is 1/(1 - t): no steps lead beyond t = 1."""
    end = integrate(
        lambda t, y: y**2,
        lambda t, y, slope: jnp.zeros(1, dtype=int),
        9,
        initial_state(jnp.ones((1, 1)), jnp.zeros(1), len(TIMES)),
        jnp.asarray(TIMES),
        TIMES[-1],
        1e-8,
        NO_PAUSE,
    )
    assert end.reason[0] == 9
    assert abs(end.t[0] - 1) < 1e-6


def test_times_before_the_start_record_the_start():
    end = integrate(
        lambda t, y: -y,
        lambda t, y, slope: jnp.zeros(1, dtype=int),
        9,
        initial_state(jnp.ones((1, 1)), jnp.asarray([5.0]), 3),
        jnp.asarray([1.0, 5.0, 6.0]),
        6.0,
        1e-10,
        NO_PAUSE,
    )
    assert np.allclose(end.records[0, :, 0], [1.0, 1.0, np.exp(-1.0)], rtol=0, atol=1e-9)


def test_a_slope_that_is_no_number_ends_the_run_at_once():
    end = integrate(
        lambda t, y: y / 0.0,
        lambda t, y, slope: jnp.zeros(1, dtype=int),
        9,
        initial_state(jnp.ones((1, 1)), jnp.zeros(1), 1),
        jnp.asarray([1.0]),
        1.0,
        1e-8,
        NO_PAUSE,
    )
    assert end.reason[0] == 9 and end.t[0] == 0 and end.y[0, 0] == 1


def stepwise(longest=np.inf, most=1000, bound=np.inf):
    """Times, states and slopes of y' = -y from 1 after every step up to t = 5."""
    seen, count, end = every_step(
        lambda t, y: -y,
        lambda t, y, slope: jnp.where(y[:, 0] < bound, 0, 3),
        9,
        lambda now: (now.t[0], now.y[0, 0], now.slopes[-1, 0, 0]),
        jnp.ones(1),
        until=5.0,
        tolerance=1e-9,
        longest=longest,
        most=most,
    )
    return [np.asarray(x)[: int(count)] for x in seen], end


@pytest.mark.parametrize("longest", [np.inf, 0.02])
def test_every_step_is_seen_with_its_slope_from_the_start_to_the_end(longest):
    (t, y, slope), end = stepwise(longest)
    assert t[0] == 0 and t[-1] == 5 and np.all(np.diff(t) > 0) and end.reason[0] == 0
    assert np.allclose(y, np.exp(-t), rtol=0, atol=1e-7)
    assert np.allclose(slope, -y, rtol=0, atol=1e-15)
    assert np.max(np.diff(t)) <= longest * (1 + 1e-12)
    assert longest == np.inf or len(t) >= 251


def test_steps_end_with_their_number_or_with_a_reason():
    (t, _, _), end = stepwise(most=7)
    assert len(t) == 7 and end.running[0]
    (t, _, _), end = stepwise(bound=0.5)
    assert list(t) == [0.0] and end.reason[0] == 3
