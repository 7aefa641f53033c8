#!/usr/bin/env python3
"""Sends each user's counters to NetAssist, a line of JSON per user and report, from the JSON report of srsRAN 4G's srsENB.

    python3 adapter.py 50 21                    n_prb of enb.conf, and the least round trip of `ping` to an idle user, in ms; prints
                                                a terminal's name, for report_json_filename
    python3 adapter.py 50 21 127.0.0.1:5000

NetAssist reads the lines with `kind = "counters"` (docs/how-to/netassist-srsran.md). A terminal brings each report at once; into a file
they go in blocks of 4 KiB, several reports late.

A report has neither a user's resource blocks nor a queue without unacknowledged data: how long a user was served follows from its rate at
its MCS, with one layer. That rate has retransmissions, and counts radio time, which an emulated radio makes slower than a clock. So it is
corrected by the bytes that RLC saw acknowledged, over seconds: these come in steps of 50 ms, and hardly while PDCP discards packets.
"""

import collections
import json
import os
import socket
import statistics
import sys
import tty

# Bits of a transport block per resource block, by I_TBS (3GPP TS 36.213, table 7.1.7.2.1-1, 100 blocks).
TRANSPORT_BLOCK = [bits / 100 for bits in (
    2792, 3624, 4584, 5736, 7224, 8760, 10296, 12216, 14112, 15840, 17568, 19848, 22920, 25456, 28336, 30576, 32856, 36696, 39232,
    43816, 46888, 51024, 55056, 57336, 61664, 63776, 75376)]  # fmt: skip
# Acknowledged bytes are divided by those of the rate over this time; so many of the latest quotients count.
COMPARED_OVER_MS = 400
QUOTIENTS = 100
# PDCP discards packets where none are acknowledged for longer than this, more than a step: no quotient covers such a time.
STALLED_MS = 90
# Smaller quotients than this part of their upper quartile do not count: a step at each end of the time takes an eighth.
STEPS_LEAVE = 0.7


def share(user, blocks):
    """The share of the cell that the user had."""
    mcs = round(user.get("dl_mcs", 0))
    # TS 36.213, table 7.1.7.1-1.
    size = TRANSPORT_BLOCK[mcs - (mcs > 9) - (mcs > 16)]
    return min(1, user.get("dl_bitrate", 0) / (1000 * blocks * size))


def typical(quotients):
    """The mean of the quotients, except for those that are too small to come from steps: there packets were discarded."""
    if not quotients:
        return 1
    least = sorted(quotients)[3 * len(quotients) // 4] * STEPS_LEAVE
    return statistics.fmean(quotient for quotient in quotients if quotient >= least)


class User:
    """The counts of a user in the latest reports."""

    def __init__(self, ms, served, received):
        self.latest = collections.deque([(ms, served, received, 0)])
        self.acknowledged_ms = ms

    def line(self, ms, served, received, rate, quotients):
        """The period until now, whose bytes follow from the rate, corrected by those that were acknowledged."""
        latest = self.latest
        period = ms - latest[-1][0]
        by_rate = rate * period / 8000
        received_bytes = received - latest[-1][2]
        sent_so_far = latest[-1][3] + by_rate
        has_moved = served != latest[-1][1]
        silent_ms = (latest[-1][0] if has_moved else ms) - self.acknowledged_ms
        if has_moved:
            self.acknowledged_ms = ms
        if silent_ms > STALLED_MS:
            latest.clear()
        latest.append((ms, served, received, sent_so_far))
        while ms - latest[0][0] > COMPARED_OVER_MS + 1:
            latest.popleft()
        acknowledged, sent = served - latest[0][1], sent_so_far - latest[0][3]
        if acknowledged and by_rate and ms - latest[0][0] > COMPARED_OVER_MS - period / 2:
            quotients.append(acknowledged / sent)
        return {"period_ms": round(period), "served_bytes": round(by_rate * typical(quotients)), "received_bytes": received_bytes}


def lines(report, blocks, min_rtt_ms, before, quotients):
    """The users of a report, and a line for each who was in the one before."""
    now, made = {}, []
    ms = report["timestamp"] * 1000
    for cell in (cell["cell_container"] for cell in report["cell_list"]):
        users = [user["ue_container"] for user in cell["ue_list"]]
        shares = [share(user, blocks) for user in users]
        served_users = sum(one > 0 for one in shares)
        for user, had in zip(users, shares):
            name = cell["pci"], user["ue_rnti"]
            bearers = [bearer["bearer_container"] for bearer in user["bearer_list"]]
            keys = "dl_total_bytes", "ul_total_bytes", "dl_buffered_bytes"
            served, received, queued = (sum(bearer.get(key, 0) for bearer in bearers) for key in keys)
            if name not in before:
                now[name] = User(ms, served, received)
                continue
            now[name] = before[name]
            line = {"cell": name[0], "rnti": name[1], "queued_bytes": queued, "min_rtt_ms": min_rtt_ms}
            line |= now[name].line(ms, served, received, user.get("dl_bitrate", 0), quotients)
            line["busy_ms"] = round(line["period_ms"] * min(1, had * served_users))
            made.append(json.dumps(line))
    return now, made


def main(blocks, min_rtt_ms, to="127.0.0.1:55556"):
    host, port = to.rsplit(":", 1)
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reports, terminal = os.openpty()
    tty.setraw(terminal)
    print(os.ttyname(terminal), flush=True)
    before, text = {}, ""
    quotients = collections.deque(maxlen=QUOTIENTS)
    for part in os.fdopen(reports):
        text += part
        if part != "}\n":
            continue
        # An entry of the report ends with a brace that is not indented.
        report, text = json.loads(text), ""
        if report.get("type") != "metrics":
            continue
        before, made = lines(report, int(blocks), float(min_rtt_ms), before, quotients)
        if made or not before:
            service.sendto("\n".join(made).encode(), (host, int(port)))


main(*sys.argv[1:])
