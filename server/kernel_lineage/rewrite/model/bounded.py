"""What a model's endpoint may send, and for how long: every byte that comes over the network is counted, headers too.

The timeouts of httpx are for one read each: an endpoint that sends a byte now and then holds them for good.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import httpcore2 as httpcore
import httpx2 as httpx

MOST_BYTES = 16 << 20
"""The most bytes of one answer; the longest that is asked for is some megabytes with what surrounds each word."""


class Bounds:
    """What is left of the present request."""

    def __init__(self) -> None:
        self.begin(0.0)

    def begin(self, seconds: float) -> None:
        """The next request has so long, from now on."""
        self._until, self._left = time.monotonic() + seconds, MOST_BYTES

    def within(self, timeout: float | None) -> float:
        """The shorter of a timeout and the time that is left. Raises `httpcore.ReadTimeout` when none is."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left if timeout is None else min(left, timeout)

    def take(self, data: bytes) -> bytes:
        """The data that came. Raises `httpcore.ReadError` when it is too much."""
        self._left -= len(data)
        if self._left < 0:
            raise httpcore.ReadError(f"it sent more than {MOST_BYTES >> 20} MB")
        return data


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, bounds: Bounds) -> None:
        self._stream, self._bounds = stream, bounds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._bounds.take(self._stream.read(max_bytes, self._bounds.within(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *given: Any, **named: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*given, **named), self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend, bounds: Bounds) -> None:
        self._backend, self._bounds = backend, bounds

    def connect_tcp(self, *given: Any, **named: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_tcp(*given, **named), self._bounds)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


def bound(client: httpx.Client, bounds: Bounds) -> None:
    """Have all that a client reads counted, also through a proxy; what comes packed is refused, for it could unpack to
    anything.
    """
    transports: Iterable[Any] = (client._transport, *client._mounts.values())  # noqa: SLF001 - httpx offers no other way
    for transport in transports:
        if transport is not None:
            pool = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend, bounds)  # noqa: SLF001
    client.headers["Accept-Encoding"] = "identity"
    client.event_hooks = {"response": [_refuse_packed]}


def _refuse_packed(response: httpx.Response) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise httpx.RemoteProtocolError("its answer is packed, which it was not asked for")
