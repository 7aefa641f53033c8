"""The lines that examples/srsenb makes of srsENB's reports. A service's reader of such lines is tested in Rust."""

import itertools
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ADAPTER = Path(__file__).parents[2] / "examples/srsenb/adapter.py"
# Made from the code that writes it (srsRAN 4G at 1fab3df8, srsenb/src/metrics_json.cc).
REPORT = """{
  "type": "metrics",
  "timestamp": 1700000000.1,
  "cell_list": [
    {
      "cell_container": {
        "carrier_id": 0,
        "pci": 1,
        "nof_rach": 1,
        "ue_list": [
          {
            "ue_container": {
              "ue_rnti": 70,
              "dl_mcs": 28.0,
              "dl_bitrate": 5653200.0,
              "bearer_list": [
                {
                  "bearer_container": {
                    "bearer_id": 3,
                    "qci": 9,
                    "dl_total_bytes": 170000,
                    "ul_total_bytes": 3000,
                    "dl_buffered_bytes": 90000
                  }
                }
              ]
            }
          }
        ]
      }
    }
  ]
}
"""
EVENT = '{\n  "type": "event",\n  "event_name": "rrc_connect"\n}\n'


class Adapter:
    """The script as a process: reports in, datagrams out."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        # Ends a hang; an answer comes at once.
        self.socket.settimeout(60)
        to = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.process = subprocess.Popen([sys.executable, ADAPTER, "15", "22", to], stdout=subprocess.PIPE, text=True)
        self.terminal = open(self.process.stdout.readline().strip(), "w")

    def tell(self, text):
        self.terminal.write(text)
        self.terminal.flush()

    def lines(self):
        return self.socket.recv(65536).decode().splitlines()


@pytest.fixture
def adapter():
    adapter = Adapter()
    yield adapter
    adapter.process.kill()
    adapter.process.communicate()
    adapter.terminal.close()
    adapter.socket.close()


def report(ms, downlink, uplink, queued, rate=5_653_200):
    """The report at another time with other counts; half of 15 resource blocks at MCS 28 are 5,653,200 bit/s."""
    text = REPORT
    for key, value in (
        ("timestamp", 1_700_000_000 + ms / 1000),
        ("dl_bitrate", rate),
        ("dl_total_bytes", downlink),
        ("ul_total_bytes", uplink),
        ("dl_buffered_bytes", queued),
    ):
        text = re.sub(f'"{key}": [0-9.]+', f'"{key}": {value}', text)
    return text


def test_differences_of_two_reports_are_a_line(adapter):
    adapter.tell(report(0, 100_000, 2_000, 90_000) + EVENT + REPORT)
    [line] = map(json.loads, adapter.lines())
    assert line == {
        "cell": 1,
        "rnti": 70,
        "period_ms": 100,
        "served_bytes": 70_665,
        "busy_ms": 50,
        "received_bytes": 1_000,
        "queued_bytes": 90_000,
        "min_rtt_ms": 22.0,
    }


def test_steps_of_acknowledgements_are_a_steady_rate_and_radio_time_is_corrected(adapter):
    adapter.tell("".join(report(100 * at, 40_000 * at + 20_000 * (at % 2), 0, 60_000) for at in range(9)))
    served = [json.loads(adapter.lines()[0])["served_bytes"] for _ in range(8)]
    by_rate, by_clock = 70_665, 40_000
    assert served == 3 * [by_rate] + 5 * [by_clock]


def test_a_rate_stays_as_it_is_where_acknowledgements_come_too_rarely_to_be_told_from_none(adapter):
    """srsENB's come every 50 ms."""
    adapter.tell("".join(report(100 * at, (at + 1) // 2 * 80_000, 0, 60_000) for at in range(9)))
    assert {json.loads(adapter.lines()[0])["served_bytes"] for _ in range(8)} == {70_665}


def test_a_base_station_that_discards_and_acknowledges_nothing_is_no_outage(adapter):
    bytes_so_far = [0, 70_000, 140_000, 210_000] + 7 * [280_000]
    adapter.tell("".join(report(100 * at, served, 0, 300_000) for at, served in enumerate(bytes_so_far)))
    served = [json.loads(adapter.lines()[0])["served_bytes"] for _ in bytes_so_far[1:]]
    assert min(served) == 70_000


def test_uneven_acknowledgements_do_not_raise_the_rate(adapter):
    """An upper quartile made more of them."""
    bytes_so_far = itertools.accumulate(4 * [50_000, 30_000, 40_000, 50_000, 30_000], initial=0)
    adapter.tell("".join(report(100 * at, served, 0, 60_000) for at, served in enumerate(bytes_so_far)))
    served = [json.loads(adapter.lines()[0])["served_bytes"] for _ in range(20)]
    assert served[-1] == pytest.approx(40_000, rel=0.01)


def test_a_user_without_a_rate_had_nothing_and_one_above_the_table_had_all(adapter):
    adapter.tell(report(0, 0, 0, 0) + report(100, 0, 0, 0, rate=0) + report(200, 0, 0, 0, rate=20_000_000))
    busy = [json.loads(adapter.lines()[0])["busy_ms"] for _ in range(2)]
    assert busy == [0, 100]


def test_two_users_who_are_served_share_the_cell(adapter):
    def two(ms, served):
        one = report(ms, served, 0, 60_000)
        user = re.search(r" {10}\{\n {12}\"ue_container.*?\n {10}\}", one, flags=re.DOTALL)[0]
        return one.replace(user, user + ",\n" + user.replace('"ue_rnti": 70', '"ue_rnti": 71'))

    adapter.tell(two(0, 0) + two(100, 40_000))
    lines = [json.loads(line) for line in adapter.lines()]
    assert [(line["rnti"], line["busy_ms"]) for line in lines] == [(70, 100), (71, 100)]


def test_an_empty_cell_is_an_empty_line_and_a_returning_user_begins_again(adapter):
    empty = re.sub(r'"ue_list": \[.*\n        \]', '"ue_list": [\n        ]', report(100, 0, 0, 0), flags=re.DOTALL)
    adapter.tell(report(0, 500_000, 0, 0) + empty)
    assert adapter.lines() == []
    adapter.tell(report(200, 0, 10, 0) + report(300, 0, 20, 0))
    [line] = map(json.loads, adapter.lines())
    assert (line["received_bytes"], line["period_ms"]) == (10, 100)
