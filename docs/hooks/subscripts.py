"""Letters with an index in running text: Q_ik, α_c, e^{λα} get their subscripts and superscripts.

Code and formulas are left alone.
"""

import re

from tutelage.report.indices import with_indices

VERBATIM = ("code", "pre", "math", "script", "style", "summary")
TAG = re.compile(r"(<[^>]+>)")


def on_page_content(content: str, page, config, files) -> str:
    inside, parts = 0, []
    for part in TAG.split(content):
        name = re.match(r"</?(\w+)", part)
        if name and name[1] in VERBATIM:
            inside += -1 if part.startswith("</") else 1
        parts.append(part if name or inside else with_indices(part))
    return "".join(parts)
