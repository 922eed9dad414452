"""Many requests at once, in the order in which they end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from kernel_gate.fleet.pool import Pool
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict


def judge_all(
    pool: Pool, requests: Sequence[GateRequest], *, timeout: float = 600.0
) -> Iterator[tuple[int, Verdict]]:
    """Number (from 0) and verdict of each request, in the order in which they end. Raises what `Pool.judge` raises.

    When the caller stops asking, requests that have begun are ended and the others left out.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(pool.size) as threads:
        futures = {
            threads.submit(pool.judge, request, timeout=timeout, cancelled=ended.is_set): number
            for number, request in enumerate(requests)
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            ended.set()
            threads.shutdown(cancel_futures=True)
