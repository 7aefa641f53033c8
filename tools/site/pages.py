"""The pages of the site: which there are, in which order, and what their links become.

The order is that of the links: docs/README.md names parts and chapters, and a page that it does not name stands below one that
does. What a page names and no reader of a browser could open, such as a source file, becomes a page.
"""

import html
import posixpath
import re

INDEX = "docs/README.md"
LANDING = "README.md"
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|<!--.*?-->)", re.MULTILINE | re.DOTALL)


def outside_code(text, change):
    """The text with `change` applied to all that is neither a block of code nor a comment."""
    parts = CODE.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def target(page, link):
    """The file of the repository that a link in `page` names, and its anchor; None for an address or an anchor alone."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return None
    path, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def links(page, text):
    """The files that a page names, in order."""
    found = (target(page, link) for _, link in LINK.findall(CODE.sub("", text)))
    return [file for file in found if file]


def title(text, page):
    """A page's first heading."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if not found:
        raise SystemExit(f"{page} has no heading, which the list of pages needs")
    return found.group(1)


class Pages:
    """All pages that are reached from the index, read once, and which page each stands below."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        self.read(LANDING)
        self.read(INDEX)
        order, namers = [INDEX], {}
        for page in order:
            for file in self.named(page):
                if file not in self.texts:
                    self.read(file)
                    order.append(file)
                if file not in (INDEX, LANDING):
                    namers.setdefault(file, []).append(page)
        self.below = {page: [] for page in order}
        for page, names in namers.items():
            self.below[self.owner(page, names)].append(page)
        for page, below in self.below.items():
            below.sort(key=self.named(page).index)
        self.complete()

    def owner(self, page, namers):
        """The page above a page: the index, if it names it; one that is called as its folder; or the first that names it."""
        folder = posixpath.basename(posixpath.dirname(page))
        if INDEX in namers:
            return INDEX
        called = (f"{posixpath.dirname(page)}/README.md", f"{folder}.md")
        return next((one for one in namers if one.endswith(called)), namers[0])

    def read(self, page):
        self.texts[page] = (self.root / page).read_text(encoding="utf-8")

    def page(self, file):
        """The page that a file is, or that a folder has; None where there is none."""
        file = f"{file}/README.md" if (self.root / file / "README.md").is_file() else file
        return file if file.endswith(".md") and (self.root / file).is_file() else None

    def named(self, page):
        """The pages that a page names."""
        pages = (self.page(file) for file, _ in links(page, self.texts[page]))
        return [one for one in pages if one]

    def complete(self):
        """A page that nobody could find is an error."""
        there = {path.relative_to(self.root).as_posix() for path in (self.root / "docs").rglob("*.md")}
        missing = sorted(there - set(self.texts))
        if missing:
            raise SystemExit(f"no page that {INDEX} leads to names: {', '.join(missing)}")

    def parts(self):
        """The headings of the index with the chapters below each."""
        new = set(self.below[INDEX])
        for part in re.split(r"^## ", self.texts[INDEX], flags=re.MULTILINE)[1:]:
            name, _, text = part.partition("\n")
            chapters = []
            for page in (self.page(file) for file, _ in links(INDEX, text)):
                if page in new:
                    chapters.append(page)
                    new.discard(page)
            if chapters:
                yield name, chapters
        if new:
            raise SystemExit(f"{INDEX} names pages above its first part: {', '.join(sorted(new))}")

    def title(self, page):
        return title(self.texts[page], page)


def summary(pages, made):
    """mdBook's list of chapters. `made` are pages of the site alone, by their file."""
    lines = ["# Summary", "", f"[{pages.title(LANDING)}]({LANDING})", f"[All pages]({INDEX})"]

    def chapter(page, depth):
        lines.append(f"{'  ' * depth}- [{pages.title(page)}]({page})")
        for below in pages.below[page]:
            chapter(below, depth + 1)

    for name, chapters in pages.parts():
        lines += ["", f"# {name}", ""]
        for page in chapters:
            chapter(page, 0)
    lines += ["", "# Made with this site", ""]
    lines += [f"- [{title(text, page)}]({page})" for page, text in made.items()]
    return "\n".join(lines) + "\n"


def for_readers(pages, page, text, shown, seen_from=None):
    """The page as the site has it: a link to a file that is no page leads to a page that shows it, which `shown` collects. `seen_from` is
    the folder of another page that has the text."""
    folder = seen_from or posixpath.dirname(page) or "."

    def replaced(found):
        name, link = found.groups()
        to = target(page, link)
        if to is None:
            return found.group()
        file, anchor = to
        if pages.page(file):
            # mdBook makes README.md the index of its folder, and does not change links to it.
            file = re.sub(r"README\.md$", "index.md", pages.page(file)) + (f"#{anchor}" if anchor else "")
        elif not name.startswith("!"):
            shown.add(file)
            file = f"source/{file}.html"
        return f"{name}({posixpath.relpath(file, folder)})"

    return outside_code(text, lambda part: LINK.sub(replaced, part))


def source_page(root, file):
    """A page that shows a file of the repository, or the names in a folder of it."""
    path = root / file
    if path.is_dir():
        text = "\n".join(sorted(one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file()))
    else:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            text = f"A binary file of {path.stat().st_size} bytes: it is in the repository."
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{html.escape(file)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<h1>{html.escape(file)}</h1>\n<pre>{html.escape(text)}</pre>\n</html>\n"
    )
