"""The results explorer: every table of the evidence, and every other one that a command repeats, on one page to search.

The tables stay where they are written, and where `cellcc reproduce --docs` checks them; this page is made of them.
"""

import re
from itertools import pairwise

from pages import for_readers

TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (checked|unchecked): (.*?)(?:\nrows: .*?)? *-->", re.DOTALL)
HEAD = """# Results

Every table of the evidence, and every other one that a command repeats, with that command. Search for several words at once: `tide p95`,
`figure rbbr`, `wi-fi bbr3`.

<p><input type="search" id="words" aria-label="Search the tables" placeholder="a scheme, a metric, a figure"> <span id="found" role="status"></span></p>

"""


def place(heading):
    """mdBook's name of a heading's place in its page."""
    text = re.sub(r"\]\([^)]*\)|[`\[\]]", "", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def tables(page, text):
    """The tables of a page, each with the headings it stands below, and with what its comments say: commands, or why there is none."""
    text = FENCE.sub("", text)
    ends = [0, *(found.end() for found in TABLE.finditer(text))]
    heading = ""
    for (start, end), table in zip(pairwise(ends), TABLE.findall(text)):
        above = text[start:end]
        heading = (HEADING.findall(above) or [heading])[-1]
        said = COMMENT.findall(above)
        if said or page.startswith("docs/evidence/"):
            yield heading, table, said


def made(read, shown):
    """The page, as the site has it. `shown` collects files that it leads to and that are no pages."""
    parts = []
    for page, text in read.texts.items():
        file = page.rsplit("/", 1)[-1]
        for heading, table, said in tables(page, text):
            name = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", f"{read.title(page)}: {heading}" if heading else read.title(page))
            notes = [f"```sh\n{text}\n```" if kind == "checked" else f"Not repeated by a command: {text}." for kind, text in said]
            result = [f"**[{name}]({file}#{place(heading)})**", table.replace("](#", f"]({file}#"), *notes]
            result = for_readers(read, page, "\n\n".join(result), shown, seen_from="made")
            parts.append(f'<section class="result">\n\n{result}\n\n</section>\n\n')
    return HEAD + "".join(parts) + '<script src="results.js"></script>\n'
