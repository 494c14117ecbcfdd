"""Options that ``tutelage online`` and ``tutelage simulate`` share: who learns, from whom."""

from pathlib import Path
from typing import Annotated

import typer

from tutelage.cli.online_input import UNITS

Student = Annotated[int, typer.Option(metavar="K", help="Hidden units of the student.")]
Teacher = Annotated[int, typer.Option(metavar="M", help="Hidden units of the teacher.")]
Unit = Annotated[
    str,
    typer.Option(
        metavar="NAME[:PARAMETER]",
        help=f"What a unit does: {', '.join(UNITS)}; such as leaky:0.1 with its slope.",
    ),
]
TeacherUnit = Annotated[
    str | None,
    typer.Option(metavar="NAME[:PARAMETER]", help="The same as the student's when left out."),
]
Until = Annotated[
    float, typer.Option(metavar="ALPHA", help="The last time, in examples per input.")
]
TeacherNorms = Annotated[
    str | None,
    typer.Option(metavar="T11,T22,...", help="Squared norms of the teachers; 1 by default."),
]
StartQ = Annotated[
    str | None,
    typer.Option(
        metavar="Q11,Q22,...",
        help="Squared norms of the students at time 0; from 0.2 to 0.3 by default.",
    ),
]
StartR = Annotated[
    str,
    typer.Option(
        metavar="R11,R22,...", help="Overlaps R_ii at time 0; one number is meant for all."
    ),
]
OutputScale = Annotated[
    str,
    typer.Option(metavar="S | SK,SM", help="Factor of the outputs, or one for each network."),
]
LabelNoise = Annotated[
    float, typer.Option(metavar="STD", help="Standard deviation of noise on the labels.")
]
WeightDecay = Annotated[float, typer.Option(metavar="GAMMA", help="Pull of the weights to zero.")]
Json = Annotated[bool, typer.Option("--json", help="Print the curves instead of a table.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE.nc", help="Save the curves as NetCDF.")]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE.png", help="Draw overlaps and error; also .pdf or .svg."),
]
