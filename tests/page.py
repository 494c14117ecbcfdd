"""A page of HTML: its rows, addresses and anchors."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The rows, addresses and anchors of a page, for the tests of the report."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.addresses, self.anchors = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attrs = dict(attributes)
        self.rows += [attrs["data-item"]] if "data-item" in attrs else []
        self.addresses += [attrs[name] for name in ("src", "href") if name in attrs]
        self.anchors += [attrs["id"]] if "id" in attrs else []
