"""The page as one HTML file that contains its scripts, styles and data.

A page opened from disk cannot import modules, so the scripts of ``static/`` are joined.  A module
has to import names in braces from modules in the same folder, one statement per line, and to export
functions, classes and constants where it declares them; it becomes a function that returns them.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
ENTRY_MODULE = "main.js"
IMPORT = re.compile(
    r'^import \{ (?P<names>[^}]*) \} from "\./(?P<module>\w+)\.js";\n', re.MULTILINE
)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (?P<name>\w+))", re.MULTILINE)
STYLE = re.compile(r'<link rel="stylesheet" href="/static/(?P<name>\S+)" (?P<rest>[^>]*)>')
SCRIPT = re.compile(
    r'<script src="/(?:plotly\.min|static/main)\.js".*?</script>\n|<link rel="modulepreload".*?>\n'
)
# Hashes of the inline styles set by Plotly: empty, superscripts, pixels of a heat map.
PLOTLY_STYLES = (
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "sha256-S+l+cz1wXqs2B0FcjqqT7NvjwGmhD1UjJswXjlSkj0s=",
    "sha256-AR/cKIZjWPcPmBUPDA6oti9XBiTbJvz0Cro2J1VzzS8=",
)


def page(data: dict[str, Any], plotly: str) -> str:
    """Return the whole page with its data, which sends no requests.

    data: views, grids of pictures, figures of papers and a note (`static/source.js` reads it).
    plotly: the script that draws.
    """
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    match = STYLE.search(html)
    assert match is not None
    style = (STATIC / match["name"]).read_text(encoding="utf-8")
    scripts = [_escaped(plotly), _escaped(bundle())]
    table = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, scripts)}">\n'
    html = html.replace("<link", f"{policy}<link", 1)
    html = html.replace(match.group(), f"<style {match['rest']}>{style}</style>")
    html = SCRIPT.sub("", html)
    # At the end of the body, after the data: an inline script runs as soon as it is read.
    ends = [f'<script type="application/json" id="data">{table}</script>']
    ends += [f"<script>{script}</script>" for script in scripts]
    return html.replace("</body>", "\n".join([*ends, "</body>"]))


def bundle() -> str:
    """Join the modules into one script, each before the modules that import it."""
    modules: dict[str, str] = {}
    _collect(ENTRY_MODULE, modules, ())
    return '"use strict";\n' + "\n".join(modules.values())


def _collect(name: str, modules: dict[str, str], importing: tuple[str, ...]) -> None:
    assert name not in importing, f"{name} imports itself by way of {importing}"
    text = (STATIC / name).read_text(encoding="utf-8")
    for match in IMPORT.finditer(text):
        if f"{match['module']}.js" not in modules:
            _collect(f"{match['module']}.js", modules, (*importing, name))
    modules[name] = _as_function(name.removesuffix(".js"), text)


def _as_function(name: str, text: str) -> str:
    exported = ", ".join(export["name"] for export in EXPORT.finditer(text))
    text = IMPORT.sub(r"const { \g<names> } = module_\g<module>;\n", text)
    body = EXPORT.sub("", text)
    left = re.search(r"^(import|export)\b.*", body, re.MULTILINE)
    assert left is None, f"{name}.js: {left and left.group()!r} has an unsupported form"
    return f"const module_{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _escaped(script: str) -> str:
    """Escape closing tags in a script, at which the browser would end it."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(style: str, scripts: list[str]) -> str:
    """Return the content security policy: only scripts and styles of the page itself."""
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    attributes = " ".join(f"'{text}'" for text in PLOTLY_STYLES)
    return (
        f"default-src 'none'; script-src {allowed}; style-src '{_hash(style)}'; "
        f"style-src-attr 'unsafe-hashes' {attributes}; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
