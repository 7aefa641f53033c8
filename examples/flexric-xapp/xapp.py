#!/usr/bin/env python3
"""Sends each user's counters to NetAssist, a line of JSON per user and 50 ms, from FlexRIC's MAC, RLC and GTP service models.

    python3 xapp.py --blocks-per-second 148400                106 resource blocks in each of 1400 downlink slots
    python3 xapp.py 127.0.0.1:5000 --blocks-per-second 148400 --names tunnel --every 1

Run it where FlexRIC's xapp_sdk is, with FlexRIC's own configuration. NetAssist reads the lines with `kind = "counters"`
(docs/how-to/netassist-sources.md). Not tried with a live RIC: it needs the Python SDK of openaicellular/flexric, whose structures
at 1f04cc5 (December 2023) have the fields below.
"""

import argparse
import json
import signal
import socket

# The paper's period of reports (NATCP, section 2.2.1).
PERIOD_US = 50_000
# Indications that are farther apart do not belong together.
MAX_STEP_US = 10_000_000
# As in NetAssist's reader of a gNB: bytes of a sender whose window holds it back, and how long HARQ and RLC keep data.
IN_FLIGHT = 2 * 1500
UNACKNOWLEDGED_FOR_US = 50_000
# A line has at most 200 bytes, and a datagram 65,507.
LINES_PER_DATAGRAM = 300


class Lines:
    """Gathers indications into lines. In each step from one to the next a user was busy

    - all the time where more waited at both ends than two packets in flight and unacknowledged data explain, as the newest
      queues of its bearers tell;
    - else as long as its resource blocks take at the cell's rate, times the users that were served.
    """

    def __init__(self, blocks_per_second, names="radio"):
        self.blocks_per_second, self.names = blocks_per_second, names
        self.queues, self.tunnels, self.before, self.gathered = {}, {}, {}, {}

    def rlc(self, _, bearers):
        for bearer in bearers:
            self.queues.setdefault(bearer.rnti, {})[bearer.rbid] = bearer.txbuf_occ_bytes
        return []

    def gtp(self, _, tunnels):
        self.tunnels.update((tunnel.rnti, tunnel.teidgnb) for tunnel in tunnels)
        return []

    def mac(self, at_us, users):
        """The lines that this indication completes; an empty one where the cell has no users."""
        now = {
            user.rnti: (at_us, user.dl_aggr_tbs, user.ul_aggr_tbs, user.dl_aggr_prb, self.queued(user.rnti))
            for user in users
        }
        served = sum(rnti in self.before and new[3] > self.before[rnti][3] for rnti, new in now.items())
        lines = [self.step(rnti, self.before.get(rnti), new, max(served, 1)) for rnti, new in now.items()]
        self.before.update(now)
        return [line for line in lines if line] if now else [""]

    def queued(self, rnti):
        """The bytes that wait; None while no indication has told."""
        return sum(self.queues[rnti].values()) if rnti in self.queues else None

    def step(self, rnti, before, new, served_users):
        steps = [after - earlier for earlier, after in zip(before[:4], new[:4])] if before else [-1]
        if min(steps) < 0 or not 0 < steps[0] <= MAX_STEP_US:
            # The user has come, or its counters have begun again.
            self.gathered.pop(rnti, None)
            return None
        us, sent, received, blocks = steps
        explained = IN_FLIGHT + sent * UNACKNOWLEDGED_FOR_US / us
        has_queue = min(before[4] or 0, new[4] or 0) > explained
        busy_us = us if has_queue else min(us, blocks * served_users * 1e6 / self.blocks_per_second)
        total = [a + b for a, b in zip(self.gathered.pop(rnti, (0, 0, 0, 0)), (us, sent, received, busy_us))]
        if total[0] < PERIOD_US:
            self.gathered[rnti] = total
            return None
        user = {"tunnel": self.tunnels.get(rnti)} if self.names == "tunnel" else {"rnti": rnti}
        counters = {
            "period_ms": total[0] / 1e3,
            "served_bytes": total[1],
            "received_bytes": total[2],
            "busy_ms": min(total[3], total[0]) / 1e3,
            "queued_bytes": new[4],
        }
        return None if None in user.values() else json.dumps(user | counters)


def run(arguments):
    import xapp_sdk as ric

    host, port = arguments.to.rsplit(":", 1)
    outgoing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    lines = Lines(arguments.blocks_per_second, arguments.names)

    def callback(base, list_of, take):
        """A callback that gathers this service model's indications, and sends the lines that they complete."""

        class Callback(base):
            def __init__(self):
                base.__init__(self)

            def handle(self, indication):
                entries = getattr(indication, list_of)
                complete = take(indication.tstamp, [entries[i] for i in range(len(entries))])
                for at in range(0, len(complete), LINES_PER_DATAGRAM):
                    outgoing.sendto("\n".join(complete[at : at + LINES_PER_DATAGRAM]).encode(), (host, int(port)))

        return Callback()

    ric.init()
    every = getattr(ric, f"Interval_ms_{arguments.every}")
    # The SDK keeps no reference to callbacks.
    callbacks, stops = [], []
    for node in ric.conn_e2_nodes():
        for report, stop, called in (
            (ric.report_mac_sm, ric.rm_report_mac_sm, callback(ric.mac_cb, "ue_stats", lines.mac)),
            (ric.report_rlc_sm, ric.rm_report_rlc_sm, callback(ric.rlc_cb, "rb_stats", lines.rlc)),
            (ric.report_gtp_sm, ric.rm_report_gtp_sm, callback(ric.gtp_cb, "gtp_stats", lines.gtp)),
        ):
            callbacks.append(called)
            stops.append((stop, report(node.id, every, called)))
    if not stops:
        raise SystemExit("xapp.py: no base station is connected to the RIC; start it, and this again")
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    for stop, handle in stops:
        stop(handle)


def main():
    arguments = argparse.ArgumentParser(description="Sends each user's counters from FlexRIC to NetAssist.")
    arguments.add_argument("to", nargs="?", default="127.0.0.1:55556", metavar="ADDRESS:PORT")
    arguments.add_argument(
        "--blocks-per-second",
        type=int,
        required=True,
        metavar="N",
        help="resource blocks for users: those of a slot, times the downlink's slots in a second",
    )
    arguments.add_argument(
        "--names", choices=("radio", "tunnel"), default="radio", help="name users by RNTI, or by their tunnel to the core"
    )
    arguments.add_argument("--every", type=int, choices=(1, 2, 5, 10), default=10, metavar="MS")
    run(arguments.parse_args())


if __name__ == "__main__":
    main()
