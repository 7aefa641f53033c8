"""`cellcc.radio`: findings from recordings of a radio with known parameters, from the model, and from published recordings."""

import json
import math
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cellcc
import pytest
from cellcc.radio import Findings, Grants, Pings, Recording, blocks, findings, parse, read

from recordings import HEADER, Channel, Pinged, log

UPLINK = Channel(
    failed=0.14,
    bad=0.20,
    failed_when_bad=0.45,
    memory_ms=60.0,
    again_ms=6,
    again_fails=0.26,
    later_fails=0.45,
    direction=blocks.UP,
)


def recording(text: str) -> Recording:
    return parse("recording", text.encode())


def found(*texts: str) -> Findings:
    return findings([recording(text) for text in texts])


def grants(channel: Channel) -> Grants:
    """Eight logs of 60,000 blocks: a cell's downlink has as many in two hours."""
    both = findings([Recording(channel.grants(60_000, seed), []) for seed in range(8)])
    assert both.pings is None
    one, other = (both.down, both.up) if channel.direction == blocks.DOWN else (both.up, both.down)
    assert other is None
    assert one is not None
    return one


def pings(pinged: Pinged, runs: int) -> Pings:
    of = found(*map(pinged.run, range(runs))).pings
    assert of is not None
    return of


def close(truth: float) -> object:
    """Within a tenth of the truth: with fewer failures than a fit needs, a share has that error."""
    return pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("truth", [Channel(), UPLINK, Channel(slots_per_frame=20)])
def test_the_two_states_of_a_channel_come_out_of_its_grants(truth):
    of = grants(truth)
    assert of.states.failed_share == close(truth.failed)
    assert of.states.bad_share == close(truth.bad)
    assert of.states.failed_when_bad_share == close(truth.failed_when_bad)
    assert of.states.memory_ms == close(truth.memory_ms)
    assert of.again_fails_share == close(truth.again_fails)
    assert of.later_fails_share == close(truth.later_fails)
    assert of.again_ms == truth.again_ms
    assert (of.blocks, of.users) == (8 * 60_000, 8)


def test_a_channel_without_states_has_none():
    of = grants(Channel(bad=0.0))
    assert (of.states.bad_share, of.states.memory_ms) == (0.0, None)
    assert of.states.failed_share == close(0.06)
    failed = f"{math.ceil(of.states.failed_share * 1e4) / 100:g}%"
    assert of.harq.startswith(f"slot=1ms, failed={failed}, failed_when_bad={failed}, again=7ms, again_fails=1")


def test_a_receiver_that_misses_grants_sees_how_many_blocks_fail():
    """A share of blocks seen from the start needs both transmissions, and is a fifth too small."""
    of = grants(Channel(missed=0.2))
    assert of.again_share == close(0.06)
    assert of.again_share_seen == close(0.06 * 0.8)


def test_a_few_blocks_are_described_and_not_explained():
    of = found(log(Channel().grants(500, 1))).down
    assert (of.blocks, of.states, of.harq) == (500, None, None)


