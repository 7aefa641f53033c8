"""`python -m cellcc.radio`: the findings of recordings as tables and as lines for a Scenario, or as JSON."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable

from .._cellcc import InputError
from . import Findings, findings, read
from .grants import Grants
from .pings import Pings

_NONE = "–"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m cellcc.radio",
        description="Estimate HARQ retransmissions and uplink access delay from NR-Scope logs or ping output.",
        epilog="Example: ping -D -i 0.213 -c 150 HOST > ping.txt && python -m cellcc.radio ping.txt",
    )
    files = "logs of NR-Scope (CSV) of one cell, output of ping (best of ping -D -i 0.213 -c 150) of one network, or both"
    parser.add_argument("files", nargs="+", metavar="FILE", help=files)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="output format [default: table]")
    arguments = parser.parse_args()
    try:
        found = findings([read(file) for file in arguments.files])
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(dataclasses.asdict(found), indent=2) if arguments.format == "json" else _text(found))
    return 0


def _text(found: Findings) -> str:
    directions = {name: grants for name, grants in (("down", found.down), ("up", found.up)) if grants}
    sections = []
    if directions:
        sections.append(_table(["blocks of the radio", *directions], _blocks(list(directions.values()))))
    if found.pings is not None:
        sections.append(_table(["pings", "median over runs"], _pings(found.pings)))
    return "\n\n".join([*sections, _parameters(found)])


def _table(header: list[str], rows: list[list[str]]) -> str:
    """The first column to the left, the others to the right, as the tables of the command line."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    widths[0] += 1

    def line(cells: list[str]) -> str:
        first, *others = (f"{cell:{'>' if at else ''}{width}}" for at, (cell, width) in enumerate(zip(cells, widths, strict=True)))
        return "  ".join([f" {first}", *others])

    rule = "─" * len(line(header))
    return "\n".join([line(header), rule, *map(line, rows)])


def _blocks(directions: list[Grants]) -> list[list[str]]:
    values: dict[str, Callable[[Grants], str]] = {
        "grants": lambda of: str(of.grants),
        "seconds": lambda of: f"{of.seconds:.0f}",
        "phones": lambda of: str(of.users),
        "blocks": lambda of: str(of.blocks),
        "sent again": lambda of: _percent(of.again_share),
        "the same, of blocks seen from the start": lambda of: _percent(of.again_share_seen),
        "a repetition comes after (median)": lambda of: _ms(of.again_ms),
        "the first repetition fails": lambda of: _percent(of.again_fails_share),
        "a later one fails": lambda of: _percent(of.later_fails_share),
        "held back by a repetition, in order": lambda of: _percent(of.held_back_share),
        "... mean over all blocks": lambda of: _ms(of.held_back_mean_ms),
    }
    rows = [[name, *map(value, directions)] for name, value in values.items()]
    for lags in zip(*(of.by_lag for of in directions), strict=True):
        name = f"fails {lags[0].above_ms:g}..{lags[0].to_ms:g} ms after a failed / good one"
        shares = (f"{_percent(lag.after_failed_share)} / {_percent(lag.after_good_share)}" for lag in lags)
        rows.append([name, *shares])
    return rows


def _pings(pings: Pings) -> list[list[str]]:
    rows = {
        "runs": str(pings.runs),
        "runs of less than 100 replies, left out": str(pings.short_runs),
        "lost, of all pings": _percent(pings.lost_share),
        "smallest": _ms(pings.smallest_ms),
        "median": _ms(pings.median_ms),
        "95th percentile": _ms(pings.p95_ms),
        "above the smallest, of the mean": _percent(pings.above_smallest_share),
    }
    if (first := pings.first) is not None:
        quartiles = f"({first.p25_ms:.1f} to {first.p75_ms:.1f})"
        rows["the first ping costs more by (quartiles)"] = f"{_ms(first.p50_ms)} {quartiles}"
        rows["the second one"] = _ms(first.second_p50_ms)
    if pings.cycle is not None:
        rows["windows of 25 pings"] = str(pings.cycle.windows)
        for period in pings.cycle.periods:
            if period.share > 0:
                name = f"explained by {period.period_ms:g} ms / the same, shuffled"
                rows[name] = f"{_percent(period.share)} / {_percent(period.shuffled_share)}"
    return [list(row) for row in rows.items()]


def _parameters(found: Findings) -> str:
    """The lines for a Scenario, or the reason for none."""

    def harq(grants: Grants | None) -> list[str]:
        if grants is None:
            return []
        no_harq = "# no harq: it takes 100 failed blocks that follow others of their phone"
        return [no_harq if grants.harq is None else f'harq = "{grants.harq}"']

    access = []
    if found.pings is not None and found.pings.access is not None:
        access = [f'access = "{found.pings.access}"']
    elif found.pings is not None and found.pings.cycle is not None:
        access = ["# no access: no cycle of requests shows in these pings"]
    elif found.pings is not None:
        access = ["# no access: it takes runs of 100 replies with their times (ping -D -c 150)"]
    title = "# A download of this network; for an upload, swap the two."
    return "\n".join([title, "[path]", *harq(found.down), "[path.reverse]", *harq(found.up), *access])


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{share * 100:.1f} %"


def _ms(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
