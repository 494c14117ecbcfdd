"""What ``tutelage online`` understands: names, numbers between commas, ranges, files."""

from pathlib import Path
from typing import TYPE_CHECKING

from tutelage._checks import InputError

if TYPE_CHECKING:
    import numpy as np

    from tutelage.activations import Activation
    from tutelage.model import Overlaps, Scenario

UNITS = {
    "relu": "ReLU",
    "leaky": "LeakyReLU",
    "linear": "Linear",
    "erf": "Erf",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "swish": "Swish",
    "gelu": "GELU",
    "softplus": "Softplus",
}
PICTURES = (".png", ".pdf", ".svg")
FIRST_NORMS = (0.2, 0.3)  # of the first and the last student: different, so that they can part


def check_files(out: Path | None, plot: Path | None) -> None:
    """Names that cannot be written are refused before anything is computed."""
    for option, path, endings in (("--out", out, (".nc",)), ("--plot", plot, PICTURES)):
        if path is None:
            continue
        if path.suffix not in endings:
            allowed = f"the name has to end in {' or '.join(endings)}"
            raise InputError(option, repr(str(path)), allowed, f"{option} run{endings[0]}")
        if not path.absolute().parent.is_dir():
            raise InputError(option, repr(str(path)), f"there is no folder {str(path.parent)!r}")


def scenario(
    sizes: tuple[int, int],
    units: tuple[str, str],
    teacher_norms: str | None,
    output_scale: str,
    label_noise: float,
    weight_decay: float,
) -> "Scenario":
    import numpy as np

    from tutelage.model import Committee, Scenario

    for option, size in zip(("--student", "--teacher"), sizes, strict=True):
        if size < 1:
            raise InputError(option, str(size), "a network has at least one unit", f"{option} 2")
    student, teacher = (
        Committee(size, activation_of(option, name))
        for option, size, name in zip(
            ("--activation", "--teacher-activation"), sizes, units, strict=True
        )
    )
    norms = _numbers("--teacher-norms", teacher_norms or "1", (1, teacher.units))
    scale = _numbers("--output-scale", output_scale, (1, 2))
    return Scenario(
        student,
        teacher,
        np.diag(np.broadcast_to(norms, teacher.units)),
        output_scale=tuple(scale) if len(scale) == 2 else scale[0],
        label_noise=label_noise,
        weight_decay=weight_decay,
    )


def start(scenario: "Scenario", start_q: str | None, start_r: str) -> "Overlaps":
    """Q_ik = 0 for i ≠ k and R_in = 0 for i ≠ n: students that have seen nothing yet."""
    import numpy as np

    from tutelage.model import Overlaps

    K, M = scenario.K, scenario.M
    q = np.linspace(*FIRST_NORMS, K)
    if start_q is not None:
        q = np.broadcast_to(_numbers("--start-q", start_q, (1, K)), K)
    shared = min(K, M)
    R = np.zeros((K, M))
    R[range(shared), range(shared)] = _numbers("--start-r", start_r, (1, shared))
    return Overlaps(Q=np.diag(q), R=R, T=scenario.T)


def activation_of(option: str, text: str) -> "Activation":
    from tutelage import activations

    name, colon, parameter = text.partition(":")
    if name.lower() not in UNITS:
        allowed = f"it has to be one of {', '.join(UNITS)}"
        raise InputError(option, repr(text), allowed, f"{option} leaky:0.1")
    kind = getattr(activations, UNITS[name.lower()])
    arguments = _numbers(option, parameter, (1,)) if colon else []
    try:
        return kind(*arguments)
    except TypeError:
        raise InputError(option, repr(text), f"{name} has no parameter", name) from None


def _numbers(option: str, text: str, lengths: tuple[int, ...]) -> list[float]:
    """Numbers between commas, as many as one of the lengths."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in lengths:
        wanted = " or ".join(str(n) for n in sorted(set(lengths)))
        example = ",".join(["1"] * max(lengths))
        allowed = f"it has to be {wanted} number(s), with commas between them"
        raise InputError(option, repr(text), allowed, f"{option} {example}")
    return numbers


def sweep(
    option: str, text: str, example: str = "0.1:1.2:12", from_zero: bool = False
) -> "np.ndarray":
    """``FIRST:LAST:COUNT`` as so many equidistant numbers."""
    import numpy as np

    try:
        first, last, count = text.split(":")
        numbers = np.linspace(float(first), float(last), int(count))
    except ValueError:
        numbers = np.array([])
    below = "<=" if from_zero else "<"
    in_order = len(numbers) > 1 and bool(np.all(np.isfinite(numbers))) and numbers[0] < numbers[-1]
    if not in_order or numbers[0] < 0 or (numbers[0] == 0 and not from_zero):
        allowed = f"FIRST:LAST:COUNT needs 0 {below} FIRST < LAST and a COUNT of at least 2"
        raise InputError(option, repr(text), allowed, f"{option} {example}")
    return numbers
