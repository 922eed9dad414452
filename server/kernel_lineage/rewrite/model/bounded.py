"""What a model's endpoint may send, and for how long: every byte that comes over the network is counted, headers too.

The timeouts of httpx are for one read each: an endpoint that sends a byte now and then holds them for good.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

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

    def start_tls(self, *args: Any, **named: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **named), self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend, bounds: Bounds) -> None:
        self._backend, self._bounds = backend, bounds

    def connect_tcp(self, *args: Any, **named: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_tcp(*args, **named), self._bounds)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None: ...


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Iterable[bytes]) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with _named_as_httpx():
            yield from self._stream

    def close(self) -> None:
        if isinstance(self._stream, _Closable):
            self._stream.close()


class _Transport(httpx.BaseTransport):
    """What httpx's own transport does, over connections that are counted."""

    def __init__(self, connections: httpcore.ConnectionPool) -> None:
        self._connections = connections

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _named_as_httpx():
            answer = self._connections.handle_request(asked)
        assert isinstance(answer.stream, Iterable)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.stream), extensions=answer.extensions
        )

    def close(self) -> None:
        self._connections.close()


def bounded_client(address: str, bounds: Bounds, *, trust_env: bool) -> httpx.Client:
    """A client for one address of which all that it reads is counted, also through the environment's proxy.

    No redirect is followed, and what comes packed is refused, for it could unpack to anything. Raises
    `httpx.UnsupportedProtocol` for a proxy that is none of HTTP.
    """
    parts = urlsplit(address)
    backend = _Backend(httpcore.SyncBackend(), bounds)
    secure = httpx.create_ssl_context(trust_env=trust_env)
    proxy = _proxy(parts.scheme, parts.hostname or "") if trust_env else None
    connections: httpcore.ConnectionPool
    if proxy is None:
        connections = httpcore.ConnectionPool(ssl_context=secure, network_backend=backend)
    else:
        at = proxy.url
        connections = httpcore.HTTPProxy(
            httpcore.URL(scheme=at.raw_scheme, host=at.raw_host, port=at.port, target=at.raw_path),
            proxy_auth=proxy.raw_auth,
            ssl_context=secure,
            network_backend=backend,
        )
    return httpx.Client(
        transport=_Transport(connections),
        follow_redirects=False,
        trust_env=trust_env,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_refuse_packed]},
    )


def _proxy(scheme: str, host: str) -> httpx.Proxy | None:
    """The environment's proxy for a host; None where it is asked directly."""
    named = getproxies()
    address = named.get(scheme) or named.get("all")
    if not address or proxy_bypass(host):
        return None
    proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
    if proxy.url.scheme not in ("http", "https"):
        raise httpx.UnsupportedProtocol(f"the proxy {proxy.url.scheme}:// of the environment is none of HTTP")
    return proxy


@contextmanager
def _named_as_httpx() -> Iterator[None]:
    """Errors under httpx's names, which are those of httpcore."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError,
            httpcore.UnsupportedProtocol) as error:  # fmt: skip
        raise getattr(httpx, type(error).__name__, httpx.TransportError)(str(error)) from error


def _refuse_packed(response: httpx.Response) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise httpx.RemoteProtocolError("its answer is packed, which it was not asked for")
