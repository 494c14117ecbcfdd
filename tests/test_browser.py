"""The checks of pages in a browser detect faults."""

from browser import complaints, needs_chromium

BAD = {
    '<script>console.error("bad thing")</script>': "bad thing",
    "<script>no_such_function()</script>": "no_such_function is not defined",
    '<img src="http://example.org/x.png">': "http://example.org/x.png",
}


@needs_chromium
def test_errors_and_requests_are_seen(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><html><body>{''.join(BAD)}</body></html>", encoding="utf-8")
    received = complaints(page, tmp_path)
    for words in BAD.values():
        assert any(words in complaint for complaint in received), words


@needs_chromium
def test_a_page_without_either_has_no_complaints(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html><body>good</body></html>", encoding="utf-8")
    assert complaints(page, tmp_path) == []
