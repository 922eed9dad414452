"""Secrets in a text that is about to leave the machine: what kind, and where. The secret itself is never repeated."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_KINDS = {
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{16,}",
    "an AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a Google key": r"\bAIza[A-Za-z0-9_-]{30,}",
    "an API key": r"\bsk-[A-Za-z0-9_-]{16,}",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{20,}",
    "a Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a private key": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "a password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,100}:[^\s/@\"']{3,100}@",
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
_ASSIGNED = re.compile(
    r"(?i)(?:key|token|secret|passw(?:or)?d|credential)\w{0,20}[\"']?\s{0,4}[\])]?\s{0,4}[:=]{1,2}\s{0,4}[\"']([^\"'\s]{12,200})[\"']"
)
_LEAST_BITS = 3.0
"""Bits of entropy a character: words of a language have fewer, drawn characters more."""


@dataclass(frozen=True, slots=True)
class Secret:
    """One place."""

    kind: str
    line: int
    """The line in the text, counted from 1."""


def secrets_in(text: str) -> Iterator[Secret]:
    """What looks like a secret, line by line."""
    for number, line in enumerate(text.splitlines(), 1):
        kind = next((kind for kind, pattern in _PATTERNS.items() if pattern.search(line)), None)
        if kind is None and any(_is_drawn(match[1]) for match in _ASSIGNED.finditer(line)):
            kind = "what is named a secret"
        if kind is not None:
            yield Secret(kind, number)


def _is_drawn(value: str) -> bool:
    total = len(value)
    bits = -sum(n / total * math.log2(n / total) for n in Counter(value).values())
    return bits >= _LEAST_BITS and any(c.isdigit() for c in value)
