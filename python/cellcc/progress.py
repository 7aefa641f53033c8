"""How far the runs are: a bar in notebooks and in terminals."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Shown = Callable[[float, int, int], None]


@contextmanager
def progress_bar(wanted: "bool | Shown | None") -> Iterator[Shown | None]:
    """The receiver of the runs' progress: nothing, `wanted` itself, or a bar that closes at the end."""
    if callable(wanted):
        yield wanted
        return
    if not (_somebody_looks() if wanted is None else wanted):
        yield None
        return
    # tqdm takes 50 ms to import, and most calls show nothing. Without ipywidgets it shows text, and warns.
    with warnings.catch_warnings(action="ignore"):
        from tqdm.auto import tqdm

    bar = tqdm(total=None, unit="run", delay=0.5, bar_format="{l_bar}{bar}| {n:.1f}/{total_fmt} runs [{elapsed}<{remaining}]")

    def show(done: float, runs: int, failed: int) -> None:
        bar.total = runs
        if failed:
            bar.set_postfix_str(f"{failed} failed", refresh=False)
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        bar.close()


def _somebody_looks() -> bool:
    shell: Any = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return sys.stderr.isatty() or (shell is not None and hasattr(shell, "kernel"))
