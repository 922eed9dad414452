"""One question to an OpenAI-compatible endpoint: its budget, time limit, retries, and what went wrong in plain words.

Invariants: no redirect is followed (the kernel's text goes to the named endpoint only); nothing is retried once an
answer has begun; waiting is done by the given `sleep`, so that tests and cancellation are immediate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from kernel_lineage.rewrite.model.secrets import secrets_in
from kernel_lineage.rewrite.model.sent import log_request
from kernel_lineage.rewrite.model.settings import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

    from kernel_lineage.rewrite.model.bounded import Bounds

Message: TypeAlias = dict[str, str]
Problem = Literal[
    "key",
    "limit",
    "unavailable",
    "connection",
    "timeout",
    "truncated",
    "declined",
    "budget",
    "cancelled",
    "request",
    "secret",
]

LONGEST_WAIT = 30.0
"""Seconds; a longer `Retry-After` is not waited for."""


class ModelError(Exception):
    """The endpoint gave no usable answer; the message says why and what to do."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote, and what it cost."""

    text: str
    tokens: int


@dataclass(slots=True)
class Budget:
    """Tokens that may still be spent, over all rounds of one application."""

    left: int
    spent: int = 0

    def spend(self, tokens: int) -> None:
        """Take tokens off; it may go below zero by what an endpoint wrote beyond its limit."""
        self.left -= tokens
        self.spent += tokens


@dataclass(frozen=True, slots=True)
class Patience:
    """The clock that requests run on."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    cancelled: Callable[[], bool] = field(default=lambda: False)


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has, where the endpoint does not say: one per three bytes, which is on the safe
    side for source code (OpenAI's guide gives about four characters for English).
    """
    return len(text.encode()) // 3 + 1


