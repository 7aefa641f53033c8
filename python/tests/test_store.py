"""A folder behind an address that fsspec opens. Memory stands for what has no folders, as S3; that itself is not tried here."""

from collections.abc import Iterator
from pathlib import Path

import cellcc
import fsspec
import pytest
from cellcc import _cellcc
from cellcc.shares import Ledger, Work
from cellcc.store import working_folder

PLAN = """
schemes = ["cubic", "reminis"]
traces = ["3g"]
duration = "1s"
"""


@pytest.fixture(params=["memory", "file"])
def address(request, tmp_path) -> Iterator[str]:
    where = f"{request.param}://{tmp_path}/results"
    yield where
    if request.param == "memory":
        fsspec.filesystem("memory").store.clear()


def names(address: str) -> set[str]:
    files, root = fsspec.core.url_to_fs(address)
    return {path.removeprefix(f"{root}/") for path in files.find(root)}


def run(address: str, most: int) -> int:
    """Runs at most so many of the plan's three shares, and gives how many are missing then; at the end, keeps the results."""
    plan = _cellcc.Plan.from_text(PLAN)
    work = Work(plan.scenario, "sampled", ("test",))
    with working_folder(address) as (folder, store):
        with Ledger(folder, plan, "sampled", name=address, kept=store.keep) as ledger:
            if not ledger.count:
                ledger.divide(3)
            for index in ledger.missing()[:most]:
                ledger.add(index, work.run(index, 3))
            if missing := len(ledger.missing()):
                return missing
            ledger.merge(folder)
        store.keep_results()
        return 0


def test_shares_at_an_address_are_not_run_again_and_the_results_are_there_in_the_end(address, tmp_path):
    assert run(address, 2) == 1
    assert names(address) == {"shares/plan.json", "shares/1.tar", "shares/2.tar"}
    assert run(address, 1) == 0, "one share was left"
    assert not any(name.startswith("shares/") for name in names(address))
    cellcc.compare(scenario=_written(tmp_path), out=tmp_path / "here")
    there, root = fsspec.core.url_to_fs(address)
    for name in ["runs.jsonl", "scenario.toml", "report.html"]:
        assert there.cat_file(f"{root}/{name}") == (tmp_path / "here" / name).read_bytes(), name
    series = {f"series/{path.name}" for path in (tmp_path / "here" / "series").iterdir()}
    assert series <= names(address)


def test_what_was_half_written_is_not_there(address):
    assert run(address, 1) == 2
    there, root = fsspec.core.url_to_fs(address)
    there.mv(f"{root}/shares/1.tar", f"{root}/shares/1.tar.part")
    assert run(address, 0) == 3


def test_another_plan_at_the_address_is_refused_by_its_name(address):
    run(address, 1)
    plan = _cellcc.Plan.from_text(PLAN.replace("1s", "2s"))
    with working_folder(address) as (folder, store):
        with pytest.raises(cellcc.InputError, match=f"{address}/shares holds shares of another plan"):
            Ledger(folder, plan, "sampled", name=address, kept=store.keep).__enter__()


def test_an_address_that_nothing_opens_is_refused():
    with pytest.raises(cellcc.InputError, match="nowhere"), working_folder("nowhere://bucket/results"):
        pass


def _written(folder: Path) -> Path:
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"
