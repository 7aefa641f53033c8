"""Traces: statistics, parts, joins, arrays."""

import cellcc
import numpy as np
import pytest


def test_statistics_are_those_of_trace_info(cli):
    import json

    reported = json.loads(cli("trace", "info", "3g", "--format", "json").stdout)[0]
    assert {"trace": "3g", "sha256": cellcc.trace("3g").sha256, **cellcc.trace("3g").stats()} == reported


def test_an_array_becomes_a_trace_that_repeats(tmp_path):
    rates = np.array([1.0, 10.0, 0.0, 2.5])
    trace = cellcc.trace(rates, bin="250ms", file=tmp_path / "mine.mbps")
    assert trace.duration_s == 1.0
    np.testing.assert_allclose(trace.rates_mbit_s("250ms"), rates, rtol=1e-6)
    np.testing.assert_allclose(trace.rates_mbit_s("250ms", "2s")[4:], rates, rtol=1e-6)
    assert cellcc.compare("cubic", trace, duration="1s").table["trace"] == ["mine", "mine"]


def test_parts_and_joins():
    trace = cellcc.trace("lte-drive")
    part = trace.cut("5s", "10s")
    assert part.duration_s == 10.0
    np.testing.assert_allclose(part.rates_mbit_s("1s"), trace.rates_mbit_s("1s")[5:15])
    joined = part + cellcc.trace("lte-drive").cut("0s", "2s") + part
    assert joined.duration_s == 22.0


def test_a_file_of_another_program_is_a_trace(tmp_path):
    (tmp_path / "sabre.json").write_text('[{"duration_ms": 1000, "bandwidth_kbps": 4000, "latency_ms": 40}]')
    (tmp_path / "flat.txt").write_text("20000\n20000\n")
    assert cellcc.trace(f"{tmp_path}/sabre.json").stats()["mean_mbit_s"] == 4.0
    assert cellcc.trace(f"{tmp_path}/flat.txt,as=kbit/s@100ms").stats()["mean_mbit_s"] == 20.0
    with pytest.raises(cellcc.InputError, match="as=mahimahi"):
        cellcc.trace(f"{tmp_path}/flat.txt")


@pytest.mark.parametrize("rates", [[], [-1.0], [float("nan")], [[1.0]]])
def test_an_array_that_is_no_trace_is_refused(rates, tmp_path):
    with pytest.raises(cellcc.InputError, match="at least one value"):
        cellcc.trace(rates, file=tmp_path / "mine.mbps")


def test_an_unknown_link_is_refused_with_those_that_are_known():
    with pytest.raises(cellcc.InputError, match="lte-drive"):
        cellcc.trace("lte-driv")