def ask(
    settings: ModelSettings, messages: list[Message], budget: Budget, patience: Patience = Patience()
) -> Answer:
    """Put the messages to the endpoint and give its answer. Raises `ModelError`."""
    from httpx2 import TimeoutException, TransportError
    from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

    prompt = sum(estimated_tokens(m["content"]) for m in messages)
    room = min(settings.answer_tokens, budget.left - prompt)
    if room < 256:
        raise ModelError(
            "budget",
            f"The token budget is used up: {budget.spent} spent, {budget.left} left, the next request needs about "
            f"{prompt} and room for an answer. Raise it with --token-budget.",
        )
    for number, message in enumerate(messages, 1):
        for secret in secrets_in(message["content"]):
            raise ModelError(
                "secret",
                f"Held back: {secret.kind} stands in line {secret.line} of message {number} to the model. Nothing was "
                "sent; take it out of the code, and renew it where it may have been seen.",
            )
    host = urlsplit(settings.base_url).netloc
    dialect = _Dialect()
    attempt = 0
    from kernel_lineage.rewrite.model.bounded import Bounds

    bounds = Bounds()
    with _client(settings, bounds) as client:
        while True:
            if patience.cancelled():
                raise ModelError("cancelled", "Cancelled; nothing was changed.")
            attempt += 1
            bounds.begin(settings.request_seconds)
            try:
                answer = _stream(client, settings, messages, room, dialect, patience)
            except APIStatusError as error:
                plainer = dialect.plainer(error)
                if plainer is not None:
                    dialect = plainer
                    attempt -= 1
                    continue
                wait = _wait_before_retry(error, attempt)
                if wait is None or attempt >= settings.attempts:
                    raise _status_problem(error, host, settings) from error
                patience.sleep(wait)
            except (APITimeoutError, TimeoutException) as error:
                raise ModelError(
                    "timeout",
                    f"{host} gave no answer within {settings.request_seconds:g} s. Nothing was changed.",
                ) from error
            except (APIConnectionError, TransportError) as error:
                if attempt >= settings.attempts or not _before_answer(error):
                    raise ModelError(
                        "connection",
                        f"The connection to {host} failed: {_cause(error)}. Nothing was changed.",
                    ) from error
                patience.sleep(_backoff(attempt))
            except APIError as error:
                raise ModelError("unavailable", f"{host} broke off its answer: {error.message}.") from error
            else:
                budget.spend(answer.tokens)
                return answer


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The request fields that not every endpoint takes; each is given up once when the endpoint refuses it."""

    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    usage: bool = True

    def plainer(self, error: APIStatusError) -> _Dialect | None:
        """The dialect to try next, if the error is about one of these fields."""
        if error.status_code not in (400, 422):
            return None
        message = str(error.message)
        if "max_completion_tokens" in message and self.limit == "max_tokens":
            return _Dialect(self.structured, "max_completion_tokens", self.usage)
        if "stream_options" in message and self.usage:
            return _Dialect(self.structured, self.limit, usage=False)
        if ("response_format" in message or "json_schema" in message) and self.structured != "none":
            return _Dialect(
                "json_object" if self.structured == "json_schema" else "none", self.limit, self.usage
            )
        return None

    def fields(self, room: int) -> dict[str, Any]:
        """The fields of the request."""
        from kernel_lineage.rewrite.model.answer import ANSWER_FORMAT

        fields: dict[str, Any] = {self.limit: room}
        if self.usage:
            fields["stream_options"] = {"include_usage": True}
        if self.structured == "json_schema":
            fields["response_format"] = ANSWER_FORMAT
        elif self.structured == "json_object":
            fields["response_format"] = {"type": "json_object"}
        return fields


def _client(settings: ModelSettings, bounds: Bounds) -> OpenAI:
    from httpx2 import UnsupportedProtocol
    from openai import OpenAI

    from kernel_lineage.rewrite.model.bounded import bounded_client

    try:
        http_client = bounded_client(settings.base_url, bounds, trust_env=not settings.loopback)
    except UnsupportedProtocol as error:
        raise ModelError("connection", f"{error}; name one of HTTP, or none. Nothing was sent.") from error
    return OpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key or "none",
        organization="",
        project="",
        timeout=settings.request_seconds,
        max_retries=0,
        http_client=http_client,
    )


def _stream(
    client: OpenAI,
    settings: ModelSettings,
    messages: list[Message],
    room: int,
    dialect: _Dialect,
    patience: Patience,
) -> Answer:
    deadline = patience.now() + settings.request_seconds
    parts: list[str] = []
    finish: str | None = None
    declined = ""
    tokens: int | None = None
    for chunk in _chunks(client, settings, messages, dialect.fields(room)):
        if patience.cancelled():
            raise ModelError("cancelled", "Cancelled; nothing was changed.")
        if patience.now() > deadline:
            raise ModelError(
                "timeout",
                f"The answer was not complete after {settings.request_seconds:g} s. Nothing was changed.",
            )
        if chunk.usage is not None:
            tokens = chunk.usage.total_tokens
        for choice in chunk.choices[:1]:
            parts.append(choice.delta.content or "")
            declined += choice.delta.refusal or ""
            finish = choice.finish_reason or finish
        # An endpoint that ignores its limit must not fill the memory.
        if sum(map(len, parts)) > 16 * room:
            raise ModelError("budget", f"The answer is longer than the {room} tokens it was allowed.")
    text = "".join(parts)
    if declined or finish == "content_filter":
        raise ModelError(
            "declined", f"The model declined: {declined or 'its content filter stopped the answer'}."
        )
    if finish == "length":
        raise ModelError(
            "truncated",
            f"The answer was cut off at {room} tokens; raise --token-budget or choose a shorter kernel.",
        )
    if finish is None:
        raise ModelError("truncated", "The answer broke off before its end. Nothing was changed.")
    spent = sum(estimated_tokens(m["content"]) for m in messages) + estimated_tokens(text)
    return Answer(text, tokens if tokens is not None else spent)


def _chunks(
    client: OpenAI, settings: ModelSettings, messages: list[Message], fields: dict[str, Any]
) -> Iterator[Any]:
    try:
        log_request(
            urlsplit(settings.base_url).netloc,
            {"model": settings.model, "messages": messages, "stream": True, **fields},
        )
    except OSError as error:
        raise ModelError(
            "request", f"Nothing was sent, because what is sent cannot be logged: {error}."
        ) from error
    try:
        with client.chat.completions.create(
            model=settings.model, messages=cast("Any", messages), stream=True, extra_body=fields
        ) as stream:
            yield from stream
    except ValueError as error:
        raise ModelError(
            "truncated", f"The answer is not the protocol's: {error}. Nothing was changed."
        ) from error


def _wait_before_retry(error: APIStatusError, attempt: int) -> float | None:
    if error.status_code != 429 and error.status_code < 500:
        return None
    # OpenAI says `insufficient_quota` with 429; waiting does not help.
    if "insufficient_quota" in str(error.message):
        return None
    header = error.response.headers.get("retry-after", "")
    wait = float(header) if header.replace(".", "", 1).isdecimal() else _backoff(attempt)
    return wait if wait <= LONGEST_WAIT else None


def _backoff(attempt: int) -> float:
    return min(2.0 ** (attempt - 1), LONGEST_WAIT)


def _before_answer(error: Exception) -> bool:
    """Whether the connection failed before the endpoint began to answer, so that asking again costs nothing."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout", "ProxyError")


def _cause(error: Exception) -> str:
    return str(error.__cause__ or error).rstrip(".") or type(error.__cause__ or error).__name__


def _status_problem(error: APIStatusError, host: str, settings: ModelSettings) -> ModelError:
    status, message = error.status_code, _message(error)
    if status in (401, 403):
        key = (
            "the key was refused" if settings.api_key else "it wants a key and none is set (KLINEAGE_API_KEY)"
        )
        return ModelError("key", f"{host} answered {status}: {key}. {message}".rstrip())
    if status == 404:
        return ModelError(
            "request", f"{host} knows no model {settings.model!r} at this URL (404). {message}".rstrip()
        )
    if status == 429:
        return ModelError(
            "limit", f"{host} limits the rate or the quota (429), also after waiting. {message}".rstrip()
        )
    if status >= 500:
        return ModelError("unavailable", f"{host} fails ({status}), also after waiting. {message}".rstrip())
    if 300 <= status < 400:
        return ModelError(
            "request", f"{host} redirects ({status}), which is not followed; name the endpoint itself."
        )
    return ModelError("request", f"{host} refused the request ({status}). {message}".rstrip())


def _message(error: APIStatusError) -> str:
    """The endpoint's own words, shortened; an endpoint may echo what it was sent, so no key is repeated."""
    body = error.body
    message = body.get("message", "") if isinstance(body, dict) else ""
    if not message:
        return ""
    words = " ".join(str(message).split())[:200]
    return "" if "sk-" in words else f"It says: {words}"
