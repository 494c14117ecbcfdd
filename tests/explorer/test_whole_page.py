"""Every view as it is computed, at both widths and in both colour schemes."""

import pytest
from browser import needs_chromium
from explorer.pages import PHONE, WIDE, Watched, faults, settled

from tutelage.explorer.views import VIEWS

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_view_has_a_serious_fault(size, scheme, address, browser):
    own = address.rstrip("/")
    watched = Watched(browser.new_context(**size, color_scheme=scheme), own)
    page = watched.page
    for view in VIEWS:
        page.goto(f"{own}/#view={view}")
        settled(page)
        assert faults(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]
    assert watched.complaints == []
    page.context.close()
