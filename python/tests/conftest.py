"""What several tests use."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def program() -> str:
    """The command `cellcc` of the same sources: the one named by CELLCC_CLI, or that of `cargo build`."""
    built = Path(__file__).parents[2] / "target" / "debug" / "cellcc"
    return os.environ.get("CELLCC_CLI", str(built))


@pytest.fixture(scope="session")
def cli(program: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def interrupts() -> Iterator[Callable[..., object]]:
    """Sets what this process does on SIGINT: a script's background job starts with it ignored. Put back in the end."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)
