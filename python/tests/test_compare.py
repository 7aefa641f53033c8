"""`compare` gives what the command line gives, and is a good citizen of Python."""

import datetime
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import cellcc
import pytest

SHORT = {"duration": "2s", "jobs": 1}


def records(folder: Path) -> bytes:
    return (folder / "runs.jsonl").read_bytes()


def test_the_records_are_those_of_the_command_line_byte_for_byte(cli, tmp_path):
    arguments = ["--schemes", "cubic,reminis,verus", "--traces", "3g", "lte-drive", "--rtt", "30ms", "--queue", "300pkt"]
    command = cli("compare", *arguments, "--seeds", "1..2", "--duration", "3s", "--out", tmp_path / "cli", "--quiet")
    assert command.returncode == 0, command.stderr
    same = dict(schemes=["cubic", "reminis", "verus"], traces=["3g", "lte-drive"], rtt="30ms", queue="300pkt", seeds="1..2", duration="3s")
    in_folder = cellcc.compare(**same, out=tmp_path / "python")
    names = ["runs.jsonl", "scenario.toml", "report.html", *(path.name for path in (tmp_path / "cli").glob("*.svg"))]
    assert len(names) > 3
    for name in names:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes(), name
    in_memory = cellcc.compare(**same)
    lines = [json.loads(line) for line in records(tmp_path / "cli").splitlines()]
    hashes = {"series_sha256", "curves_sha256", "sha256"}
    without = [{key: value for key, value in line.items() if key not in hashes} for line in lines]
    assert [run.record for run in in_memory] == without
    assert [run.record for run in in_folder] == without
    read = cellcc.read(tmp_path / "cli")
    assert read.table["id"] == in_memory.table["id"]
    assert read.report() == in_memory.report()
    explained = cli("explain", tmp_path / "cli", "--format", "json")
    assert read.explain() == json.loads(explained.stdout), explained.stderr
    with pytest.raises(cellcc.InputError, match="hold 1 of it"):
        read.explain(against="cubic")
    series = (tmp_path / "cli" / "series" / f"{lines[1]['id']}.csv").read_text().splitlines()
    assert ",".join(in_memory[1].series().column_names) == series[0]


