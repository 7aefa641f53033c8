#!/usr/bin/env python3
"""Builds the documentation site of this version into target/site/VERSION, without a network: `make site`.

It takes what make has built: cellcc, for the catalogue of schemes and a live report, and the API. Fails where a link leads
nowhere or a page is named by none.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import links
import made
from pages import Pages, for_readers, source_page, summary

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SITE = ROOT / "target" / "site"
BOOK = """[book]
title = "cellcc {version}"
language = "en"
authors = ["The cellcc authors"]
src = "pages"

[output.html]
additional-css = ["site.css"]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true
input-404 = ""
[output.html.search]
limit-results = 30
use-boolean-and = true
[output.html.fold]
enable = true
level = 0
[output.html.print]
enable = false
# Its tables are found in their pages.
[output.html.search.chapter."made/results.md"]
enable = false
# Pages that were renamed or joined with others.
[output.html.redirect]
"/docs/algorithms/cost.html" = "../evidence/cost/packet.html"
"/docs/coming-from/ns-3.html" = "../coming-from.html#ns-3"
"/docs/coming-from/pantheon.html" = "../coming-from.html#pantheon"
"/docs/coming-from/picoquic_ns.html" = "../coming-from.html#picoquic_ns"
"/docs/decisions/0003-span-beside-time.html" = "0003-span-and-time.html"
"/docs/decisions/0005-series-beside-the-record.html" = "0005-series-in-files.html"
"/docs/decisions/0012-the-kernels-tcp.html" = "0013-the-kernels-tcp.html"
"/docs/evidence/cubic.html" = "cubic-beside-newreno.html"
"/docs/evidence/tide/ablation-alone.html" = "ablation.html#alone"
"/docs/evidence/tide/ablation-flows.html" = "ablation.html#with-other-flows"
"/docs/explain.html" = "how-to/explain.html"
"/docs/fidelity/links-and-textbook.html" = "../fidelity.html"
"/docs/fidelity/netassist-scale.html" = "../evidence/netassist.html"
"/docs/fidelity/tide-ablation.html" = "../evidence/tide/ablation.html"
"/docs/fidelity/tide-beside-others.html" = "../evidence/tide/rivals.html"
"/docs/fidelity/tide-frames.html" = "../evidence/tide/frames.html"
"""


def version():
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "([^"]+)"', text, re.MULTILINE).group(1)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_book(folder, schemes, with_claims):
    """What mdBook reads, in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(ROOT)
    shown = set()
    new = made.pages(pages, schemes, shown, with_claims)
    for page, text in {**pages.texts, **new}.items():
        write(folder / "pages" / page, for_readers(pages, page, text, shown) if page in pages.texts else text)
    for file in sorted(shown):
        write(folder / "pages" / "source" / f"{file}.html", source_page(ROOT, file))
    shutil.copytree(ROOT / "docs" / "figures", folder / "pages" / "docs" / "figures")
    write(folder / "pages" / "SUMMARY.md", summary(pages, new))
    write(folder / "pages" / "llms.txt", made.llms(pages))
    write(folder / "book.toml", BOOK.format(version=version()))
    shutil.copy(HERE / "site.css", folder)
    shutil.copy(HERE / "results.js", folder / "pages" / "made")
    return pages


def versions():
    """The front page of all versions: it leads to the newest."""
    def order(name):
        return [int(number) for number in re.findall(r"\d+", name)]

    found = sorted((path.parent.name for path in SITE.glob("[0-9]*/index.html")), key=order, reverse=True)
    rows = "\n".join(f'<li><a href="{name}/index.html">cellcc {name}</a></li>' for name in found)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>cellcc</title>\n'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/index.html">\n<ul>\n{rows}\n</ul>\n</html>\n'
    )


def cargo_tool(name):
    """A program that cargo has installed, which is in no PATH of a service."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return shutil.which(name) or home / "bin" / name


def main():
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--mdbook", default=cargo_tool("mdbook"), help="the program that makes the pages")
    arguments.add_argument("--cellcc", default=built / "debug" / "cellcc", help="the program that the pages are of")
    arguments.add_argument("--api", type=Path, default=built / "doc", help="what `make docs` has built")
    arguments.add_argument("--claims", type=Path, help="claims.html of a `cellcc reproduce`")
    asked = arguments.parse_args()

    schemes = json.loads(subprocess.run([asked.cellcc, "schemes", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)
    results = SITE / "quick-start"
    shutil.rmtree(results, ignore_errors=True)
    subprocess.run([asked.cellcc, "compare", "-q", "--out", results], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)

    folder = SITE / version()
    pages = write_book(SITE / "book", schemes, with_claims=asked.claims is not None)
    subprocess.run([asked.mdbook, "build", "--dest-dir", folder, SITE / "book"], check=True)
    for page, text in pages.texts.items():
        write(folder / page, text)
    shutil.copytree(results, folder / "report", ignore=lambda path, names: [name for name in names if not name.endswith((".html", ".js", ".svg"))])
    shutil.copytree(asked.api, folder / "api", ignore=shutil.ignore_patterns(".*"))
    write(folder / "api" / "index.html", made.list_of_crates(folder / "api"))
    if asked.claims:
        (folder / "claims").mkdir()
        shutil.copy(asked.claims, folder / "claims" / "claims.html")
    write(SITE / "index.html", versions())

    inside, outside, faults = links.broken(folder, {"api"})
    print(*faults, sep="\n", file=sys.stderr)
    print(f"{folder}: {len(pages.texts)} pages, {inside} links within the site, {len(faults)} of them broken; {outside} lead elsewhere and are not followed")
    print(f"site: {(SITE / 'index.html').as_uri()}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
