"""Learning rates and times as the equations need them."""

import numpy as np
import pytest

import tutelage as tl
from tutelage._jax import jnp
from tutelage.model import timing

TIMES = np.array([0.0, 1.0])


def test_zero_is_the_limit_and_another_number_is_itself():
    limit, rate = (timing.learning_rate(x, TIMES, 1.0) for x in (0, 0.5))
    assert limit.limit and (limit.unit, limit.second) == (1.0, None)
    assert not rate.limit and (rate.at(3.0).first, rate.second) == (0.5, 0.25)


def test_every_run_has_its_rate():
    rates = timing.learning_rate([0.5, 2.0], TIMES, 1.0)
    assert [float(rates.of_run((run,)).second) for run in range(2)] == [0.25, 4.0]


def test_a_schedule_has_a_rate_for_every_time():
    falling = timing.learning_rate(lambda t: jnp.exp(-t), TIMES, 1.0)
    np.testing.assert_allclose(falling.at(TIMES).second, np.exp(-2 * TIMES), rtol=1e-15)
    assert falling.at(np.float64(0.0)).first == 1.0


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (0, {"limit": False}, "learning_rate: got 0.*no limit"),
        ([1.0, 2.0], {"runs": False}, "learning_rate: got shape .*one number"),
        ([1.0, 0.0], {}, "learning_rate: got 0 in an array"),
        ([], {}, "learning_rate: got an empty array"),
        (lambda t: jnp.stack([t, t]), {}, "learning_rate: .*one number"),
        (lambda t: 1 if t > 0 else 2, {}, "learning_rate: .*jax.numpy"),
        (lambda t: 0.5 - t, {}, "learning_rate: got -"),
    ],
)
def test_what_is_no_learning_rate_is_refused(value, options, message):
    with pytest.raises(tl.InputError, match=message):
        timing.learning_rate(value, TIMES, 1.0, **options)
