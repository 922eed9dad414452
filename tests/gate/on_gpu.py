"""One process judges all requests of a test run on a GPU, as an editor's does: faults must not reach the next one."""

import atexit
from functools import cache

from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import Worker


@cache
def _worker() -> Worker:
    kept = Worker()
    atexit.register(kept.close)
    return kept


def judged(request: GateRequest, timeout: float = 120.0) -> Verdict:
    """The verdict of the process that is kept."""
    return _worker().judge(request, timeout=timeout)
