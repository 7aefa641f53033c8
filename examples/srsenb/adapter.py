#!/usr/bin/env python3
"""Sends each user's counters to NetAssist, a line of JSON per user and report, from the JSON report of srsRAN 4G's srsENB.

    python3 adapter.py                   prints a terminal's name, for report_json_filename in enb.conf
    python3 adapter.py 127.0.0.1:5000

NetAssist reads the lines with `kind = "counters"` (docs/how-to/netassist-srsran.md). A terminal brings each report at once; into a file
they go in blocks of 4 KiB, several reports late.
"""

import json
import os
import socket
import sys
import tty

# As in NetAssist's reader of a gNB: bytes of a sender whose window holds it back, and how long RLC keeps unacknowledged data.
IN_FLIGHT = 2 * 1500
UNACKNOWLEDGED_FOR_MS = 50

host, port = (sys.argv[1:] or ["127.0.0.1:55556"])[0].rsplit(":", 1)
service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
reports, terminal = os.openpty()
tty.setraw(terminal)
print(os.ttyname(terminal), flush=True)
before, text = {}, ""
for part in os.fdopen(reports):
    text += part
    if part != "}\n":
        continue
    # An entry of the report ends with a brace that is not indented.
    report, text = json.loads(text), ""
    if report.get("type") != "metrics":
        continue
    now, lines = {}, []
    for cell in (cell["cell_container"] for cell in report["cell_list"]):
        for user in (user["ue_container"] for user in cell["ue_list"]):
            name = cell["pci"], user["ue_rnti"]
            bearers = [bearer["bearer_container"] for bearer in user["bearer_list"]]
            keys = "dl_total_bytes", "ul_total_bytes", "dl_buffered_bytes"
            now[name] = report["timestamp"] * 1000, *(sum(bearer.get(key, 0) for bearer in bearers) for key in keys)
            if name not in before:
                continue
            ms, served, received, _ = (round(new - old) for old, new in zip(before[name], now[name]))
            queues = before[name][3], now[name][3]
            line = {"cell": name[0], "rnti": name[1], "period_ms": ms, "served_bytes": served}
            line |= {"received_bytes": received, "queued_bytes": queues[1]}
            # More at both ends than these explain: something always waited. Less is no evidence.
            if min(queues) > IN_FLIGHT + served * UNACKNOWLEDGED_FOR_MS / ms:
                line["busy_ms"] = ms
            lines.append(json.dumps(line))
    if lines or not now:
        service.sendto("\n".join(lines).encode(), (host, int(port)))
    before = now
