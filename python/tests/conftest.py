"""What several tests use."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command `cellcc` of the same sources: the one named by CELLCC_CLI, or that of `cargo build`."""
    built = Path(__file__).parents[2] / "target" / "debug" / "cellcc"
    program = os.environ.get("CELLCC_CLI", str(built))

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)

    return run
