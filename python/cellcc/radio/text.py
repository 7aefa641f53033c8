"""The bytes of a recording as text, and the numbers in it."""

import gzip
import lzma
import math
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from .._cellcc import InputError

T = TypeVar("T", int, float)

_MOST_BYTES = 256 << 20
"""The largest recording, after decompression: that of a trace."""
_SHOWN = 60
"""Characters of a text in a message: a file of one endless line must not flood the terminal."""
_PACKED: dict[bytes, tuple[str, Callable[[BytesIO], gzip.GzipFile | lzma.LZMAFile]]] = {
    b"\x1f\x8b": ("gzip", lambda packed: gzip.GzipFile(fileobj=packed)),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
}
"""Compression by a file's first bytes: RFC 1952, section 2.3.1, and section 2.1.1.1 of the .xz file format 1.2."""


def refused(name: str, line: int | None, problem: str) -> InputError:
    """The error on a line, or on the whole of a file."""
    return InputError(f"{name}{'' if line is None else f':{line}'}: {problem}")


def content(path: Path) -> bytes:
    """The bytes of a file, of no more than a recording may have and one."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise refused(str(path), None, f"cannot be read: {error.strerror}") from error


def decoded(name: str, content: bytes) -> str:
    """The text, unpacked where it is compressed, without a byte-order mark."""
    for magic, (kind, unpack) in _PACKED.items():
        if content.startswith(magic):
            try:
                with unpack(BytesIO(content)) as file:
                    content = file.read(_MOST_BYTES + 1)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as cause:
                problem = f"the {kind} data is damaged or cut off ({cause}): fetch or compress the file again"
                raise refused(name, None, problem) from cause
            break
    if len(content) > _MOST_BYTES:
        raise refused(name, None, f"holds more than {_MOST_BYTES >> 20} MiB of text: cut it into shorter recordings")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise refused(name, None, "is not text: expected lines of text, plain or compressed with gzip or xz")
    return text.lstrip("\ufeff")


def data_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that carry data, with their numbers."""
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    return ((number, line) for number, line in lines if line and not line.startswith("#"))


def shown(text: str) -> str:
    """A text for a message."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def number(text: str) -> float | None:
    """A number that a measurement can be: finite and not negative."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 and "_" not in text else None


def whole(text: str, most: int) -> int | None:
    """A whole number up to `most`."""
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    return int(text) if is_whole and int(text) <= most else None


def percentile(ascending: list[T], percent: int) -> T | None:
    """By nearest rank: the smallest value with at least that share at or below it."""
    return ascending[max(-(-len(ascending) * percent // 100), 1) - 1] if ascending else None
