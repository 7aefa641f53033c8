"""The lines that examples/srsenb makes of srsENB's reports. A service's reader of such lines is tested in Rust."""

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
              "dl_bitrate": 5600000.0,
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
        self.process = subprocess.Popen([sys.executable, ADAPTER, to], stdout=subprocess.PIPE, text=True)
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


def report(ms, downlink, uplink, queued):
    """The report at another time with other counts."""
    text = REPORT
    for key, value in (
        ("timestamp", 1_700_000_000 + ms / 1000),
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
        "served_bytes": 70_000,
        "received_bytes": 1_000,
        "queued_bytes": 90_000,
        "busy_ms": 100,
    }


def test_a_short_queue_is_no_evidence(adapter):
    adapter.tell(report(0, 0, 0, 3_000) + report(100, 6_000, 0, 3_000))
    [line] = map(json.loads, adapter.lines())
    assert line["served_bytes"] == 6_000 and "busy_ms" not in line


def test_an_empty_cell_is_an_empty_line_and_a_returning_user_begins_again(adapter):
    empty = re.sub(r'"ue_list": \[.*\n        \]', '"ue_list": [\n        ]', report(100, 0, 0, 0), flags=re.DOTALL)
    adapter.tell(report(0, 500_000, 0, 0) + empty)
    assert adapter.lines() == []
    adapter.tell(report(200, 10, 0, 0) + report(300, 20, 0, 0))
    [line] = map(json.loads, adapter.lines())
    assert (line["served_bytes"], line["period_ms"]) == (10, 100)
