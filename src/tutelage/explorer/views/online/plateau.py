"""Details that take longer than a curve: plateau, eigenvalues, critical learning rates."""

from typing import TYPE_CHECKING, Any

from tutelage.explorer.parameters import State
from tutelage.explorer.pictures import Axis, LabelledNumber, Mark, Panel, Picture, Trace, estimate
from tutelage.explorer.views.online.setting import scenario_of, start_of

if TYPE_CHECKING:
    from tutelage.model import Overlaps, Scenario

# Parameters that do not change the plateau details.
NOT_IN_KEY = ("learning_rate", "readout_rate", "until", "dimension", "runs", "seed")
MAX_CACHED = 50
CACHE: dict[tuple[Any, ...], Any] = {}
CRITICAL = {
    "non_monotonic": "the error is not monotonic",
    "plateau_vanishes": "the plateau does not exist",
    "loses_stability": "the final state is unstable",
    "diverges": "the norms diverge",
}


def details(state: State) -> Picture:
    """Return the plateau with its eigenvalues, and the critical learning rates."""
    scenario = scenario_of(state)
    picture = plateau_of(state)
    rates = _rates(state, scenario, start_of(state, scenario))
    picture.numbers += _rate_numbers(rates)
    picture.slider_marks = {"learning_rate": _rate_marks(rates)}
    return picture


def plateau_of(state: State) -> Picture:
    """Return the plateau with its eigenvalues, for exported pages."""
    import tutelage as tl

    scenario = scenario_of(state)
    steps = {name: state[name] for name in ("readout_rate", "batch")}
    plateau = tl.online.plateau(
        scenario, start_of(state, scenario), state["learning_rate"], **steps
    )
    picture = Picture(numbers=_plateau_numbers(plateau))
    if plateau.point is not None:
        picture.panels = [_eigenvalues(plateau.point)]
        picture.panel_marks = _plateau_marks(plateau)
    return picture


def _rates(state: State, scenario: "Scenario", start: "Overlaps") -> Any:
    """Return the critical learning rates, which do not depend on the learning rate."""
    import tutelage as tl

    # The key contains the rate of the second layer in units of η.
    ratio = state["readout_rate"] / (state["learning_rate"] or 1.0)
    key = (ratio, *(x for name, x in state.items() if name not in NOT_IN_KEY))
    if key not in CACHE:
        if len(CACHE) >= MAX_CACHED:
            CACHE.clear()
        steps = {"readout_rate": ratio, "batch": state["batch"]}
        CACHE[key] = tl.online.critical_learning_rates(scenario, start, **steps)
    return CACHE[key]


def _plateau_marks(plateau: Any) -> dict[str, list[Mark]]:
    ends = [Mark("x", plateau.begins, "plateau begins"), Mark("x", plateau.ends, "plateau ends")]
    height = Mark("y", float(plateau.height.value), "height of the plateau")
    return {"error": [*ends, height], "overlaps": ends}


def _plateau_numbers(plateau: Any) -> list[LabelledNumber]:
    why = plateau.reasons
    return [
        estimate("height of the plateau", "ε_g", plateau.height, why.get("height")),
        estimate("length of the plateau", "Δα", plateau.length, why.get("length")),
    ]


def _rate_numbers(rates: Any) -> list[LabelledNumber]:
    return [
        estimate(
            f"learning rate above which {words}", "η", getattr(rates, name), rates.reasons.get(name)
        )
        for name, words in CRITICAL.items()
    ]


def _rate_marks(rates: object) -> list[dict[str, Any]]:
    estimates = {name: getattr(rates, name) for name in CRITICAL}
    return [
        {"at": float(rate.value), "label": f"from here on {CRITICAL[name]}"}
        for name, rate in estimates.items()
        if rate is not None
    ]


def _eigenvalues(point: Any) -> Panel:
    values = point.eigenvalues
    leads = int((values.real > 0).sum())
    description = f"{len(values)} eigenvalues of the saddle; {leads} with a positive real part."
    trace = Trace("λ of the saddle", "error", values.real, values.imag, kind="points")
    x, y = Axis("Re λ", "Re λ"), Axis("Im λ", "Im λ")
    zero = [Mark("x", 0.0, "λ > 0: growth")]
    return Panel("eigenvalues", "Eigenvalues of the plateau", description, x, y, [trace], zero)
