"""Sphinx configuration: `make docs` writes the pages to site/."""

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
# Addresses that are not decided yet are empty: what would need them is left out of the pages.
ADDRESSES = PROJECT["tool"]["tutelage"]["addresses"]

sys.path.insert(0, str(DOCS / "extensions"))

tutelage_addresses = ADDRESSES

project = "tutelage"
author = "The tutelage authors"
copyright = author
version = release = PROJECT["project"]["version"]
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    # Our own, in docs/extensions
    "addresses",
    "explorer_page",
    "gallery",
    "indices",
    "maths",
    "names",
    "api_reference",
    "symbol_search",
]
exclude_patterns = ["extensions", "pictures", "**.ipynb_checkpoints"]
suppress_warnings = ["myst.header"]  # README-like pages may begin at the second level
nitpicky = False  # names that lead nowhere stay plain text, see extensions/names.py

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
myst_substitutions = {"version": version}
# docs/extensions/notebooks.py executes notebooks whose code has changed; pages show the outputs.
nb_execution_mode = "off"
nb_merge_streams = True  # lines that one cell prints are one block

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 70
napoleon_use_rtype = False
napoleon_numpy_docstring = False
default_role = "name"
pygments_style = "default"
highlight_language = "none"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "tutelage"
html_static_path = ["assets"]
html_css_files = ["extra.css"]
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
html_search_scorer = str(DOCS / "extensions" / "scorer.js")
html_sidebars = {"index": [], "gallery": [], "glossary": []}
html_theme_options = {
    "logo": {"text": "tutelage"},
    "header_links_before_dropdown": 8,
    "navbar_start": ["navbar-logo", "version"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["footer"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "glossary": [], "gallery": []},
    "show_toc_level": 2,
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "icon_links": [
        {"name": "Repository", "url": ADDRESSES["repository"], "icon": "fa-solid fa-code-branch"}
    ]
    if ADDRESSES["repository"]
    else [],
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
