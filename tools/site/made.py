"""Pages that the site makes: all results, the catalogue of schemes, the figures, what stands next to the book, and llms.txt."""

import re

import results
from pages import CODE, LANDING, LINK, target


def pages(read, schemes, shown, with_claims):
    """By file: those that are made. `shown` collects files that they lead to and that are no pages."""
    return {
        "made/results.md": results.made(read, shown),
        "made/schemes.md": catalogue(read, schemes),
        "made/figures.md": figures(read),
        "made/also.md": next_to_the_book(with_claims),
    }


def table(head, rows):
    def cell(text):
        return str(text).replace("|", "\\|").replace("\n", " ")

    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def catalogue(read, schemes):
    """Every scheme of the registry, with its parameters and presets."""
    text = "# Every scheme and its parameters\n\nAs `cellcc schemes --format json` gives them.\n"
    for scheme in schemes:
        name = scheme["scheme"]
        page = page_of(read, name)
        more = f" [Its page](../{page})." if page else ""
        held = f" Held against {scheme['held_against']}." if "held_against" in scheme else ""
        text += f"\n## `{name}`\n\n{scheme['summary']}. Source: {scheme['source']}.{held}{more}\n\n"
        rows = [(f"`{one['parameter']}`", f"`{one['default']}`", one["takes"], one["meaning"], one["source"]) for one in scheme["parameters"]]
        text += table(("parameter", "default", "takes", "meaning", "source"), rows) + "\n"
        presets = scheme.get("presets", [])
        if presets:
            rows = [(f"`{one['preset']}`", one["summary"], ", ".join(f"`{key}={value}`" for key, value in one["sets"].items())) for one in presets]
            text += "\n" + table(("preset", "what", "sets"), rows) + "\n"
    # Sources in the registry name pages by their files.
    return re.sub(r"(?<![/\w])(docs/[\w/-]+\.md)", r"[\1](../\1)", text)


def page_of(read, scheme):
    """Where a scheme's page is: of its name, or the first that names it above its first command."""
    pages = [page for page in read.texts if page.startswith("docs/algorithms/")]
    named = (page for page in pages if f"`{scheme}`" in read.texts[page].split("```")[0])
    return next((page for page in pages if page.endswith(f"/{scheme}.md")), None) or next(named, None)


def figures(read):
    """Every figure of the pages, once, below the name of the page that has its command."""
    text = "# Figures\n\nEach is drawn by a command, which its page names.\n"
    seen = set()
    for page in [page for page in read.texts if page != LANDING]:
        for name, link in LINK.findall(CODE.sub("", read.texts[page])):
            file, _ = target(page, link) or ("", "")
            if name.startswith("!") and file not in seen:
                seen.add(file)
                text += f"\n## [{read.title(page)}](../{page})\n\n{name}(../{file})\n"
    return text


def next_to_the_book(with_claims):
    text = """# Report, API, figures of the papers

- [The report](../report/report.html) that `cellcc compare` writes without arguments: filter, sort, zoom
- [The API](../api/index.html) of the crates, as `make docs` builds it
- [llms.txt](../llms.txt): the list of pages for programs, each as Markdown
"""
    if with_claims:
        text += "- [The papers' figures](../claims/claims.html), drawn from runs of this version, with the papers' values marked\n"
    return text


def list_of_crates(folder):
    """The front page of what `make docs` built, which has none of its own."""
    names = sorted(path.parent.name for path in folder.glob("*/all.html"))
    rows = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>cellcc: crates</title>\n<h1>Crates</h1>\n<ul>\n{rows}\n</ul>\n</html>\n'


def llms(read):
    """https://llmstxt.org: what the project is, and a line a page."""
    first = next(part for part in read.texts[LANDING].split("\n\n") if not part.startswith(("#", "!", "<")))
    text = f"# {read.title(LANDING)}\n\n> {' '.join(first.split())}\n"

    def lines(page):
        yield f"- [{read.title(page)}]({page})"
        for below in read.below[page]:
            yield from lines(below)

    for name, chapters in read.parts():
        text += f"\n## {name}\n\n" + "\n".join(line for page in chapters for line in lines(page)) + "\n"
    return text
