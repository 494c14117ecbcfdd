"""States are validated once, before anything is computed."""

import math

import pytest
from hypothesis import given, settings, strategies as st

import tutelage as tl
from tutelage.explorer.parameters import state_of
from tutelage.explorer.views import VIEWS, described

EVERY = [(view, parameter) for view in VIEWS.values() for parameter in view.PARAMETERS]
RESERVED = {
    "view",
    "client",
    "slot",
    "number",
    "part",
    "format",
    "compare",
    "frame",
    "axes",
    "token",
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_described_whole(name):
    message = described(VIEWS[name])
    for parameter in message["parameters"]:
        assert parameter["name"] not in RESERVED
        assert parameter["label"] and parameter["help"] and parameter["group"]
        if parameter["kind"] in ("number", "integer"):
            assert parameter["minimum"] < parameter["maximum"]
        if parameter["scale"] == "log":
            assert parameter["minimum"] > 0
        for other, values in parameter.get("shown_when", {}).items():
            (named,) = [p for p in VIEWS[name].PARAMETERS if p.name == other]
            assert all(named.read(str(value).lower() if value is True or value is False else value)
                       == value for value in values)  # fmt: skip


@pytest.mark.parametrize(
    ("view", "parameter"), EVERY, ids=lambda x: getattr(x, "name", x.__class__)
)
def test_what_is_written_is_read_again(view, parameter):
    value = parameter.default
    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert state_of(view.PARAMETERS, {parameter.name: text}) == state_of(view.PARAMETERS, {})


@settings(max_examples=200)
@given(st.integers(0, len(EVERY) - 1), st.one_of(st.text(max_size=40), st.floats().map(repr),
                                         st.integers().map(str)))  # fmt: skip
def test_any_text_is_a_value_within_limits_or_refused(number, text):
    view, parameter = EVERY[number]
    try:
        value = state_of(view.PARAMETERS, {parameter.name: text})[parameter.name]
    except tl.InputError as problem:
        assert problem.argument == parameter.name
        return
    if parameter.kind in ("number", "integer"):
        assert math.isfinite(value)
        inside = parameter.minimum <= value <= parameter.maximum
        assert inside or (parameter.zero and value == 0)


def test_an_unknown_name_is_refused():
    with pytest.raises(tl.InputError, match=r"learning_rat.*Try: learning_rate"):
        state_of(VIEWS["online"].PARAMETERS, {"learning_rat": "1"})
