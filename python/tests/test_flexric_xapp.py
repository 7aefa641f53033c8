"""The lines that examples/flexric-xapp makes of FlexRIC's indications. A service's reader of such lines is tested in Rust."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

XAPP = Path(__file__).parents[2] / "examples/flexric-xapp/xapp.py"
# 106 blocks in each of 1400 slots a second.
BLOCKS_PER_SECOND = 148_400


@pytest.fixture
def xapp():
    spec = importlib.util.spec_from_file_location("xapp", XAPP)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(lines, ms, sent, blocks, queued=None, rnti=7):
    """The lines after an indication of each service model."""
    if queued is not None:
        lines.rlc(ms * 1000, [SimpleNamespace(rnti=rnti, rbid=1, txbuf_occ_bytes=queued)])
    user = SimpleNamespace(rnti=rnti, dl_aggr_tbs=sent, ul_aggr_tbs=sent // 100, dl_aggr_prb=blocks)
    return [json.loads(line) for line in lines.mac(ms * 1000, [user])]


def test_indications_are_gathered_until_a_period_is_over(xapp):
    lines = xapp.Lines(BLOCKS_PER_SECOND)
    for step in range(5):
        assert told(lines, 10 * step, 15_000 * step, 0, 100_000) == []
    assert told(lines, 50, 75_000, 0, 100_000) == [
        {
            "rnti": 7,
            "period_ms": 50,
            "served_bytes": 75_000,
            "received_bytes": 750,
            "busy_ms": 50,
            "queued_bytes": 100_000,
        }
    ]
    assert told(lines, 60, 90_000, 0, 100_000) == []


def test_without_a_queue_the_resource_blocks_tell_for_how_long_a_user_was_busy(xapp):
    lines = xapp.Lines(BLOCKS_PER_SECOND)
    told(lines, 0, 0, 0)
    # A hundredth of a second's blocks; one step of 50 ms can hold at most a twentieth.
    [line] = told(lines, 50, 10_000, 1484)
    assert (line["busy_ms"], line["queued_bytes"]) == (10, None)
    [line] = told(lines, 100, 20_000, 1484 + 14_840, 0)
    assert (line["busy_ms"], line["queued_bytes"]) == (50, 0)


def test_two_packets_in_flight_are_no_queue(xapp):
    lines = xapp.Lines(BLOCKS_PER_SECOND)
    told(lines, 0, 0, 0, 3000)
    [line] = told(lines, 50, 3000, 1484, 3000)
    assert (line["busy_ms"], line["queued_bytes"]) == (10, 3000)


def test_counters_that_begin_again_begin_a_period(xapp):
    lines = xapp.Lines(BLOCKS_PER_SECOND)
    told(lines, 0, 1_000_000, 10)
    assert told(lines, 50, 0, 0) == [], "smaller"
    assert told(lines, 50, 0, 0) == [], "of the same time"
    assert told(lines, 20_000, 75_000, 0) == [], "after a pause"
    assert len(told(lines, 20_050, 150_000, 0)) == 1


def test_a_user_is_named_by_its_tunnel_once_that_is_reported(xapp):
    lines = xapp.Lines(BLOCKS_PER_SECOND, "tunnel")
    told(lines, 0, 0, 0)
    assert told(lines, 50, 75_000, 0) == []
    lines.gtp(60_000, [SimpleNamespace(rnti=7, teidgnb=12)])
    assert told(lines, 100, 150_000, 0)[0]["tunnel"] == 12


def test_a_cell_without_users_has_an_empty_line(xapp):
    assert xapp.Lines(BLOCKS_PER_SECOND).mac(0, []) == [""]
