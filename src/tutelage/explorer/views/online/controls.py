"""Parameters of the view of on-line learning."""

from tutelage.explorer import units
from tutelage.explorer.parameters import Parameter, integer, number
from tutelage.model.numbers import NUMBERS

SAME_AS_STUDENT = "same"
STUDENT, TEACHER, START, NOISE, TIME, FINITE = (
    *("Student", "Teacher", "Start", "Noise", "Time"),
    "Finite networks",
)
READOUT = "one number per unit, separated by commas; empty: all are 1"
IF_RANDOM, IF_GIVEN = {"start": ["random"]}, {"start": ["given"]}

PARAMETERS: list[Parameter] = [
    integer("K", "hidden units of the student", "K", "units that learn", STUDENT, 2, 1, 5),
    units.choice("activation", "activation of the student", STUDENT, "erf"),
    *units.parameters("activation", STUDENT),
    number("learning_rate", "learning rate", "η", "size of a learning step; 0 is the limit η → 0",
           STUDENT, 1.0, 1e-3, 20.0, scale="log", zero=True),
    integer("batch", "examples for each step", "b", "each step uses the mean of their gradients",
            STUDENT, 1, 1, 1000, scale="log"),
    Parameter("readout", "second layer of the student", "v", READOUT, STUDENT, "text", ""),
    number("readout_rate", "learning rate of the second layer", "η_v", "0: it is fixed",
           STUDENT, 0.0, 1e-3, 20.0, scale="log", zero=True),
    integer("M", "hidden units of the teacher", "M", "units of the teacher", TEACHER, 2, 1, 5),
    units.choice("teacher_activation", "activation of the teacher", TEACHER, SAME_AS_STUDENT,
                 ((SAME_AS_STUDENT, "as the student"),)),
    *units.parameters("teacher_activation", TEACHER, "teacher_"),
    number("teacher_norm", "squared norm of the first teacher", "T₁₁", "length of its weights",
           TEACHER, 1.0, 0.01, 10.0, scale="log"),
    number("teacher_norm_last", "squared norm of the last teacher", "T_MM",
           "the norms of the teachers between are equally spaced", TEACHER, 1.0, 0.01, 10.0,
           scale="log"),
    number("teacher_cosine", "cosine of the angle between teachers", "cos θ",
           "equal for all pairs; 0: orthogonal teachers", TEACHER, 0.0, -0.9, 0.99, step=0.01),
    Parameter("teacher_readout", "second layer of the teacher", "v*", READOUT, TEACHER, "text", ""),
    Parameter("start", "start", "", "given overlaps, or overlaps of random weights", START,
              "choice", "given",
              choices=(("given", "given overlaps"), ("random", "random weights"))),
    number("start_q", "squared norm of the first student", "Q₁₁", "at α = 0", START,
           0.2, 1e-4, 10.0, scale="log", shown_when=IF_GIVEN),
    number("start_q_last", "squared norm of the last student", "Q_KK",
           "at α = 0; norms between are equally spaced", START, 0.3, 1e-4, 10.0, scale="log",
           shown_when=IF_GIVEN),
    number("start_r", "asymmetry", "R_ii", "overlap of student i with teacher i at α = 0", START,
           1e-3, 1e-12, 1.0, scale="log", zero=True, shown_when=IF_GIVEN),
    Parameter("start_first", "only the first pair begins with an overlap", "R₁₁",
              "only R₁₁ differs from 0", START, "toggle", False,
              shown_when=IF_GIVEN),
    Parameter("start_norms", "squared norms of all students", "Q_ii", "one per student, separated "
              "by commas; empty: equally spaced from the first to the last", START,
              "text", "", shown_when=IF_GIVEN),
    integer("start_dimension", "inputs of the random weights", "N", "overlaps are of order 1/√N",
            START, 1000, 20, 10**9, scale="log", shown_when=IF_RANDOM),
    number("start_norm", "norm of the random weights", "|J|", "typical length at α = 0", START,
           0.5, 0.01, 3.0, shown_when=IF_RANDOM, step=0.01),
    integer("start_seed", "seed of the start", "", "another seed gives other weights", START,
            0, 0, 9999, shown_when=IF_RANDOM),
    *(number(n.name, n.title, n.symbol, n.help[:1].lower() + n.help[1:].rstrip("."), NOISE,
             n.default, *n.slider, scale="log", zero=n.default == 0) for n in NUMBERS),
    number("until", "last time", "α", "examples for each input", TIME, 200.0, 1.0, 1e5,
           scale="log"),
    integer("dimension", "inputs of the networks", "N", "number of inputs of the finite networks",
            FINITE, 1000, 20, 10**6, scale="log", of_runs=True),
    integer("runs", "number of networks", "", "same start, different examples", FINITE,
            5, 1, 50, of_runs=True),
    integer("seed", "seed of the examples", "", "another seed, other examples", FINITE, 0, 0, 9999,
            of_runs=True),
]  # fmt: skip
