"""Schemes written in Python run next to the built-in ones."""

import signal
import threading
from pathlib import Path

import cellcc
import pytest
from cellcc import Ack, Context, Limits, Loss, Scheme
from test_compare import interrupt_at
from tide_from_spec import sender


class Aimd(Scheme):
    """Additive increase by `gain` packets an RTT, half the window on a loss."""

    def __init__(self, context: Context, gain: float = 1.0) -> None:
        super().__init__(context)
        self.gain = gain
        self.window = float(context.initial_window_bytes)

    def on_ack(self, ack: Ack) -> None:
        if ack.window_limited and not ack.in_recovery:
            self.window += self.gain * ack.packet_bytes * ack.bytes / self.window

    def on_loss(self, loss: Loss) -> None:
        if loss.new_episode:
            self.window = max(self.window / 2, 2 * loss.packet_bytes)

    def limits(self) -> Limits:
        return Limits(self.window)


class Paced(Scheme):
    """A rate of 4 Mbit/s at first, and of 8 from the first timer on."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rate = 4.0

    def next_timer(self) -> float | None:
        return 1.0 if self.rate == 4.0 else None

    def on_timer(self, now_s: float) -> None:
        assert now_s == 1.0
        self.rate = 8.0

    def limits(self) -> Limits:
        return Limits(1e6, pacing_mbit_s=self.rate)


class Broken(Scheme):
    """Fails at its first acknowledgement."""

    def on_ack(self, ack: Ack) -> None:
        raise ZeroDivisionError("in the scheme")

    def limits(self) -> Limits:
        return Limits(self.context.initial_window_bytes)


cellcc.register("aimd", Aimd)
cellcc.register("paced", Paced)
cellcc.register("broken", Broken)
cellcc.register("tide-spec", sender(Scheme))


def test_it_runs_next_to_built_in_schemes_and_is_the_same_each_time():
    run = lambda: cellcc.compare(["aimd", "aimd(gain=4)", "cubic", "aimd+cubic"], "3g", duration="5s", jobs=2)
    first, again = run(), run()
    assert [run.record for run in first] == [run.record for run in again]
    throughput = dict(zip(first.table["scheme"], first.table["throughput_mbit_s"], strict=True))
    assert throughput["aimd"] > 0.2 and throughput["aimd(gain=4)"] != throughput["aimd"]
    assert first[1].record["flows"][0]["scheme"] == "aimd"


def test_a_class_is_a_scheme_under_its_name_in_lower_case():
    class Gentle(Aimd):
        """A tenth of the gain."""

        def __init__(self, context: Context, gain: float = 0.1) -> None:
            super().__init__(context, gain)

    result = cellcc.compare([Gentle, "gentle(gain=2)", "cubic"], "3g", duration="2s")
    assert [run.scheme for run in result][1:] == ["gentle", "gentle(gain=2)", "cubic"]
    assert [run.scheme for run in cellcc.compare(Gentle, "3g", duration="1s")][1:] == ["gentle"]
    assert {row["case"] for row in cellcc.check(Gentle, cases="rfc9743/drop-tail")} == {"rfc9743/drop-tail"}
    with pytest.raises(cellcc.InputError, match="is not the name of a scheme"):
        cellcc.compare(int, "3g")  # type: ignore[arg-type]


def test_a_class_in_the_place_of_a_scheme_is_judged_by_its_papers_claims(monkeypatch):
    class Small(Scheme):
        """Ten packets, which leave nearly all of a fast link."""

        def limits(self) -> Limits:
            return Limits(10 * self.context.packet_bytes)

    # The use of a link after its rate has risen, for `reminis(dtt=40ms,profile=paper)`.
    monkeypatch.delenv("CELLCC_TRACES", raising=False)
    repository = Path(__file__).parents[2]
    [row] = cellcc.reproduce("REM-28", repository=repository, scale="smaller", schemes={"reminis": Small})
    assert row["verdict"] == "miss" and row["values"][0] < 0.1, row
    with pytest.raises(cellcc.InputError, match="no scheme `nosuch`"):
        cellcc.reproduce("REM-28", repository=repository, schemes={"nosuch": Small})


@pytest.mark.parametrize(
    "run",
    [
        lambda scheme: cellcc.compare(scheme, "3g", duration="5s", seeds=range(1, 4), jobs=1),
        lambda scheme: cellcc.check(scheme, cases="rfc9743/drop-tail", jobs=1),
    ],
    ids=["compare", "check"],
)
def test_all_events_of_a_run_share_a_thread_state_of_python(run):
    # Each event once made and freed one, which took the system three times as long as the event took Python. A thread's local
    # values go with its state.
    local = threading.local()
    states = events = 0

    class Counting(Aimd):
        def on_ack(self, ack: Ack) -> None:
            nonlocal states, events
            states += not hasattr(local, "known")
            local.known = True
            events += 1
            super().on_ack(ack)

    cellcc.register("counting", Counting)
    run("counting")
    assert events > 100 * states > 0


def test_ctrl_c_ends_several_runs_at_a_time(interrupts):
    interrupts(signal.default_int_handler)
    with pytest.raises(cellcc.Interrupted, match="of 80 runs are finished") as raised:
        cellcc.compare("aimd", "rate=20Mbit/s", seeds=range(1, 41), duration="20s", jobs=3, progress=interrupt_at(2))
    assert 2 <= len(raised.value.result) < 80


def test_runs_at_the_same_time_may_wait_for_each_other():
    # Where one run at a time had Python's lock from its beginning to its end, the barrier would break.
    both = threading.Barrier(2, timeout=60)

    class Meeting(Aimd):
        def on_ack(self, ack: Ack) -> None:
            super().on_ack(ack)
            if ack.round_start and ack.round < 10:
                both.wait()

    cellcc.register("meeting", Meeting)
    assert len(cellcc.compare("meeting", "rate=20Mbit/s", seeds=[1, 2], duration="5s", jobs=2)) == 4


def test_records_name_its_code_and_those_of_others_do_not():
    own = cellcc.compare("aimd", "3g", duration="1s").table["version"][0]
    assert own.startswith(cellcc.__version__ + ", aimd ")
    assert cellcc.compare("cubic", "3g", duration="1s").table["version"][0] == cellcc.__version__


def test_a_pacing_rate_and_a_timer():
    result = cellcc.compare("paced", "rate=20Mbit/s", duration="2s", rtt="20ms")
    sent = result[1].series()["flow0.throughput_mbit_s"]
    assert sum(sent[2:10]) / 8 == pytest.approx(4.0, rel=0.05)
    assert sum(sent[12:]) / 8 == pytest.approx(8.0, rel=0.05)


@pytest.mark.parametrize("schemes", ["tide", "tide+cubic"])
@pytest.mark.parametrize(
    ("link", "conditions"),
    [
        ("rate=2Mbit/s", {"queue": "10pkt"}),
        ("rate=2Mbit/s", {"extra_loss": "3%"}),
        ("step=2Mbit/s@3s,0Mbit/s@4s,2Mbit/s@20s", {}),
    ],
)
def test_tide_of_its_specification_does_what_tide_does(link: str, conditions: dict[str, str], schemes: str):
    # At this rate Tide's bursts are of a packet, which is what schemes in Python have.
    both = [schemes, schemes.replace("tide", "tide-spec")]
    table = cellcc.compare(both, link, duration="20s", **conditions).table
    differs = [name for name in table.column_names if table[name][-2] != table[name][-1]]
    assert table["scheme"][-2:] == both
    assert set(differs) <= {"scheme", "id", "version"}


def test_what_it_raises_is_raised():
    with pytest.raises(ZeroDivisionError, match="in the scheme"):
        cellcc.compare("broken", "3g", duration="2s")


@pytest.mark.parametrize("limits", [5, (float("nan"), None), (3000.0, 0.0), None])
def test_other_values_than_limits_are_refused_with_what_is_wanted(limits):
    cellcc.register("wrong", type("Wrong", (cellcc.Scheme,), {"limits": lambda self: limits}))
    with pytest.raises(ValueError, match=r"limits\(\) gave .*; it gives Limits\(window_bytes, pacing_mbit_s\)"):
        cellcc.compare("wrong", "3g", duration="1s")


def test_it_is_listed_and_built_in_names_are_kept():
    listed = {scheme["name"]: scheme for scheme in cellcc.schemes()}
    assert listed["aimd"]["parameters"][0]["default"] == "1"
    assert listed["reminis"]["source"] != listed["aimd"]["source"] == "written in Python"
    with pytest.raises(cellcc.InputError, match="is a scheme of cellcc"):
        cellcc.register("cubic", Aimd)
