"""Escape from an unspecialized saddle: its rate λ and the distribution of times.

In the limit η → 0 the saddle of K students of K teachers has Q_ii = Q, Q_ik = C and all R_in = R.
With k(R) = ⟨g(x) g(y)⟩ for fields of variances Q and 1, and k_C for two of variance Q, runs leave
it along δR_in = u_i v_n with Σ_i u_i = Σ_n v_n = 0, at the rate

    λ = k''(R) − k'(R)/R + K k_C'(C),

which is 0 for linear units: k = c_1² R, R = 1/K.  The first Hermite coefficient beyond the linear
one decides its size, c_2 of units with an even part and c_3 of odd ones.

Two students without a preference, R = 0, would stay at the saddle for ever if N were infinite.
The first examples leave a preference of size 1/√N, a normal number Z, which grows as e^{λα} next
to the saddle with its one positive eigenvalue λ.  A run has left when the preference reaches a
given size, after T = τ + ln N/(2λ) − ln|Z|/λ: from the median m on,

    P(T < t) = P(|Z| > z_½ e^{−λ(t − m)}),    m = const. + ln N/(2λ),    z_½ = 0.6745,

a law whose width does not depend on N, and whose middle half is ln(z_¾/z_¼)/λ = 1.2838/λ wide.
"""

import math

import numpy as np
from scipy.special import erfc, erfinv

MEDIAN_OF_Z = math.sqrt(2) * float(erfinv(0.5))  # median of |Z| for a normal number Z
_QUARTILES = tuple(math.sqrt(2) * float(erfinv(q)) for q in (0.25, 0.75))
# Width of the middle half of all escape times, in units of 1/λ.
MIDDLE_HALF = math.log(_QUARTILES[1] / _QUARTILES[0])


def escape_probability(time: np.ndarray, growth: float) -> np.ndarray:
    """Compute P(T < t), the probability that a run has escaped; t is counted from the median.

    >>> float(escape_probability(np.array(0.0), 0.1)).__round__(12)
    0.5
    """
    return erfc(MEDIAN_OF_Z * np.exp(-growth * time) / math.sqrt(2))


def relu_readout_factor(v: np.ndarray) -> float:
    """Compute λ/λ_0, the escape rate of two ReLU students with readouts v over that with v = 1.

    v_i² - κ Q_ii is conserved, as g(x) = x g'(x), so that v grows with the norms.  v_i w_i moves as
    the weights of a committee do, v_i² times as fast; with the sum of both fixed, which assumes
    that wrong outputs are corrected at once,

        λ/λ_0 = 2/(1/v_1² + 1/v_2²).

    >>> relu_readout_factor(np.array([2.0, 2.0]))
    4.0
    """
    return float(len(v) / np.sum(1 / v**2))


def erf_readout_factor(v: np.ndarray) -> float:
    """Compute λ/λ_0, the escape rate of two erf students with readouts v over that with v = 1.

    Students are identical at the saddle, v_1 + v_2 = 2, and w_i moves v_i times as fast; with
    v_1 w_1 + v_2 w_2 fixed,

        λ/λ_0 = v_1 v_2 (v_1 + v_2)/(v_1² + v_2²) <= 1.

    >>> erf_readout_factor(np.array([1.0, 1.0])), erf_readout_factor(np.array([0.5, 1.5]))
    (1.0, 0.6)
    """
    return float(np.prod(v) * np.sum(v) / np.sum(v**2))