def test_on_recorded_traces_every_value_is_that_of_the_command_line(cli, tmp_path):
    if "CELLCC_TRACES" not in os.environ:
        print("left out: CELLCC_TRACES names no folder of recorded traces")
        return
    recorded = sorted(map(str, Path(os.environ["CELLCC_TRACES"]).rglob("*.mbps")))
    # A link that carries nothing in the run's time is refused.
    found = [trace for trace in recorded if cellcc.trace(trace).rates_mbit_s("5s", "5s")[0] > 0.1]
    count = int(os.environ.get("CELLCC_TRACE_COUNT", "2"))
    traces = found[:: max(1, len(found) // count)][:count]
    schemes = ["cubic", "bbr", "reminis", "verus", "copa"]
    flags = ["--schemes", ",".join(schemes), "--traces", *traces, "--duration", "5s", "--out", tmp_path, "--quiet"]
    command = cli("compare", *flags)
    assert command.returncode == 0, command.stderr
    result = cellcc.compare(schemes, traces, duration="5s")
    assert len(result) == len(traces) * (1 + len(schemes))
    for run, line in zip(result, records(tmp_path).splitlines(), strict=True):
        written = json.loads(line)
        assert run.record == {key: written[key] for key in run.record}


def test_quic_in_virtual_time_and_harm_are_those_of_the_command_line(cli, tmp_path):
    for schemes, more in [("newreno,noq:newreno", {"driver": "quic-virtual"}), ("bbr", {"driver": ["sim", "quic-virtual"], "harm": "cubic"})]:
        out = tmp_path / schemes
        flags = ["--schemes", schemes, "--traces", "3g", "--duration", "7s", "--out", out, "--quiet"]
        named = [word for key, value in more.items() for word in (f"--{key}", value if isinstance(value, str) else ",".join(value))]
        command = cli("compare", *flags, *named)
        assert command.returncode == 0, command.stderr
        result = cellcc.compare(schemes.split(","), "3g", duration="7s", **more)
        lines = [json.loads(line) for line in records(out).splitlines()]
        assert [run.record for run in result] == [{key: line[key] for key in result[0].record} for line in lines]
        assert ("Harm to cubic" in str(result)) == ("harm" in more)


def test_a_driver_in_real_time_runs_or_says_what_is_missing():
    try:
        result = cellcc.compare("cubic", "rate=5Mbit/s", driver="kernel", **SHORT)
    except cellcc.InputError as error:
        assert str(error).startswith("--driver kernel: ") and "root" in str(error)
    else:
        assert [run.record["driver"] for run in result][1:] == ["kernel"]
    with pytest.raises(cellcc.InputError, match="--driver nosuch: there are sim, quic-virtual, quic, kernel"):
        cellcc.compare("cubic", "3g", driver="nosuch")


def test_every_flag_of_a_condition_is_a_keyword_argument_that_types_know():
    flags = dict(cellcc._cellcc.conditions())
    known = set(cellcc.comparison.Conditions.__annotations__)
    assert known - {"path", "endpoint", "netassist", "vary"} == set(flags) - {"schemes", "traces"}
    same = dict(schemes="cubic", traces="3g", duration="1s")
    one = cellcc.compare(**same, ack_every=2, reverse_loss="1%", like_linux=True)
    other = cellcc.compare(**same, endpoint={"ack_every": 2}, path={"reverse": {"loss": "1%"}}, like_linux=True)
    assert one.table["id"] == other.table["id"]
    with pytest.raises(TypeError, match="speed"):
        cellcc.compare("cubic", "3g", speed=1)


def test_links_results_and_their_folder_are_explained_as_by_the_command_line(cli, tmp_path):
    rows = cellcc.explain(["3g", "lte-drive"], duration=datetime.timedelta(seconds=10), rtt="30ms")
    command = cli("explain", "3g", "lte-drive", "--duration", "10s", "--rtt", "30ms", "--format", "json")
    assert rows == json.loads(command.stdout), command.stderr
    result = cellcc.compare("cubic", "3g", out=tmp_path, **SHORT)
    assert cellcc.explain(result) == cellcc.explain(tmp_path) == result.explain()
    with pytest.raises(cellcc.InputError, match="results or their folder"):
        cellcc.explain("3g", against="cubic")


def test_times_may_be_timedeltas():
    one = cellcc.compare("cubic", "3g", rtt=datetime.timedelta(milliseconds=40), duration=datetime.timedelta(seconds=1))
    other = cellcc.compare("cubic", "3g", rtt="40ms", duration="1s")
    assert one.table["id"] == other.table["id"]


def test_errors_have_the_words_of_the_command_line(cli):
    for keyword, flag, value in [("rtt", "--rtt", "2h"), ("schemes", "--schemes", "reminis(dtt=fast)"), ("traces", "--traces", "nowhere")]:
        command = cli("compare", flag, value, "--duration", "1s")
        assert command.returncode == 2
        with pytest.raises(cellcc.InputError) as raised:
            cellcc.compare(**{keyword: value, "duration": "1s"})
        assert command.stderr.strip() == f"error: {raised.value}"


def test_a_value_without_a_unit_is_refused_with_its_name():
    with pytest.raises(cellcc.InputError, match=r"rtt: .*20ms"):
        cellcc.compare("cubic", "3g", rtt=20)
    with pytest.raises(cellcc.InputError, match="queu"):
        cellcc.compare("cubic", "3g", path={"queu": "10pkt"})


def test_a_list_that_holds_itself_is_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(cellcc.InputError, match="more than 12 lists in one another"):
        cellcc.compare("cubic", "3g", duration="1s", vary={"path.queue": endless})


def test_values_of_a_wrong_kind_are_refused_by_the_name_of_their_argument():
    wrong = {"schemes": 3, "traces": [3.5], "path": ["rtt"], "vary": "path.queue"}
    for name, value in wrong.items():
        with pytest.raises(cellcc.InputError, match=f"^{name}"):
            cellcc.compare(**{"schemes": "cubic", "traces": "3g", **SHORT, name: value})


def test_a_single_value_may_stand_for_a_list_of_one():
    result = cellcc.compare("cubic", "3g", vary={"path.queue": "20pkt"}, **SHORT)
    assert set(result.table["variation"]) == {"path.queue=20pkt"}


def test_varied_conditions_and_tables_are_those_of_a_scenario():
    result = cellcc.compare("cubic", "3g", vary={"path.queue": ["20pkt", "200pkt"]}, endpoint={"ack_every": 2}, **SHORT)
    assert result.table["variation"] == ["path.queue=20pkt"] * 2 + ["path.queue=200pkt"] * 2
    assert result[1].record["scenario"]["endpoint"]["ack_every"] == 2


def test_the_table_goes_to_pandas_and_polars():
    result = cellcc.compare("cubic", "3g", seeds=[1, 2], **SHORT)
    frame = result.to_pandas()
    assert list(frame.columns) == result.table.column_names == result.to_polars().columns
    assert frame["throughput_mbit_s"].tolist() == [run.metrics["throughput_mbit_s"] for run in result]
    assert str(frame["sent_packets"].dtype) == "uint64"
    assert len(cellcc.series(result[1]).to_polars()) == 20


def interrupt_at(run: int) -> Callable[[float, int, int], None]:
    """Sends the signal of Ctrl-C, as a terminal does, once so many runs are through."""

    def look(done: float, runs: int, failed: int) -> None:
        if done >= run:
            os.kill(os.getpid(), signal.SIGINT)

    return look


def test_ctrl_c_ends_the_runs_and_keeps_those_that_are_finished(interrupts):
    interrupts(signal.default_int_handler)
    with pytest.raises(cellcc.Interrupted, match="of 80 runs are finished") as raised:
        cellcc.compare("cubic", "rate=2Gbit/s", seeds=range(1, 41), duration="20s", jobs=1, progress=interrupt_at(2))
    assert 2 <= len(raised.value.result) < 80


def test_where_ctrl_c_is_ignored_as_in_the_background_of_a_script_the_runs_go_on(interrupts):
    interrupts(signal.SIG_IGN)
    assert len(cellcc.compare("cubic", "3g", seeds=[1, 2], progress=interrupt_at(0), **SHORT)) == 4


def test_an_interrupted_folder_is_resumed(tmp_path):
    def stop(done: float, runs: int, failed: int) -> None:
        if done >= 1:
            raise KeyboardInterrupt

    same = dict(schemes="cubic", traces="rate=500Mbit/s", seeds=range(1, 9), duration="2s", jobs=1, out=tmp_path)
    with pytest.raises(cellcc.Interrupted, match="existing='resume'") as raised:
        cellcc.compare(**same, progress=stop)
    finished = raised.value.result
    assert 1 <= len(finished) < 16
    assert str(raised.value).startswith(f"interrupted: {len(finished)} of 16 runs")
    assert all(len(run.series()) for run in finished)
    assert not (tmp_path / "report.html").exists()
    with pytest.raises(cellcc.InputError, match="holds results"):
        cellcc.compare(**same)
    assert len(cellcc.compare(**same, existing="resume")) == 16


def test_other_threads_of_python_go_on_meanwhile():
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    cellcc.compare("cubic", "rate=500Mbit/s", duration="10s", jobs=1)
    over.set()
    thread.join()
    assert counted > 5


def test_a_notebook_shows_the_report_and_pictures():
    result = cellcc.compare(["cubic", "reminis"], "3g", **SHORT)
    assert result._repr_html_().startswith('<iframe srcdoc="&lt;!')
    assert len(result.scatter().collections) == 3
    assert len(result.timeseries("rtt_ms").lines) == 2
    with pytest.raises(KeyError, match="throughput_mbit_s"):
        result.timeseries("speed")


def test_progress_ends_at_the_number_of_runs():
    seen = []
    cellcc.compare("cubic", "3g", seeds="1..3", progress=lambda *now: seen.append(now), **SHORT)
    assert seen[-1] == (6.0, 6, 0)


def test_a_papers_figure_is_that_of_the_command_line_byte_for_byte(cli, tmp_path):
    result = cellcc.compare(["cubic", "reminis(dtt=2x)"], ["3g", "lte-drive"], duration="2s", out=tmp_path / "out")
    flags = ["--x", "rtt-p95", "--y", "throughput", "--scheme", "reminis(dtt=2x)=Reminis", "--scheme", "cubic", "--width", "88mm"]
    command = cli("plot", tmp_path / "out", *flags, "--labels", "--out", tmp_path / "cli.svg")
    assert command.returncode == 0, command.stderr
    schemes = {"reminis(dtt=2x)": "Reminis", "cubic": "cubic"}
    figure = result.plot("rtt-p95", "throughput", schemes=schemes, width="88mm", labels=True, out=tmp_path / "python.svg")
    assert (tmp_path / "python.svg").read_bytes() == (tmp_path / "cli.svg").read_bytes()
    result.plot("rtt-p95", "throughput", out=tmp_path / "python.pdf")
    assert b"/Creator (cellcc " in (tmp_path / "python.pdf").read_bytes()
    assert "Share of packets" in result.plot("rtt", kind="cdf")._repr_svg_()
    assert "Reminis" in figure._repr_svg_()
    with pytest.raises(cellcc.InputError, match="--x speed: neither a column of the table nor a condition"):
        result.plot("speed")
