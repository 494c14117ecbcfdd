"""What has to be known to compute a result again, as plain text."""

import json
import platform
from typing import Any

import numpy as np

from tutelage import __version__
from tutelage._jax import jax
from tutelage.activations import Activation
from tutelage.model import Committee, Overlaps, Scenario


def parameters(
    computed_by: str, scenario: Scenario, start: Overlaps, learning_rate: Any, **options: Any
) -> dict[str, Any]:
    """Attributes of a Dataset: who computed it, scenario and start as JSON, options, versions.

    computed_by: the public function, such as "online.evolve".
    options: numbers and texts that the function needs to compute the same again.
    """
    rate = getattr(learning_rate, "__name__", "schedule") if callable(learning_rate) else None
    return {
        "computed_by": computed_by,
        "scenario": json.dumps(
            {
                "student": _committee(scenario.student),
                "teacher": _committee(scenario.teacher),
                "teacher_overlaps": np.asarray(scenario.T).tolist(),
                "output_scale": [float(s) for s in scenario.output_scale],
                "label_noise": float(scenario.label_noise),
                "weight_decay": float(scenario.weight_decay),
            }
        ),
        "start": json.dumps({k: np.asarray(getattr(start, k)).tolist() for k in ("Q", "R", "T")}),
        "learning_rate": rate or json.dumps(np.asarray(learning_rate).tolist()),
        **{name: "default" if value is None else value for name, value in options.items()},
        "tutelage_version": __version__,
        "jax_version": jax.__version__,
        "python_version": platform.python_version(),
    }


def _committee(committee: Committee) -> dict[str, Any]:
    return {"units": committee.units, "activation": activation_name(committee.activation)}


def activation_name(g: Activation) -> str:
    """The activation with all digits of its parameter, where that is all there is to it.

    >>> import tutelage as tl
    >>> activation_name(tl.Swish(1 / 3))
    'Swish(0.3333333333333333)'
    """
    numbers = [float(x) for x in vars(g).values() if isinstance(x, int | float)]
    only = len(numbers) == len(vars(g)) == 1
    return f"{type(g).__name__}({numbers[0]!r})" if only else g.name
