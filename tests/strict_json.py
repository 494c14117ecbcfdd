"""Output for programs: JSON only, and no JSON inside its texts."""

import json
from typing import Any


def check(text: str) -> Any:
    """The content of JSON without NaN, in which no text is JSON itself.

    But what stands in a paper, whose digits count: that is text under the name ``printed``.
    """
    content = json.loads(text, parse_constant=_refuse)
    _check(content)
    return content


def _refuse(token: str) -> None:
    raise AssertionError(f"{token} is not JSON")


def _check(content: Any) -> None:
    if isinstance(content, dict):
        content = [entry for name, entry in content.items() if name != "printed"]
    if isinstance(content, list):
        for entry in content:
            _check(entry)
    elif isinstance(content, str):
        try:
            json.loads(content)
        except ValueError:
            return
        raise AssertionError(f"{content!r} is JSON in a text")
