"""Results: runs, their tables, and plots of them."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cellcc import Runs, Table, write_file

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import polars


class Run:
    """One finished run."""

    def __init__(self, runs: Runs, index: int) -> None:
        self._runs = runs
        self._index = index
        self._record: dict[str, Any] | None = None

    @property
    def record(self) -> dict[str, Any]:
        """Its Record: the resolved Scenario, the version of the code, every scalar, histograms."""
        if self._record is None:
            self._record = json.loads(self._runs.record_json(self._index))
        return self._record

    @property
    def scheme(self) -> str:
        """The scheme, or several."""
        return str(self.record["scenario"]["scheme"])

    @property
    def trace(self) -> str:
        """The link, as the Scenario names it."""
        return str(self.record["scenario"]["trace"])

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.record["scenario"]["seed"])

    @property
    def is_limit(self) -> bool:
        """True of the reference that no scheme beats: `limit`, or the limit of certain flows, such as `limit:sized(1MB)`."""
        return not self.record["scenario"]["flows"]

    @property
    def metrics(self) -> dict[str, Any]:
        """The scalars of all flows together, with units in the keys."""
        metrics: dict[str, Any] = self.record["total"]
        return metrics

    def series(self) -> "Frame":
        """Its quantities over time, one row per bin."""
        return Frame(self._runs.series(self._index))

    def __repr__(self) -> str:
        return f"<cellcc run: {self.scheme} on {self.trace}, seed {self.seed}>"


class Frame:
    """A table in the Arrow format, for any library that takes `__arrow_c_stream__`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column; `None` where there is none."""
        return self._table.column(column)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, units at their ends."""
        return self._table.column_names

    def to_pandas(self) -> "pandas.DataFrame":
        """As a DataFrame of pandas."""
        import pyarrow

        return pyarrow.table(self._table).to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """As a DataFrame of Polars."""
        import polars

        return polars.DataFrame(self._table)

    def to_parquet(self, where: str | Path) -> None:
        """Writes a Parquet file, or an object in a store that pyarrow knows: `s3://...`, `gs://...`."""
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(self._table), str(where))


class Result(Sequence[Run]):
    """The finished runs of a comparison, in the order of its plan: by trace, then scheme, then seed.

    For each trace the first run is `limit`: an omniscient sender's result.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        return Run(self._runs, position)

    def __iter__(self) -> Iterator[Run]:
        return (Run(self._runs, index) for index in range(len(self)))

    @property
    def failures(self) -> list[str]:
        """The runs that failed, and why."""
        return self._runs.failures

    @property
    def table(self) -> Frame:
        """A row a run: scheme, trace, seed and every scalar, with units in the names."""
        return Frame(self._runs.table())

    def to_pandas(self) -> "pandas.DataFrame":
        """The table as a DataFrame of pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> "polars.DataFrame":
        """The table as a DataFrame of Polars."""
        return self.table.to_polars()

    def report(self, file: str | Path | None = None, *, baseline: str | None = None) -> str:
        """The report, one HTML document that loads nothing; also written to `file`."""
        document = self._runs.html(baseline)
        if file is not None:
            write_file(str(file), document.encode())
        return document

    def explain(self, *, against: str | None = None) -> list[dict[str, Any]]:
        """A row a scheme: its mean queueing delay, and the least that any sender could have had on the same links.

        With `against`, a scheme of which there are several settings: each other scheme's delay, and that scheme's at the same use.
        """
        rows: list[dict[str, Any]] = json.loads(self._runs.explain_json(against))
        return rows

    def plot(
        self,
        x: str | None = None,
        y: str | Sequence[str] = (),
        *,
        kind: str | None = None,
        facet: str | None = None,
        out: str | Path | None = None,
        schemes: Sequence[str] | Mapping[str, str] = (),
        only: Mapping[str, str] | None = None,
        labels: bool = False,
        intervals: bool = True,
        x_title: str | None = None,
        y_title: str | Sequence[str] = (),
        width: str | None = None,
        height: str | None = None,
        font_size: str | None = None,
        font: str | Path | None = None,
    ) -> "Figure":
        """A figure for a paper, as `cellcc plot` draws it, whose flags these are; also written to `out`, .svg, .pdf or .png.

        `schemes` names those that are shown, in their order, or gives each the name that the figure calls it.
        """
        of_each = [f"{scheme}={name}" for scheme, name in schemes.items()] if isinstance(schemes, Mapping) else list(schemes)
        conditions = [f"{key}={value}" for key, value in (only or {}).items()]
        titles = (x_title, _listed(y_title))
        letters = None if font is None else Path(font).read_bytes()

        def drawn(file: str) -> bytes:
            shape, sizes = (kind, facet), (width, height, font_size)
            return self._runs.plot(
                file, x, _listed(y), shape, of_each, conditions, titles, sizes, letters, labels=labels, intervals=intervals
            )

        if out is not None:
            write_file(str(out), drawn(Path(out).suffix.removeprefix(".").lower()))
        return Figure(drawn("svg").decode())

    def scatter(self, ax: "matplotlib.axes.Axes | None" = None) -> "matplotlib.axes.Axes":
        """Throughput over the 95th percentile of the queueing delay, a point a run."""
        from .plots import scatter

        return scatter(self, ax)

    def timeseries(
        self, quantity: str = "throughput_mbit_s", *, trace: str | None = None, ax: "matplotlib.axes.Axes | None" = None
    ) -> "matplotlib.axes.Axes":
        """A quantity of each run's first flow over time, on the first trace or on `trace`."""
        from .plots import timeseries

        return timeseries(self, quantity, trace, ax)

    def __str__(self) -> str:
        return self._runs.text()

    def __repr__(self) -> str:
        return f"<cellcc result: {len(self)} runs>\n{self}"

    def _repr_html_(self) -> str:
        document = html.escape(self.report(), quote=True)
        return f'<iframe srcdoc="{document}" style="width:100%;height:600px;border:0" title="cellcc report"></iframe>'


class Figure:
    """A figure, as SVG; a notebook shows it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg


def _listed(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def series(run: Run) -> Frame:
    """The quantities of a run over time, one row per bin."""
    return run.series()
