"""A call in a fork of this process: what hangs or crashes in a compiler's own code costs one attempt."""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from kernel_gate.build.errors import BuildError


def forked(call: Callable[[], Any], seconds: float) -> Any:
    """What the call gives. Raises `BuildError`: its own, or why there is no answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            answer: tuple[bool, Any] = (True, call())
        except BuildError as error:
            answer = (False, str(error))
        except Exception as error:  # noqa: BLE001  # whatever a compiler raises is its answer
            answer = (False, f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    data = _read(reading, time.monotonic() + seconds)
    if data is None:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if data is None:
        raise BuildError(f"compiling took longer than {seconds:.0f} s")
    if not data:
        raise BuildError("the compiler crashed")
    done, answer = pickle.loads(data)
    if done:
        return answer
    raise BuildError(str(answer))


def _read(pipe: int, deadline: float) -> bytes | None:
    """All that comes; None when it has not ended in time."""
    parts: list[bytes] = []
    with os.fdopen(pipe, "rb", buffering=0) as source:
        while True:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            part = source.read(1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