def test_a_repetition_holds_back_the_blocks_that_come_before_it_is_there():
    # 60 blocks in 60 slots; the 11th is sent again 7 ms later: it waits 7 ms, and six others 6 to 1.
    rows = []
    for slot in range(60):
        line = f"5.{slot:03},{{}},{{}},17,C-RNTI,1_1,9,{{}},{{}},{{}}\n"
        rows.append(line.format((1020 + slot // 10) % 1024, slot % 10, 0, slot // 16 % 2, slot % 16))
        if slot == 17:
            rows.append(line.format(1021, 7, 2, 0, 10))
    of = found(HEADER + "".join(rows)).down
    assert (of.grants, of.blocks, of.seconds) == (61, 60, 0.059)
    assert (of.held_back_share, of.again_ms) == (7 / 60, 7.0)
    assert of.held_back_mean_ms == 28 / 60


@pytest.mark.parametrize(
    ("cycle_ms", "interval_ms", "stamps"),
    # 213 ms meet every phase of every cycle within 25 pings; 200.7 ms sweep 18 ms, which is enough for cycles up to 20 ms.
    [(20.0, 200.7, True), (20.0, 200.7, False), (10.0, 200.7, True), (20.0, 213.0, True), (40.0, 213.0, True)],
)
def test_a_cycle_of_requests_shows_in_pings_with_and_without_stamps(cycle_ms, interval_ms, stamps):
    cycle = pings(Pinged(cycle_ms=cycle_ms, interval_ms=interval_ms, stamps=stamps, lost=0.01), 4).cycle
    assert cycle.request_ms == cycle_ms
    assert share(cycle, cycle_ms) > 0.9


def share(cycle, request_ms: float) -> float:
    """The share of windows with this cycle."""
    (of,) = (period.share for period in cycle.periods if period.period_ms == request_ms)
    return of


def test_waits_without_a_cycle_show_none():
    of = pings(Pinged(has_cycle=False, wake_ms=16.0), 60)
    assert (of.cycle.request_ms, of.access) == (None, None)


def test_the_first_ping_says_how_long_waking_up_takes():
    of = pings(Pinged(wake_ms=16.0), 60)
    # The median of n waits that are uniform up to w has a standard error of w / (2 √(n + 2)): 1.3 ms, three times.
    assert of.first.p50_ms == pytest.approx(16.0, abs=3.8)
    assert (of.first.runs, of.sent, of.lost_share) == (60, 9_000, 0.0)
    assert of.access.startswith("request=20ms, wake=1")
    assert pings(Pinged(), 60).access == "request=20ms"


def test_pings_without_a_clock_have_no_cycle_and_losses_are_counted_without_a_summary():
    text = Pinged(lost=0.02, stamps=False).run(3)
    whole, cut = found(text).pings, found(text.partition("\n--- ")[0]).pings
    assert whole.cycle is not None
    assert whole.lost_share > 0
    assert (cut.cycle, cut.runs) == (None, 1)
    assert cut.lost_share == pytest.approx(whole.lost_share, abs=0.02)


def test_one_file_may_hold_many_runs_and_a_run_more_pings_than_16_bits_count():
    assert found(Pinged().run(1) + Pinged().run(2)).pings.runs == 2
    long = "".join(f"64 bytes from a: icmp_seq={number % 65_536} ttl=60 time=30 ms\n" for number in range(1, 70_001))
    assert found(long).pings.sent == 70_000


def test_dates_are_stamps_also_before_lines_without_a_ping():
    def run(time: str) -> str:
        lines = (
            f"[2025-03-15T12:34:{second}.5+00:00] 64 bytes from a: icmp_seq={second} time={time.format(second)} ms\n"
            for second in range(10, 60)
        )
        return "".join(lines)

    assert found(run("30.{}") * 3).pings.cycle is None, "they vary by less than half a millisecond"
    assert found(run("3{}") * 3).pings.cycle is not None
    # As NUWiNS has them: a date before every line.
    text = Pinged().run(1)
    clock = re.compile(r"^\[172750(\d{4})(\.\d+)\]", re.MULTILINE)
    dated = clock.sub(lambda it: f"[2023-05-13 {int(it[1]) // 3600:02}:{int(it[1]) // 60 % 60:02}:{int(it[1]) % 60:02}{it[2]}]", text)
    dated = re.sub(r"^(?!\[)", "[2023-05-13 10:22:42.824897] ", dated, flags=re.MULTILINE)
    assert found("Start time: 1683987762693\n" + dated + "\nEnd time: 1683987792766\n") == found(text)


ROW = "1.5,3,9,20844,C-RNTI,1_1,9,0,1,5\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "recording: `` begins no recording of a radio: expected a log of NR-Scope"),
        ("time_s,rate_mbit_s\n0,1\n", "recording:1: `time_s,rate_mbit_s` begins no recording"),
        ("harq_id,timestamp\n1,2\n", "recording:1: no `system_frame_index` among the columns"),
        (HEADER + ROW.replace("1.5", "soon"), "recording:2: `soon` is not the logger's time"),
        (HEADER + ROW.replace("1.5", "9e300"), "recording:2: `9e300` is not the logger's time"),
        (HEADER + ROW.replace(",9,20844", ",80,20844"), "recording:2: `80` is not a slot of a frame: 0 to 79"),
        (HEADER + ROW.replace("1_1", "2_0"), "recording:2: `2_0` is not a DCI format"),
        (HEADER + ROW.replace("C-RNTI", "SI-RNTI"), "recording: holds no grant to a phone"),
        (HEADER + ROW.replace("1_1", "unknown"), "recording: holds no grant to a phone"),
        (HEADER + "1.5,3\n", "recording:2: cannot be read: "),
        ("a: icmp_seq=70000 time=3 ms\n", "recording:1: `70000` is not the number of a ping"),
        ("\na: icmp_seq=7 time=-3 ms\n", "recording:2: `-3` is not the milliseconds of a ping"),
        ("many packets transmitted, 3 received\n", "recording:1: `many` is not a number of packets"),
        ("\0\n", "recording: is not text"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_file_and_line(text, expected):
    with pytest.raises(cellcc.InputError, match="^" + re.escape(expected)):
        recording(text)


def test_a_cut_line_is_left_out_and_damaged_files_are_refused(tmp_path):
    assert found(HEADER + ROW + ROW[:9]).down.grants == 1
    with pytest.raises(cellcc.InputError, match="gzip data is damaged"):
        parse("a", bytes([0x1F, 0x8B, 8, 0]))
    with pytest.raises(cellcc.InputError, match="none.txt: cannot be read: No such file"):
        read(tmp_path / "none.txt")


def test_no_text_makes_it_raise_another_error():
    draw = random.Random(1)
    pieces = ["PING ", "icmp_seq=", "time=", " ms\n", "[", "]", " packets transmitted, ", "harq_id,", "timestamp,", ", time "]
    pieces += [*"0123456789.,\n -é\r\"#", HEADER, "1e400", "a: icmp_seq=65535 time=30 ms\n", "9 packets transmitted, 7\n"]
    read_some = 0
    for _ in range(3_000):
        text = "".join(draw.choices(pieces, k=draw.randrange(60))) + "\n"
        try:
            findings([recording(text)])
            read_some += 1
        except cellcc.InputError:
            pass
    assert read_some > 50


def test_no_grants_make_it_raise():
    draw = random.Random(2)
    for _ in range(100):
        rows = (
            f"{draw.uniform(0, 1e11)},{draw.randrange(1024)},{draw.randrange(80)},{bit},C-RNTI,{bit}_1,9,{small},{bit},{small}\n"
            for bit, small in ((draw.randrange(2), draw.randrange(4)) for _ in range(draw.randrange(1, 300)))
        )
        assert any((of := found(HEADER + "".join(rows))).__dict__.values()), of


def test_no_pings_make_it_raise():
    draw = random.Random(3)
    for _ in range(100):
        lines = (
            f"[{draw.uniform(0, 1e12)}] a: icmp_seq={draw.randrange(65_536)} time={draw.choice([0, 30, draw.uniform(0, 1e12)])} ms\n"
            for _ in range(draw.randrange(1, 60))
        )
        assert found("".join(lines) * 4).pings is not None


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cellcc.radio", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_command_prints_tables_and_lines_for_a_scenario(tmp_path):
    # Pings every 213 ms of a phone that asks for grants every 20 ms.
    replies = "".join(
        f"64 bytes from a: icmp_seq={number} ttl=60 time={34 + -213 * number % 20} ms\n" for number in range(1, 151)
    )
    (tmp_path / "ping.txt").write_text(replies + "150 packets transmitted, 150 received, 0% packet loss, time 31737ms\n")
    (tmp_path / "cut.txt").write_text(replies)
    (tmp_path / "words.csv").write_text("a,b\n1,2\n")
    (tmp_path / "log.csv").write_text(log(Channel().grants(500, 1)))
    table = command(tmp_path / "ping.txt").stdout
    assert table.endswith('[path]\n[path.reverse]\naccess = "request=20ms"\n')
    of = json.loads(command(tmp_path / "ping.txt", tmp_path / "cut.txt", "--format", "json").stdout)
    assert (of["pings"]["runs"], of["down"]) == (2, None)
    assert command(tmp_path / "cut.txt").stdout.endswith(
        "# no access: it takes runs of 100 replies with their times (ping -D -c 150)\n"
    )
    lines = command(tmp_path / "log.csv").stdout.splitlines()
    assert re.fullmatch(r" blocks of the radio +down", lines[0])
    assert re.fullmatch(r" blocks +500", lines[5])
    assert len({len(line) for line in lines[:20]}) == 1, "columns of numbers end together"
    refused = command(tmp_path / "words.csv")
    assert refused.returncode == 2
    assert "words.csv:1: `a,b` begins no recording" in refused.stderr


def flow(cli, folder: Path, *arguments: str) -> list[tuple[float, float]]:
    """When the acknowledgements of a flow in the simulator came, and their RTTs, in milliseconds."""
    made = cli("compare", "--quiet", *arguments, "--out", folder / "out", "--events", folder / "events")
    assert made.returncode == 0, made.stderr
    (events,) = (folder / "events").iterdir()
    dump = cli("replay", events, "--dump").stdout
    acks = re.findall(r"^\d+ ([\d.]+) ack .* rtt_sample=([\d.]+)(us|ms|s) ", dump, re.MULTILINE)
    in_ms = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    return [(float(at) * 1e3, float(rtt) * in_ms[unit]) for at, rtt, unit in acks]


@pytest.mark.parametrize("request_ms", [10.0, 20.0, None])
def test_the_cycle_shows_in_the_round_trips_of_the_model(cli, tmp_path, request_ms):
    """A packet of 1,500 bytes every 200.7 ms, over a path of 34 ms. A window of 25 passes through 17.5 ms of a cycle: of one
    of 40 ms it says no more than that it is longer than 10."""
    access = [] if request_ms is None else ["--access", f"request={request_ms:g}ms"]
    path = ["--traces", "1000Mbit/s", "--rtt", "34ms", "--duration", "300s"]
    acks = flow(cli, tmp_path, "--schemes", "cubic:rate(59.79kbit/s)", *path, *access)
    assert len(acks) > 1_400
    lines = (
        f"[{at / 1e3:.6f}] 64 bytes from a: icmp_seq={number} ttl=60 time={rtt:.3f} ms\n"
        for number, (at, rtt) in enumerate(acks, 1)
    )
    cycle = found("".join(lines)).pings.cycle
    if request_ms is None:
        assert cycle is None
    else:
        assert share(cycle, request_ms) > 0.9


def published(variable: str, pattern: str) -> list[Path]:
    """Published recordings of this name in the folder that a variable names, or below it; none without that variable."""
    if variable not in os.environ:
        print(f"left out: {variable} names no folder of {pattern}", file=sys.stderr)
        return []
    return sorted(Path(os.environ[variable]).rglob(pattern))


@pytest.mark.parametrize("name", ["rtt_tmobile_sa.out", "rtt_tmobile_nsa.out"])
def test_the_cycle_shows_in_recorded_pings(name):
    """T-Mobile, Chicago and Boston: 20 ms in 10.2 % (SA) and 13.2 % (NSA) of the windows, and in none of them where their
    RTTs are shuffled."""
    runs = published("CELLCC_PINGS", name)
    if not runs:
        return
    cycle = findings([read(path) for path in runs]).pings.cycle
    (period,) = (period for period in cycle.periods if period.period_ms == 20.0)
    assert 0.08 <= period.share < 0.17
    assert period.shuffled_share < 0.01


def test_the_published_logs_of_a_cell_say_what_was_measured_in_them():
    """The 11 logs of T-Mobile's first cell that NR-Scope's authors published (repository PrincetonUniversity/NR-Scope, commit
    698ceeb, demo_script/t_mobile1_ueactivity_*.csv), in the folder of CELLCC_RADIO_LOGS."""
    logs = published("CELLCC_RADIO_LOGS", "t_mobile1_ueactivity_*.csv")
    if not logs:
        return
    of = findings([read(path) for path in logs]).down
    assert (len(logs), of.grants, of.blocks, of.again_ms) == (11, 149_414, 142_584, 7.0)
    assert (round(of.again_share * 100, 1), round(of.held_back_share * 100, 1)) == (4.6, 7.9)
    at_once = of.by_lag[0]
    assert (round(at_once.after_failed_share * 100), round(at_once.after_good_share * 100)) == (40, 4)


@pytest.mark.parametrize("cell", ["t_mobile1_ueactivity_*.csv", "t_mobile2_ueactivity_*.csv"])
def test_recorded_blocks_under_load_are_held_back_as_in_the_model(cli, tmp_path, cell):
    """Two cells' downlinks under load: 16.2 and 16.1 % were held back, and 1.24 and 1.34 ms on average. The model's packets
    leave in the slots of these blocks."""
    logs = published("CELLCC_RADIO_LOGS", cell)
    if not logs:
        return
    loaded = [
        stretch
        for path in logs
        for of_one in blocks.of_users(blocks.in_order(read(path).grants, blocks.DOWN, 10), 1.0)[0]
        if len(of_one) >= 40
        for stretch in stretches(of_one)
    ]
    recorded = []
    for stretch in loaded:
        until = -math.inf
        for block in stretch:
            until = max(until, block.last)
            recorded.append(until - block.first)
    held_share, mean_ms = held_back(recorded)
    assert held_share == pytest.approx(0.16, abs=0.01)
    assert 1.1 <= mean_ms < 1.5
    # Each block is an opportunity of a link, whose queue is full by then. Stretches are 100 ms apart: the state of the first is
    # long forgotten.
    slots, at = [], 1_000
    for stretch in loaded:
        slots += [at + block.first - stretch[0].first for block in stretch]
        at = slots[-1] + 100
    (tmp_path / "blocks.mahi").write_text("".join(f"{slot}\n" for slot in slots))
    path = ["--traces", tmp_path / "blocks.mahi", "--rtt", "1ms", "--queue", "unlimited", "--duration", f"{at}ms"]
    late_ms = []
    for seed in range(1, 6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        run = ["--schemes", "fixed-window(window=1000pkt)", "--harq", "fdd", "--seeds", str(seed)]
        acks = flow(cli, folder, *run, *path)
        late = [came - slot for (came, _), slot in zip(acks, slots, strict=False)]
        assert max(late) - min(late) < 50, "a repeated packet took an opportunity"
        late_ms += [round(one - min(late), 3) for one in late]
    held_share, mean_ms = held_back(late_ms)
    assert 0.12 <= held_share < 0.20
    assert 0.9 <= mean_ms < 1.5


def stretches(of_one: list[blocks.Block]) -> list[list[blocks.Block]]:
    """Stretches of load: thirty blocks and more, each with twenty of its user within the 50 ms before or after."""
    firsts = [block.first for block in of_one]
    found: list[list[blocks.Block]] = [[]]
    for at, block in enumerate(of_one):
        before = sum(first >= block.first - 50 for first in firsts[max(at - 200, 0) : at])
        after = sum(first < block.first + 50 for first in firsts[at : at + 200])
        if found[-1] and block.first - found[-1][-1].first >= 50:
            found.append([])
        if max(before, after) >= 20:
            found[-1].append(block)
        elif found[-1]:
            found.append([])
    return [stretch for stretch in found if len(stretch) >= 30]


def held_back(late_ms: list[float]) -> tuple[float, float]:
    """The share that is held back, and the mean over all in milliseconds."""
    return sum(late > 0 for late in late_ms) / len(late_ms), sum(late_ms) / len(late_ms)
