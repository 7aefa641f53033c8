"""Pictures with matplotlib; the report's own figures are in `Result.report`."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

if TYPE_CHECKING:
    from .result import Result

# Colours that colour-blind readers tell apart (Okabe and Ito 2008), and a marker for each: no meaning rests on colour alone.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442"]
MARKERS = "osD^vP*"


def scatter(result: "Result", ax: Axes | None) -> Axes:
    """Throughput over queueing delay. Right and up is better, as in the report: delay grows to the left."""
    if ax is None:
        _, ax = plt.subplots()
    table = result.table
    rows = list(zip(table["scheme"], table["queueing_delay_p95_ms"], table["throughput_mbit_s"], strict=True))
    for index, scheme in enumerate(dict.fromkeys(table["scheme"])):
        # A run without a packet has no delay.
        points = [(delay, throughput) for name, delay, throughput in rows if name == scheme and delay is not None]
        ax.scatter(
            [delay for delay, _ in points],
            [throughput for _, throughput in points],
            label=scheme,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
        )
    # The delays of two schemes are often a hundred times apart, and that of the limit may be zero.
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xlim(left=ax.get_xlim()[1], right=0.0)
    ax.set_xlabel("Queueing delay, 95th percentile, ms")
    ax.set_ylabel("Throughput, Mbit/s")
    ax.legend()
    return ax


def timeseries(result: "Result", quantity: str, trace: str | None, ax: Axes | None) -> Axes:
    """A quantity over time, and behind a throughput the link's capacity."""
    if ax is None:
        _, ax = plt.subplots()
    names = dict(zip(result.table["link"], result.table["trace"], strict=True))
    runs = [run for run in result if not run.is_limit]
    wanted = trace or (runs[0].trace if runs else "")
    shown = [run for run in runs if wanted in (run.trace, names[run.trace])]
    for index, run in enumerate(shown):
        series = run.series()
        column = f"flow0.{quantity}"
        if column not in series.column_names:
            known = [name.removeprefix("flow0.") for name in series.column_names if name.startswith("flow0.")]
            raise KeyError(f"{run.scheme} has no {quantity}; there are {', '.join(known)}")
        if index == 0 and quantity == "throughput_mbit_s" and "capacity_mbit_s" in series.column_names:
            capacity = [value or 0.0 for value in series["capacity_mbit_s"]]
            ax.fill_between(series["time_s"], capacity, color="0.85", step="post", label="capacity")
        values = [float("nan") if value is None else value for value in series[column]]
        label = run.scheme if len({other.seed for other in shown}) == 1 else f"{run.scheme}, seed {run.seed}"
        ax.plot(series["time_s"], values, color=COLOURS[index % len(COLOURS)], label=label, linewidth=1)
    ax.set_xlabel("Time, s")
    ax.set_ylabel(quantity)
    ax.set_title(names.get(wanted, wanted))
    ax.legend()
    return ax
