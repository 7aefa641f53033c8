"""Shares of a plan, without the engine that carries them to machines."""

import os
from pathlib import Path

import cellcc
import pytest
from cellcc import _cellcc
from cellcc.shares import Ledger, Work

PLAN = """
schemes = ["cubic", "reminis"]
traces = ["3g", "rate=10Mbit/s"]
seeds = "1..2"
duration = "1s"
"""


def planned(text: str = PLAN) -> tuple[_cellcc.Plan, Work]:
    plan = _cellcc.Plan.from_text(text)
    return plan, Work(plan.scenario, "sampled", ("test",))


def content(folder: Path) -> dict[str, bytes]:
    """What does not depend on the machine and the hour."""
    names = ["runs.jsonl", "scenario.toml", "report.html", *(f"series/{path.name}" for path in (folder / "series").iterdir())]
    return {name: (folder / name).read_bytes() for name in names}


def test_merged_shares_are_what_the_command_line_leaves_byte_for_byte(cli, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    command = cli("compare", "--scenario", tmp_path / "plan.toml", "--out", tmp_path / "cli", "--quiet")
    assert command.returncode == 0, command.stderr
    plan, work = planned()
    with Ledger(tmp_path / "out", plan, "sampled") as ledger:
        ledger.divide(3)
        for index in ledger.missing():
            ledger.add(index, work.run(index, ledger.count))
        ledger.merge(tmp_path / "out")
    assert content(tmp_path / "out") == content(tmp_path / "cli")
    assert not (tmp_path / "out" / "shares").exists()


def test_what_is_finished_is_not_run_again_and_what_is_half_written_is(tmp_path):
    plan, work = planned()
    with Ledger(tmp_path, plan, "sampled") as ledger:
        assert ledger.count == 0
        ledger.divide(4)
        ledger.add(2, work.run(2, 4))
    (tmp_path / "shares" / "3.part").mkdir()
    with Ledger(tmp_path, plan, "sampled") as ledger:
        assert ledger.count == 4
        assert ledger.missing() == [1, 3, 4]
        ledger.add(3, work.run(3, 4))
        assert ledger.missing() == [1, 4]


def test_shares_of_another_plan_are_refused(tmp_path):
    with Ledger(tmp_path, planned()[0], "sampled") as ledger:
        ledger.divide(4)
    for plan, series in [(planned(PLAN.replace("1s", "2s"))[0], "sampled"), (planned()[0], "off")]:
        with pytest.raises(cellcc.InputError, match="another plan"), Ledger(tmp_path, plan, series):
            pass


@pytest.mark.parametrize("written", ["[]", "[" * 100_000, "1e12", "1000000000000", "0", '"4"', None])
def test_a_plan_that_was_changed_is_named_and_not_followed(written, tmp_path):
    # With 10**12 shares, looking for the missing ones took all memory. None stands for a pipe, whose writer was waited for.
    with Ledger(tmp_path, planned()[0], "sampled") as ledger:
        ledger.divide(4)
    plan = tmp_path / "shares" / "plan.json"
    if written is None:
        plan.unlink()
        os.mkfifo(plan)
    else:
        plan.write_text(plan.read_text().replace('"shares": 4', f'"shares": {written}'))
    with pytest.raises(cellcc.InputError, match="plan.json was changed"), Ledger(tmp_path, planned()[0], "sampled"):
        pass


@pytest.mark.parametrize("name", ["../../escaped", "{folder}/escaped", "series/../../../escaped", ""])
def test_a_worker_names_no_file_outside_its_share(name, tmp_path):
    plan, _ = planned()
    with Ledger(tmp_path / "out", plan, "sampled") as ledger:
        ledger.divide(4)
        with pytest.raises(cellcc.InputError, match="leads out of the folder"):
            ledger.add(1, {name.format(folder=tmp_path): b"escaped"})
        assert ledger.missing() == [1, 2, 3, 4]
    assert not list(tmp_path.rglob("escaped"))


def test_two_processes_do_not_run_the_same_shares(tmp_path):
    plan, _ = planned()
    with Ledger(tmp_path, plan, "sampled"):
        with pytest.raises(cellcc.InputError, match="another process"), Ledger(tmp_path, plan, "sampled"):
            pass


def test_a_share_takes_as_long_as_asked_for_by_what_its_runs_are_expected_to_take():
    # 10 Mbit/s are 833 packets a second, at 180 ns each; a run a scheme and the limit.
    plan = _cellcc.Plan.from_text('schemes = ["cubic", "reminis"]\ntraces = ["rate=10Mbit/s"]\nduration = "100s"\n')
    expected_s = 3 * 83_333 * 180e-9
    assert plan.share_count(expected_s * 1.01, 1.0) == 1
    assert plan.share_count(expected_s / 1.99, 1.0) == 2
    assert plan.share_count(expected_s, 1.99) == 2, "on a processor that takes twice as long"
    assert plan.share_count(0.0, 1.0) == 3, "at most one for each run"
