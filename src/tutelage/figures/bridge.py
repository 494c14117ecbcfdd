"""A training of the user's, and the equations from the same weights."""

from typing import Any

from tutelage._checks import InputError, shown
from tutelage.figures.axes import drawing
from tutelage.figures.online import learning_curves


@drawing
def prediction(found: Any) -> Any:
    """Draw what `tutelage.bridge.predict` has found: the run on the equations, where they part.

    Returns:
        Three Axes, as `learning_curves`: lines are the equations, symbols the run.  A line marks
        where they part, if they do; above stand the verdict and what speaks for a reason.
    """
    from tutelage.bridge.prediction import Prediction  # not loaded to draw anything else

    if not isinstance(found, Prediction):
        allowed = "it has to be a Prediction"
        raise InputError("found", shown(found), allowed, "tl.bridge.predict(record)")
    record = found.record.assign_coords(time=found.record["time"] - found.record["time"][0])
    axes = learning_curves(record, found.theory)
    if found.parts_at is not None:
        for place in axes:
            place.axvline(found.parts_at - float(found.record["time"][0]), color="grey", ls="--")
    likely = [cause.brief for cause in found.causes if cause.likely]
    axes[0].figure.suptitle("\n".join([found.verdict, *likely]), fontsize="small")
    return axes
