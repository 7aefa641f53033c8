#!/usr/bin/env python3
"""Sends what FlexRIC tells of each user to NetAssist: a line of JSON in a datagram for each indication.

    python3 xapp.py                              to 127.0.0.1:55556, each 10 ms
    python3 xapp.py 127.0.0.1:5000 --every 1     each ms: 1, 2, 5 or 10

Run it where FlexRIC's xapp_sdk is, with FlexRIC's own configuration. NetAssist reads the lines with `kind = "flexric"`
(docs/how-to/netassist-sources.md). Not tried with a live RIC: it needs the Python SDK of openaicellular/flexric.
"""

import argparse
import json
import signal
import socket

import xapp_sdk as ric

# The names of FlexRIC's service models.
MAC = ("rnti", "dl_aggr_tbs", "ul_aggr_tbs", "dl_aggr_prb")
RLC = ("rnti", "rbid", "txbuf_occ_bytes")
GTP = ("rnti", "teidgnb")


def sender(base, name, list_of, fields, send):
    """A callback of this service model that sends these fields of each entry."""

    class Callback(base):
        def __init__(self):
            base.__init__(self)

        def handle(self, indication):
            entries = getattr(indication, list_of)
            reported = [{field: getattr(entries[i], field) for field in fields} for i in range(len(entries))]
            if reported:
                send({"tstamp": indication.tstamp, name: reported})

    return Callback()


def main():
    arguments = argparse.ArgumentParser(description="Sends what FlexRIC tells to NetAssist.")
    arguments.add_argument("to", nargs="?", default="127.0.0.1:55556", metavar="ADDRESS:PORT")
    arguments.add_argument("--every", type=int, choices=(1, 2, 5, 10), default=10, metavar="MS")
    arguments = arguments.parse_args()
    host, port = arguments.to.rsplit(":", 1)
    outgoing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(line):
        outgoing.sendto(json.dumps(line).encode(), (host, int(port)))

    ric.init()
    every = getattr(ric, f"Interval_ms_{arguments.every}")
    # The SDK keeps no reference to callbacks.
    callbacks, stops = [], []
    for node in ric.conn_e2_nodes():
        for report, stop, callback in (
            (ric.report_mac_sm, ric.rm_report_mac_sm, sender(ric.mac_cb, "mac", "ue_stats", MAC, send)),
            (ric.report_rlc_sm, ric.rm_report_rlc_sm, sender(ric.rlc_cb, "rlc", "rb_stats", RLC, send)),
            (ric.report_gtp_sm, ric.rm_report_gtp_sm, sender(ric.gtp_cb, "gtp", "gtp_stats", GTP, send)),
        ):
            callbacks.append(callback)
            stops.append((stop, report(node.id, every, callback)))
    if not stops:
        raise SystemExit("xapp.py: no base station is connected to the RIC; start it, and this again")
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    for stop, handle in stops:
        stop(handle)


if __name__ == "__main__":
    main()
