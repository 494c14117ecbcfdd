"""Students that are all the same: a scenario with one student, and why they part.

K identical students stay identical, and move like one student with the output K s_K g(x) at the
learning rate η/K: its δ is K times as large, so that η⟨δ y_n⟩ and η²⟨δ²⟩ are what they were.

Beside such a state the squared distance ν = |J_i - J_k|² of two students obeys

    dν/dα = η²⟨(δ_i - δ_k)²⟩ + 2η⟨(δ_i - δ_k)(x_i - x_k)⟩.

The first average counts the inputs for which only one of the two is beyond a kink of g.  There
are O(√ν) of them, so that dν/dα = c √ν + O(ν): no Jacobian exists, for any η > 0.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tutelage.model import Committee, Scenario
from tutelage.model.layout import Layout
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import rates_and_jacobian, second_order
from tutelage.online.stationary import FixedPoint, describe


def one_for_all(scenario: Scenario, rate: Rate) -> tuple[Scenario, Rate]:
    """The scenario with a single student, and its learning rate."""
    K, (s_K, s_M) = scenario.K, scenario.output_scale
    # The limit η → 0 counts time in units of 1/η, which has become K times as long.
    unit = K if rate.limit else 1
    single = Scenario(
        Committee(1, scenario.student.activation),
        scenario.teacher,
        scenario.T,
        output_scale=(K * s_K, s_M),
        label_noise=scenario.label_noise,
        weight_decay=scenario.weight_decay * unit,
        drift=scenario.drift * unit,
    )
    return single, rate if rate.limit else rate_of(rate.first / K)


def embedding(K: int, M: int) -> Float[np.ndarray, "v M+1"]:
    """The matrix that turns (R_n, Q) of one student into the vector of K identical ones."""
    return np.vstack([np.eye(M + 1)[:M]] * K + [np.eye(M + 1)[M:]] * (K * (K + 1) // 2))


def are_identical(Q: Float[np.ndarray, "K K"]) -> bool:
    """All |J_i - J_k|² vanish up to rounding."""
    return len(Q) > 1 and bool(np.ptp(Q) < 1e-9 * np.max(np.abs(Q)))


def part_at_once(flow: Flow, rate: Rate) -> bool:
    """True if the rates have no derivative at identical students."""
    return not rate.limit and len(flow.scenario.student.activation.kinks) > 0


def describe_identical(flow: Flow, rate: Rate, z: Float[np.ndarray, " M+1"]) -> FixedPoint:
    """The fixed point with K students that are all z = (R_n, Q)."""
    K, layout = flow.scenario.K, Layout(flow.scenario.K, flow.scenario.M)
    y = embedding(K, flow.scenario.M) @ z
    f = rates_and_jacobian(flow, rate, y)[0]
    # Rounding of ν is seen under a root in Q_ik for i != k, which says nothing about z.
    left = [*f[layout.R], *f[layout.diagonal]]
    point = describe(flow, rate, y, float(np.max(np.abs(left)) / max(1.0, np.max(np.abs(y)))))
    if not part_at_once(flow, rate):
        return point
    # One direction for each pair of students; the others are orthogonal to the singular part,
    # and finite.
    values = point.eigenvalues.copy()
    values[: K * (K - 1) // 2] = np.inf
    return replace(point, eigenvalues=values, splitting=splitting(flow, rate.first, y))


def splitting(flow: Flow, eta: float, y: Float[np.ndarray, " v"]) -> float:
    """c = lim (dν/dα)/√ν for two students that part in a direction orthogonal to all vectors."""
    (q11, q12), (_, q22) = Layout(flow.scenario.K, flow.scenario.M).pairs[:2, :2]
    rates = []
    for h in (4e-3, 2e-3, 1e-3):  # √ν; the ratio is a power series in h
        apart = y.copy()
        apart[q12] -= 0.5 * h**2 * y[q11]
        f = second_order(flow, apart)[0]
        rates.append(eta**2 * (f[q11] + f[q22] - 2 * f[q12]) / (h * np.sqrt(y[q11])))
    a, b, c = rates
    return float((8 * c - 6 * b + a) / 3)
