"""Identical students: the equivalent scenario with one student, and how students separate.

K identical students with equal readouts v_c stay identical, and move like one student with the
readouts K v_c at the learning rate η/K: its δ is K times as large, so that η⟨δ y_n⟩ and η²⟨δ²⟩ are
unchanged.  Readouts that learn do so at K η_v, as K times their change is needed.

Beside such a state the squared distance ν = |J_i - J_k|² of two students obeys

    dν/dα = η²⟨(δ_i - δ_k)²⟩ + 2η⟨(δ_i - δ_k)(x_i - x_k)⟩.

The first average counts the inputs for which only one of the two is beyond a kink of g.  There
are O(√ν) of them, so that dν/dα = c √ν + O(ν): no Jacobian exists, for any η > 0.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from tutelage.model import Committee, Scenario
from tutelage.model.layout import Layout, layout_of
from tutelage.model.numbers import in_units_of_time, numbers_of
from tutelage.model.timing import Rate, rate_of
from tutelage.online.flow import Flow
from tutelage.online.linearization import rates_and_jacobian, second_order
from tutelage.online.stationary.points import FixedPoint, describe


def merged(scenario: Scenario, rate: Rate) -> tuple[Scenario, Rate]:
    """Return the equivalent scenario with a single student, and its learning rate."""
    K = scenario.K
    # The limit η → 0 counts time in units of 1/η, which has become K times as long.
    unit = K if rate.limit else 1
    single = Scenario(
        Committee(1, scenario.student.activation, K * scenario.student.weights[:, :1]),
        scenario.teacher,
        scenario.T,
        **in_units_of_time(numbers_of(scenario), unit),
    )
    return single, rate if rate.limit else rate_of(rate.first / K)


def flow_of_one(flow: Flow, single: Scenario) -> Flow:
    """Return the equations of the single student; its η_v/η is K² times that of the scenario."""
    ratio = float(flow.readout_rate) * flow.scenario.K**2
    return Flow(single, flow.method, batch=int(flow.batch), readout_rate=ratio)


def embedding(layout: Layout) -> Float[np.ndarray, "v d"]:
    """Return the matrix from (R_n, Q, K v_c) of one student to the state of K identical ones."""
    K, M, outputs = (layout.sizes[name] for name in ("student", "teacher", "output"))
    single = layout_of(1, M, outputs)
    columns = single.arrays(np.arange(single.size))
    every = {
        b.name: np.broadcast_to(columns[b.name], [layout.sizes[name] for name in b.dimensions])
        for b in layout.blocks
    }
    # A second layer of K units has K v_c in the place of v_c.
    scale = K ** -layout.factors("second layer")
    return scale[:, None] * np.eye(single.size)[layout.vector(every)]


def are_identical(Q: Float[np.ndarray, "K K"], v: Float[np.ndarray, "outputs K"]) -> bool:
    """Return whether all |J_i - J_k|² vanish up to rounding and all readouts are equal."""
    equal_readouts = np.all(np.ptp(v, axis=-1) <= 1e-9 * np.max(np.abs(v)))
    return len(Q) > 1 and bool(equal_readouts and np.ptp(Q) < 1e-9 * np.max(np.abs(Q)))


def splits_instantly(flow: Flow, rate: Rate) -> bool:
    """Return whether the rates have no derivative at identical students, so that they separate at
    once.
    """
    return not rate.limit and len(flow.scenario.student.activation.kinks) > 0


def describe_identical(flow: Flow, rate: Rate, z: Float[np.ndarray, " d"]) -> FixedPoint:
    """Describe the fixed point at which all K students equal z = (R_n, Q, K v_c)."""
    K, layout = flow.scenario.K, flow.layout
    y = embedding(layout) @ z
    f = rates_and_jacobian(flow, rate, y)[0]
    # The rates of Q_ik for i != k contain √ν of rounding errors, which are no error of z.
    left = np.delete(f, layout.positions("Q")[np.triu_indices(K, 1)])
    point = describe(flow, rate, y, float(np.max(np.abs(left)) / max(1.0, np.max(np.abs(y)))))
    if not splits_instantly(flow, rate):
        return point
    # One infinite eigenvalue for each pair of students; the others belong to directions orthogonal
    # to the singular part, and are finite.
    values = point.eigenvalues.copy()
    values[: K * (K - 1) // 2] = np.inf
    return replace(point, eigenvalues=values, splitting=splitting(flow, rate.first, y))


def splitting(flow: Flow, eta: float, y: Float[np.ndarray, " v"]) -> float:
    """Compute c = lim (dν/dα)/√ν for two students that separate orthogonally to all weights."""
    (q11, q12), (_, q22) = flow.layout.positions("Q")[:2, :2]
    rates = []
    for h in (4e-3, 2e-3, 1e-3):  # √ν; the ratio is a power series in h
        disturbed = y.copy()
        disturbed[q12] -= 0.5 * h**2 * y[q11]
        f = second_order(flow, disturbed)[0]
        rates.append(eta**2 * (f[q11] + f[q22] - 2 * f[q12]) / (h * np.sqrt(y[q11])))
    a, b, c = rates
    return float((8 * c - 6 * b + a) / 3)
