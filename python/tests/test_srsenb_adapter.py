"""The lines that the how-to's adapter makes of srsENB's reports. A service's reader of such lines is tested in Rust."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/how-to/netassist-srsran.md").read_text()
EVENT = '{\n  "type": "event",\n  "event_name": "rrc_connect"\n}\n'


def sample(kind):
    return re.search(f"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1]


class Adapter:
    """The page's script as a process: reports in, datagrams out."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        # Ends a hang; an answer comes at once.
        self.socket.settimeout(60)
        script = sample("python srsenb").replace("55556", str(self.socket.getsockname()[1]))
        self.process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
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
    """The page's report at another time with other counts."""
    text = sample("json srsenb")
    for key, value in (
        ("timestamp", 1_700_000_000 + ms / 1000),
        ("dl_total_bytes", downlink),
        ("ul_total_bytes", uplink),
        ("dl_buffered_bytes", queued),
    ):
        text = re.sub(f'"{key}": [0-9.]+', f'"{key}": {value}', text)
    return text


def test_the_report_of_the_page_becomes_its_line(adapter):
    adapter.tell(report(0, 100_000, 2_000, 90_000) + EVENT + sample("json srsenb"))
    assert adapter.lines() == [sample("json counters").strip()]


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
