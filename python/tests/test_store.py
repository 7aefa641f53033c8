"""A folder behind an address that fsspec opens. Memory stands for what has no folders, as S3; that itself is not tried here."""

import io
import tarfile
import tempfile
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


@pytest.fixture
def within(tmp_path, monkeypatch) -> Path:
    """A folder, three deep, that temporary folders are made in: what is written next to them stays below `tmp_path`."""
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", ["../../escaped", "shares/../../escaped", "/{folder}/escaped", ".."])
def test_a_name_that_leads_out_of_the_folder_is_refused(name, within, monkeypatch, tmp_path):
    # Keys of S3 may hold `..`. What was at such a name was written outside, as the user.
    bucket = type(fsspec.filesystem("memory"))
    monkeypatch.setattr(bucket, "find", lambda self, root: [f"{root}/{name.format(folder=tmp_path)}"])
    monkeypatch.setattr(bucket, "get_file", lambda self, path, local: Path(local).write_text("escaped"))
    with pytest.raises(cellcc.InputError, match="leads out of the folder"), working_folder("memory://results"):
        pass
    assert not list(tmp_path.rglob("escaped"))


def member(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    described = tarfile.TarInfo(name)
    described.type, described.linkname = kind, "/etc/passwd"
    return described


@pytest.mark.parametrize(
    "hostile",
    [
        member("../../../escaped"),
        member("/escaped"),
        member("escaped", tarfile.SYMTYPE),
        member("escaped", tarfile.LNKTYPE),
        member("escaped", tarfile.FIFOTYPE),
        member("escaped", tarfile.CHRTYPE),
        member("escaped", tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda member: f"{member.name}, type {member.type!r}",
)
def test_an_archive_with_anything_but_files_of_the_folder_is_refused(hostile, within, address, tmp_path):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as members:
        members.addfile(hostile)
    files, root = fsspec.core.url_to_fs(address)
    files.makedirs(f"{root}/shares", exist_ok=True)
    files.pipe_file(f"{root}/shares/1.tar", archive.getvalue())
    with pytest.raises(cellcc.InputError, match="leads out of the folder|is not a file"), working_folder(address):
        pass
    assert not list(tmp_path.rglob("escaped"))


def test_an_archive_that_is_cut_off_is_named(address):
    run(address, 1)
    files, root = fsspec.core.url_to_fs(address)
    files.pipe_file(f"{root}/shares/1.tar", files.cat_file(f"{root}/shares/1.tar")[:1000])
    with pytest.raises(cellcc.InputError, match=r"shares/1\.tar is damaged"), working_folder(address):
        pass


def test_an_address_that_nothing_opens_is_refused():
    with pytest.raises(cellcc.InputError, match="nowhere"), working_folder("nowhere://bucket/results"):
        pass


def _written(folder: Path) -> Path:
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"
