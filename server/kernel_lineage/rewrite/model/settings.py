"""Which endpoint the model lane speaks to: from the environment or the command line, never from a workspace file.

A file of the repository could otherwise send a person's key, or their code, to a stranger. A key goes only where it
was meant to go: `KLINEAGE_API_KEY` to `KLINEAGE_BASE_URL`, `OPENAI_API_KEY` to `OPENAI_BASE_URL` (or OpenAI itself).
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

OPENAI_URL = "https://api.openai.com/v1"
_SECRETS = ("KLINEAGE_API_KEY", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY")


class SettingsError(Exception):
    """The model lane is not set up; the message says what is missing and how to give it."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One OpenAI-compatible endpoint and the limits of its use."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    """None: the endpoint wants none (a local server)."""
    request_seconds: float = 120.0
    """For one request, connection and answer together."""
    token_budget: int = 60_000
    """Prompt and answer tokens, over all rounds."""
    answer_tokens: int = 8_000
    """Longest answer of one round."""
    attempts: int = 4
    """Attempts of one request, when the endpoint says 429 or 5xx or the connection breaks before an answer begins."""

    @property
    def loopback(self) -> bool:
        """Whether the endpoint is this machine."""
        return is_loopback(self.base_url)


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine (`localhost`, 127.0.0.0/8, ::1)."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_from(
    environ: Mapping[str, str],
    *,
    base_url: str | None = None,
    model: str | None = None,
    token_budget: int | None = None,
    request_seconds: float | None = None,
) -> ModelSettings:
    """The settings that the environment and a person's own options give. Raises `SettingsError`."""
    own_url = base_url or environ.get("KLINEAGE_BASE_URL", "")
    openai_url = environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key = environ.get("KLINEAGE_API_KEY") or None
    openai_key = environ.get("OPENAI_API_KEY") or None
    if own_url:
        url = own_url
        if key is None and _host(url) == _host(openai_url):
            key = openai_key
    else:
        if key is not None:
            raise SettingsError(
                "KLINEAGE_API_KEY is set, but not the endpoint it is for. Set KLINEAGE_BASE_URL, "
                f"for example {OPENAI_URL}."
            )
        if openai_key is None and "OPENAI_BASE_URL" not in environ:
            raise SettingsError(
                "No model endpoint is set up. Set KLINEAGE_BASE_URL and KLINEAGE_MODEL, and KLINEAGE_API_KEY if it "
                "wants a key; or use --by assist, or --by handoff, which need none."
            )
        url, key = openai_url, openai_key
    chosen = model or environ.get("KLINEAGE_MODEL")
    if not chosen:
        raise SettingsError(f"No model is named for {url}. Set KLINEAGE_MODEL, or give --model.")
    _check(url, key)
    settings = ModelSettings(base_url=url.rstrip("/"), model=chosen, api_key=key)
    return replace(
        settings,
        token_budget=token_budget or _number(environ, "KLINEAGE_TOKEN_BUDGET") or settings.token_budget,
        request_seconds=request_seconds
        or _number(environ, "KLINEAGE_MODEL_TIMEOUT")
        or settings.request_seconds,
    )


def endpoint(
    *, base_url: str | None = None, model: str | None = None, token_budget: int | None = None
) -> ModelSettings:
    """The endpoint of this process; its key then leaves the environment, which the gate's processes inherit.

    Raises `SettingsError`.
    """
    settings = settings_from(os.environ, base_url=base_url, model=model, token_budget=token_budget)
    for name in _SECRETS:
        os.environ.pop(name, None)
    return settings


def _check(url: str, key: str | None) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{url!r} is not an http or https URL; give one such as {OPENAI_URL}.")
    if parts.username or parts.password:
        raise SettingsError(
            "The endpoint's URL holds a user name or password; give the key in KLINEAGE_API_KEY."
        )
    if key is not None and parts.scheme == "http" and not is_loopback(url):
        raise SettingsError(
            f"The key would go to {parts.hostname} unencrypted (http). Use https, or unset the key if none is needed."
        )


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").lower()


def _number(environ: Mapping[str, str], name: str) -> int | None:
    value = environ.get(name)
    if not value:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise SettingsError(f"{name} is {value!r}; it must be a whole number above 0.")
    return int(value)
