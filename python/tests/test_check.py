"""Verdicts from Python: cases of conformance, and what papers claim."""

import json
from pathlib import Path

import cellcc
import pytest

REPOSITORY = Path(__file__).parents[2]


def test_a_scheme_has_a_row_for_each_condition():
    rows = cellcc.check("cubic", cases="rfc9743/drop-tail", progress=False)
    assert [row["ruling"] for row in rows] == ["pass"]
    assert rows[0]["case"] == "rfc9743/drop-tail" and rows[0]["value"] > 0.9


def test_noqs_own_is_checked_by_the_driver_that_has_it_and_others_by_those_that_are_named():
    rows = cellcc.check("noq:cubic", cases="rfc9743/drop-tail")
    assert {row["driver"] for row in rows} == {"quic-virtual"}
    rows = cellcc.check("cubic", cases="rfc9743/drop-tail", driver="sim,quic-virtual")
    assert [row["driver"] for row in rows] == ["sim", "quic-virtual"]


def test_scores_are_those_of_the_command_line(cli):
    rows = cellcc.score("vegas")
    assert rows == json.loads(cli("score", "vegas", "--format", "json", "--quiet").stdout)
    assert [row["rank"] for row in rows] == [1] and 0 < rows[0]["low"] < rows[0]["score"] < rows[0]["high"] < 100


def test_what_is_not_there_is_refused_by_name():
    with pytest.raises(cellcc.InputError, match="nosuch"):
        cellcc.check("cubic", suites="nosuch")
    with pytest.raises(cellcc.InputError, match="`cubic\\+bbr` is not one scheme"):
        cellcc.score("cubic+bbr", held_out=True)
    with pytest.raises(cellcc.InputError, match="kernel:nosuch"):
        cellcc.check("kernel:nosuch")
    with pytest.raises(cellcc.InputError, match="claims/reminis.toml: .*in a clone of the repository"):
        cellcc.reproduce(repository="/dev")
    with pytest.raises(cellcc.InputError, match="`REM-999` is no claim"):
        cellcc.reproduce("REM-999", repository=REPOSITORY)
    with pytest.raises(cellcc.InputError, match="`tiny` is no scale"):
        cellcc.reproduce(repository=REPOSITORY, scale="tiny")


def test_claims_have_the_verdicts_of_the_command_line(cli, tmp_path, monkeypatch):
    monkeypatch.delenv("CELLCC_TRACES", raising=False)
    monkeypatch.chdir(REPOSITORY)
    command = cli("reproduce", "NAT-5*", "--scale", "smaller", "--out", tmp_path / "cli", "--quiet")
    card = json.loads((tmp_path / "cli" / "scorecard.json").read_text())
    rows = cellcc.reproduce("NAT-5*", scale="smaller", out=tmp_path / "python")
    assert rows == card["claims"] and len(rows) > 1, command.stderr
    assert (tmp_path / "python" / "claims.html").read_bytes() == (tmp_path / "cli" / "claims.html").read_bytes()
    assert cellcc.reproduce("NAT-5*", scale="smaller", repository=REPOSITORY) == rows
