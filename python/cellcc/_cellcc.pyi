from collections.abc import Callable
from typing import Any, final

__all__ = [
    "VERSION",
    "Ack",
    "Episodes",
    "InputError",
    "Loss",
    "Plan",
    "Policy",
    "RunError",
    "Runs",
    "Table",
    "Trace",
    "check",
    "compare",
    "conditions",
    "expand",
    "explain_links",
    "merge",
    "read",
    "read_kept",
    "register",
    "reproduce",
    "schemes",
    "score",
    "seconds",
    "write_file",
]

VERSION: str

class InputError(ValueError): ...

class RunError(RuntimeError):
    result: Any

@final
class Table:
    @property
    def column_names(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Runs:
    @property
    def failures(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def table(self) -> Table: ...
    def record_json(self, index: int) -> str: ...
    def series(self, index: int) -> Table: ...
    def html(self, baseline: str | None = None) -> str: ...
    def plot(
        self,
        file: str,
        x: str | None,
        y: list[str],
        shape: tuple[str | None, str | None],
        schemes: list[str],
        only: list[str],
        titles: tuple[str | None, list[str]],
        sizes: tuple[str | None, str | None, str | None],
        font: bytes | None = None,
        *,
        labels: bool = False,
        intervals: bool = True,
    ) -> bytes: ...
    def text(self, width: int = ..., baseline: str | None = None) -> str: ...
    def explain_json(self, against: str | None = None) -> str: ...

def check(
    subject: str,
    suites_named: list[str],
    cases_named: list[str],
    drivers: list[str],
    *,
    jobs: int | None = None,
    progress: Callable[[float, int, int], Any] | None = None,
) -> str: ...
def compare(
    options: dict[str, Any],
    *,
    scenario: str | None = None,
    jobs: int | None = None,
    series: str = "sampled",
    out: str | None = None,
    existing: str = "refuse",
    shard: str | None = None,
    progress: Callable[[float, int, int], Any] | None = None,
) -> tuple[Runs, bool, int, int]: ...
def conditions() -> list[tuple[str, str]]: ...
def explain_links(links: list[str], rtt: str, duration: str, access: str | None = None) -> str: ...
def reproduce(
    claims: list[str],
    repository: str,
    scale: str,
    schemes: list[tuple[str, str]],
    *,
    jobs: int | None = None,
    out: str | None = None,
    existing: str = "refuse",
    progress: Callable[[float, int, int], Any] | None = None,
) -> tuple[str, list[str]]: ...
def read(folder: str) -> Runs: ...

@final
class Episodes:
    def __new__(cls, count: int, agent: str, interval: str, learners: int, options: dict[str, Any]) -> "Episodes": ...
    @property
    def width(self) -> int: ...
    def delivered_packets(self, index: int) -> int: ...
    def line(self, index: int) -> str: ...
    def begin(
        self,
        index: int,
        seed: int,
        *,
        trace: str,
        rtt: str | None = None,
        queue: str | None = None,
        background: str | None = None,
    ) -> None: ...
    def step(self, actions: Any, observations: Any, rewards: Any, over: Any) -> bool: ...

@final
class Policy:
    """The network of a learned scheme such as `orca(model=FILE)`; a recurrent one remembers what it was shown."""

    def __new__(cls, scheme: str) -> "Policy": ...
    def outputs(self, observation: Any) -> list[float]:
        """What it gives for an observation: an action, or a score for each."""

@final
class Plan:
    def __new__(cls, options: dict[str, Any], *, scenario: str | None = None) -> "Plan": ...
    @staticmethod
    def from_text(scenario: str) -> "Plan": ...
    @property
    def scenario(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def run_ids(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def share_count(self, seconds: float, pace: float) -> int: ...
    def run_share(self, shard: str, out: str, series: str, command: list[str]) -> None: ...
    def run_median(self) -> float: ...

def merge(shares: list[str], out: str) -> None: ...
def read_kept(path: str) -> str: ...
def write_file(path: str, content: bytes) -> None: ...

@final
class Trace:
    def __new__(cls, text: str) -> "Trace": ...
    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def duration_s(self) -> float | None: ...
    def stats_json(self) -> str: ...
    def rates_mbit_s(self, bin: str, duration: str | None = None) -> list[float]: ...

def expand(given: list[str]) -> list[str]: ...
def seconds(time: str) -> float: ...
@final
class Ack:
    """Packets were newly acknowledged."""

    now_s: float
    packets: int
    """How many."""
    bytes: int
    """Theirs, headers included."""
    rtt_s: float | None
    """The RTT sample; `None` where the newest packet had been acknowledged before."""
    min_rtt_s: float
    srtt_s: float
    delivery_rate_mbit_s: float | None
    """How fast data arrived at the receiver."""
    inflight_bytes: int
    """After these packets were taken off."""
    delivered_bytes: int
    """Since the flow began."""
    marked_bytes: int
    """Of these packets, those that arrived with a CE mark."""
    window_limited: bool
    """The window held the sender back in this round or the one before."""
    round: int
    """Round-trip times since the flow began, counted by packets."""
    round_start: bool
    in_recovery: bool
    packet_bytes: int
    """The size of a full packet."""

@final
class Loss:
    """Packets were declared lost."""

    now_s: float
    packets: int
    bytes: int
    lost_bytes: int
    """Since the flow began."""
    inflight_bytes: int
    """After these packets were taken off."""
    new_episode: bool
    """The first loss of a recovery episode: the one that a window is cut for."""
    persistent: bool
    """The losses span persistent congestion (RFC 9002, section 7.6)."""
    packet_bytes: int

def register(
    name: str, summary: str, parameters: list[tuple[str, float]], word: str, build: Callable[..., Any]
) -> None: ...
def schemes() -> str: ...
def score(
    schemes: list[str],
    *,
    held_out: bool = False,
    jobs: int | None = None,
    progress: Callable[[float, int, int], Any] | None = None,
) -> str: ...
