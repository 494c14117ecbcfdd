"""Quotations: output quoted in README and documentation, and numbers quoted from the papers.

The numbers of `PRINTED` were read from the papers, not from the sources, which have them too.

A fence without a language, or of "text", holds commands, or what something has printed: the code
block before it if "prints" stands between them, else the last command.  A command stands in a
fence, after "$ " with its output below, or indented.  A {code-block} is code that no test runs.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

PIECE = re.compile(
    r"^```(?:\{code-block\} )?(\w*)\n(.*?)^```$|^ {4}((?:tutelage|make) [^\n]+)$", re.S | re.M
)
# Formats and programs of others, which print nothing here.
SILENT = ("sh", "bibtex", "json", "console")
COMMAND = re.compile(r"(?:tutelage|make|pip|python3?|PYTHONPATH=\S+ python)\b")


class Quotation(NamedTuple):
    """What was printed, and by what: code (all blocks up to it, in order) or one command.

    Both are empty if nobody knows.
    """

    printed: str
    command: str = ""
    code: str = ""


def quotations(text: str) -> Iterator[Quotation]:
    """All output that a page quotes."""
    command, code, end = "", "", 0
    for piece in PIECE.finditer(text):
        between, end = text[end : piece.start()].strip(), piece.end()
        language, content, indented = piece.groups()
        if indented:
            command = indented
        elif language == "python":
            code = content
        elif language in SILENT:
            continue
        elif content.startswith("$ "):
            first, _, printed = content[2:].partition("\n")
            yield Quotation(printed, command=first)
        elif COMMAND.match(content):
            command = content.strip().splitlines()[-1]
        elif between == "prints":
            yield Quotation(content, code=code)
        else:
            yield Quotation(content, command=command)
            command = ""


# Digits as printed, by paper and place, in the order in which the place names them.
PRINTED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "oostwal2019": {
        "below eq. (12): ε_g at R = S = C = 0, ReLU": ("0.341",),
        "Sec. III A and III B: ε_g of the plateaus for K → ∞, erf and ReLU": ("0.0150", "0.091"),
        "Fig. 2, erf: α_c(2), α_s(5), α_c(5), α_d(5)": ("23.7", "44.3", "46.6", "62.8"),
        "Sec. III A, erf, K → ∞: α_s, α_c": ("60.99", "69.09"),
        "Fig. 3, ReLU: α_c(2), α_c(10)": ("6.1", "6.2"),
        "Sec. III B, ReLU, K → ∞: α_c": ("6.28",),
    },
    "straat2019": {
        "Sec. 4, Fig. 2: R_in, positive eigenvalues (one), λ_5, u_5": (
            *("0.52", "1", "0.24"),
            *("0.5", "-0.5", "-0.5", "0.5", "0.0", "0.0", "0.0"),
        ),
        "Sec. 4, Fig. 2: R_in, for the simulations": ("0.52",),
        "table above Fig. 3: Q_11, Q_12, Q_13, Q_22, Q_23, Q_33 (∞), each of ReLU and Erf": (
            *("1.00", "1.00"),
            *("0.00", "0.00"),
            *("0.00", "0.00"),
            *("0.24", "0.00"),
            *("0.25", "0.00"),
            *("0.27", "1.00"),
        ),
        "Sec. 4, Fig. 3: R_22 ≈ R_32, Q_22 ≈ Q_33 ≈ Q_23": ("0.5", "0.25"),
        "Sec. 4, Fig. 4: R_22 = R_23": ("0.94",),
    },
    "citton2025": {
        "Sec. 3: error not monotonic, plateau disappears, norms grow": (
            *("1.2175", "1.2545", "1.2575"),
        ),
        "Sec. 3: stable fixed points (two), with identical students (another one)": ("2", "1"),
    },
    "milletari2019": {
        "App. B: linearly separable examples, non-linear ones, digits": ("51", "863", "1797"),
    },
    "tian2020": {
        "Fig. 2, legends of iterations 0, 2, 10 and 29": (
            "0.03, 0.04, 0.04, 0.04, 0.04, 0.03",
            "1.73, 0.78, 0.24, 0.18, 2.12, 1.78",
            "2.27, 0.67, 0.01, 0.01, 2.19, 1.83",
            "2.27, 0.66, 0.01, 0.00, 2.19, 1.83",
        ),
        "Fig. 3, loss of all four titles": ("0.00",),
        "Fig. 7, logloss at p = 0.5, 1, 1.5, 2, 2.5": (
            *("-6.45", "-6.50", "-6.50", "-5.09", "-5.30"),
        ),
        "Fig. 8, average and greatest accuracy of 1x, 2x, 5x": (
            *("79.67", "80.15", "83.09", "83.48", "83.85", "84.18"),
        ),
        "Theorem 2: every observed teacher node is aligned": ("1.00",),
    },
}
NUMBERS = re.compile(r"[-−]?\d+(?:\.\d+)?(?:, [-−]?\d+(?:\.\d+)?)*")


def quoted_numbers(source: str) -> list[tuple[str, ...]]:
    """Numbers that a module of a paper quotes as text, for each function or table in turn.

    A number is what `digits` is given, and any other text of digits with a point or of two digits
    and more.  Formulas, numbers of a method, and keywords such as a colour are no quotations.
    """
    groups = (_numbers_of(statement) for statement in ast.parse(source).body)
    return [group for group in groups if group]


def _numbers_of(statement: ast.stmt) -> tuple[str, ...]:
    nodes = list(ast.walk(statement))
    calls = [node for node in nodes if isinstance(node, ast.Call)]

    def inside(*names: str) -> set[int]:
        named = [call for call in calls if getattr(call.func, "id", "") in names]
        return {id(node) for call in named for node in ast.walk(call)}

    others = inside("closed_form", "method")
    others |= {id(word.value) for word in nodes if isinstance(word, ast.keyword)}
    short = inside("digits")
    results = [
        (node.lineno, node.col_offset, node.value)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and NUMBERS.fullmatch(node.value)
        and id(node) not in others
        and (id(node) in short or len(node.value.lstrip("-−")) > 1)
    ]
    return tuple(text for *_, text in sorted(results))


def columns(text: str, header: str) -> Iterator[list[str]]:
    """The cells below a header, for each table of a page that has it."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        head, _, *rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in table.splitlines()]
        if header in head:
            yield [row[head.index(header)] for row in rows]
