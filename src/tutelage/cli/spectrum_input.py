"""What ``tutelage spectrum`` understands: sets of examples, layers, files."""

from pathlib import Path
from typing import TYPE_CHECKING

from tutelage._checks import InputError
from tutelage.cli import online_input

if TYPE_CHECKING:
    from tutelage.activations import Activation
    from tutelage.spectra import Examples

SETS = ("linear", "curved", "digits")
FILES = (".mat", ".npz", ".csv")


def check_files(out: Path | None, plot: Path | None, animation: Path | None) -> None:
    """Names that cannot be written."""
    online_input.check_files(out, plot)
    if animation is None:
        return
    if animation.suffix != ".gif":
        allowed, hint = "the name has to end in .gif", "--animation spectrum.gif"
        raise InputError("--animation", repr(str(animation)), allowed, hint)
    if not animation.absolute().parent.is_dir():
        allowed = f"there is no folder {str(animation.parent)!r}"
        raise InputError("--animation", repr(str(animation)), allowed)


def check_numbers(epochs: int, runs: int, seed: int, spectra: int, tolerance: float) -> None:
    """Positive epochs, runs and tolerance; spectra of at least 2 epochs, a seed of at least 0."""
    from tutelage._checks import finite_number, positive_integer

    positive_integer("--epochs", epochs, "--epochs 1000")
    positive_integer("--runs", runs, "--runs 5")
    finite_number("--tolerance", tolerance, above=0.0, hint="--tolerance 1e-12")
    if seed < 0:
        raise InputError("--seed", str(seed), "it has to be at least 0", "--seed 0")
    if spectra < 2:
        allowed = "the first and the last epoch are always watched"
        raise InputError("--spectra", str(spectra), allowed, "--spectra 5")


def examples(text: str, inputs: str, labels: str) -> "Examples":
    """One of the sets by name, or a file."""
    from tutelage import spectra

    if text in SETS:
        try:
            return {
                "linear": spectra.linear_examples,
                "curved": spectra.curved_examples,
                "digits": spectra.digits,
            }[text]()
        except ImportError as problem:
            raise InputError("--data", repr(text), str(problem)) from None
    if Path(text).suffix not in FILES:
        allowed = f"it has to be one of {', '.join(SETS)}, or a {', '.join(FILES)} file"
        raise InputError("--data", repr(text), allowed, "--data digits")
    return spectra.load_examples(text, inputs, labels)


def hidden(text: str) -> tuple[int, ...]:
    """``8,2`` as two layers."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        allowed = "it has to be the units of each hidden layer, with commas between them"
        raise InputError("--hidden", repr(text), allowed, "--hidden 8,2")
    return sizes


def activation(text: str) -> "Activation":
    """As for ``tutelage online``."""
    return online_input.activation_of("--activation", text)
