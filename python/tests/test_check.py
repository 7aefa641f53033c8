"""Cases of conformance, from Python."""

import cellcc
import pytest


def test_a_scheme_has_a_row_for_each_condition():
    rows = cellcc.check("cubic", cases="rfc9743/drop-tail", progress=False)
    assert [row["ruling"] for row in rows] == ["pass"]
    assert rows[0]["case"] == "rfc9743/drop-tail" and rows[0]["value"] > 0.9


def test_what_is_not_there_is_refused_by_name():
    with pytest.raises(cellcc.InputError, match="nosuch"):
        cellcc.check("cubic", suites="nosuch")
