"""The types that the package promises to editors and checkers."""

import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[1]


def checked(*arguments: str, where: Path) -> None:
    command = subprocess.run([sys.executable, "-m", *arguments], cwd=where, capture_output=True, text=True, check=False)
    assert command.returncode == 0, command.stdout + command.stderr


def test_the_package_passes_a_strict_check(tmp_path):
    checked("mypy", "--cache-dir", str(tmp_path), where=SOURCES)


def test_the_stub_is_that_of_the_compiled_module(tmp_path):
    checked("mypy.stubtest", "--mypy-config-file", str(SOURCES / "pyproject.toml"), "cellcc._cellcc", where=tmp_path)
