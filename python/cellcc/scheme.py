"""The schemes that can be named, and schemes written in Python."""

import hashlib
import inspect
import json
from typing import Any, NamedTuple

from . import _cellcc
from ._cellcc import Ack, Loss


class Context(NamedTuple):
    """The inputs for building a scheme."""

    packet_bytes: int
    """The size of a full packet on the link, headers included."""
    initial_window_bytes: int
    """The window to begin with (RFC 6928: ten packets)."""
    seed: int
    """Seeds the random numbers of a scheme that draws some."""


class Limits(NamedTuple):
    """The limits of the sender."""

    window_bytes: float
    """The congestion window: bytes that may be in flight, headers included."""
    pacing_mbit_s: float | None = None
    """The rate at which packets may leave; `None` leaves them to the window alone."""


class Scheme:
    """A congestion control in Python: events in, limits out. For teaching and for first tries: each event takes Python's
    lock, so that a run is several times slower than with a built-in scheme.

    The same events must give the same decisions: draw random numbers from a generator with `context.seed`, and read no clock.
    Keyword arguments of `__init__` with numbers as defaults are its parameters: `"mine(gain=2)"`.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def on_ack(self, ack: Ack) -> None:
        """Packets were newly acknowledged."""

    def on_loss(self, loss: Loss) -> None:
        """Packets were declared lost."""

    def next_timer(self) -> float | None:
        """When `on_timer` is wanted next, in seconds since the run began; asked after every event."""
        return None

    def on_timer(self, now_s: float) -> None:
        """The time of `next_timer` has come."""

    def limits(self) -> Limits:
        """The sender's limits from now on; read after every event."""
        raise NotImplementedError("a scheme says its limits()")


def register(name: str, scheme: type[Scheme]) -> None:
    """Makes a class available to `compare` by this name, next to the built-in schemes; an earlier one of the name is replaced.

    Records name the code of the class in their version, so that results of two versions of it are never taken for one another.
    """
    summary = (inspect.getdoc(scheme) or "").split("\n")[0]
    parameters = []
    for parameter in list(inspect.signature(scheme).parameters.values())[1:]:
        if not isinstance(parameter.default, (int, float)):
            raise _cellcc.InputError(f"{name}: the argument {parameter.name} of {scheme.__name__} has no number as its default")
        parameters.append((parameter.name, float(parameter.default)))

    def build(context: tuple[int, int, int], **arguments: float) -> Scheme:
        return scheme(Context(*context), **arguments)

    _cellcc.register(name, summary, parameters, _word(scheme), build)


def named(scheme: str | type[Scheme]) -> str:
    """The name of a scheme. A class is registered under its own name in lower case."""
    if not (isinstance(scheme, type) and issubclass(scheme, Scheme)):
        return scheme
    name = scheme.__name__.lower()
    register(name, scheme)
    return name


def schemes() -> list[dict[str, Any]]:
    """Every scheme: its name, its summary, its source, its parameters and presets."""
    known: list[dict[str, Any]] = json.loads(_cellcc.schemes())
    return known


def _word(scheme: type[Scheme]) -> str:
    # A class that was typed into a bare prompt has no source to read.
    try:
        source = inspect.getsource(scheme)
    except (OSError, TypeError):
        source = f"{scheme.__module__}.{scheme.__qualname__}"
    return hashlib.sha256(source.encode()).hexdigest()[:12]
