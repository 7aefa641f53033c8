"""Links of built pages: each leads to a file of the site, and to a place in it that is there."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places and the links of a page."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = {"", "top"}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        self.links += [values[key] for key in ("href", "src") if values.get(key)]


def broken(folder, skipped):
    """The number of links of all pages of a folder that stay in it, of those that leave it, and each that leads nowhere. What
    `skipped` holds is led to, but not read."""
    pages = {}

    def page(path):
        if path not in pages:
            pages[path] = Page(path)
        return pages[path]

    inside = outside = 0
    faults = []
    for path in sorted(folder.rglob("*.html")):
        if path.relative_to(folder).parts[0] in skipped:
            continue
        for link in page(path).links:
            parts = urlsplit(link)
            if re.match(r"[a-z]+:", link) or link.startswith("//"):
                outside += 1
                continue
            inside += 1
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there = there / "index.html"
            if not there.is_file():
                faults.append(f"{path.relative_to(folder)}: {link}: no such file")
            elif there.suffix == ".html" and unquote(parts.fragment) not in page(there).places:
                faults.append(f"{path.relative_to(folder)}: {link}: no such place")
    return inside, outside, faults
