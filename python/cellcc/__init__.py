"""Congestion control for cellular networks: compare schemes over links.

    import cellcc
    result = cellcc.compare(["cubic", "reminis"], ["3g", "lte-drive"], rtt="20ms")
    result.to_pandas()
"""

from ._cellcc import Ack, InputError, Loss, Policy, RunError, Table
from ._cellcc import VERSION as __version__
from .checks import check, reproduce, score
from .comparison import Interrupted, compare, explain, read
from .links import Trace, trace
from .result import Result, Run, series
from .scheme import Context, Limits, Scheme, register, schemes

__all__ = [
    "Ack",
    "Context",
    "InputError",
    "Interrupted",
    "Limits",
    "Loss",
    "Policy",
    "Result",
    "Run",
    "RunError",
    "Scheme",
    "Table",
    "Trace",
    "__version__",
    "check",
    "compare",
    "explain",
    "read",
    "register",
    "reproduce",
    "schemes",
    "score",
    "series",
    "trace",
]
