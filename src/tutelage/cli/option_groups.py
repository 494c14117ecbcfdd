"""Headings under which ``--help`` lists the options of a command."""

from collections.abc import Sequence
from typing import Any

GROUPS = {
    "Network": (
        *("student", "teacher", "activation", "teacher_activation", "teacher_norms"),
        *("output_scale", "readout", "teacher_readout", "units", "hidden", "multiple", "data"),
        *("inputs", "outputs", "polarity", "mode", "fixed"),
    ),
    "Start": ("start_q", "start_r", "corrected_start", "start_scale", "construction"),
    "Learning": (
        *("learning_rate", "until", "label_noise", "weight_decay", "drift", "readout_decay"),
        *("readout_rate", "batch", "optimizer", "momentum", "large_batch", "epochs", "examples"),
        *("evaluation", "dimension", "runs", "seed", "simulator", "load", "temperature"),
        *("approximation", "decay"),
    ),
    "Output": (
        *("as_json", "out", "plot", "plot_style", "animation", "checkpoint", "folder", "store"),
    ),
}
GENERAL = "What to compute"
SHORT = 8  # a command with fewer options has one list


def write_options(command: Any, context: Any, formatter: Any) -> None:
    """Write the options of a command under headings, those of its output last."""
    records = {
        parameter.name: record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None
    }
    if len(records) < SHORT:
        _write(formatter, "Options", list(records.values()))
        return
    general = [records.pop("help")] if "help" in records else []
    headings = [*list(GROUPS)[:-1], GENERAL, "Output"]
    of_name = {name: heading for heading, names in GROUPS.items() for name in names}
    for heading in headings:
        chosen = [r for name, r in records.items() if of_name.get(name, GENERAL) == heading]
        _write(formatter, heading, chosen + (general if heading == "Output" else []))


def _write(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_dl(rows)
