"""What the message of a commit says of why it was made: one sign per intent whose words it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernel_lineage.history.model import Commit, Intent

Sign = tuple[Intent, float, str]
"""An intent, how much speaks for it, and what does."""

_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|bugfix|hot-?fix|crash\w*|incorrect\w*|correct(?:s|ed|ing)|wrong\w*|broke[n]?|"
    r"race conditions?|data race|out[- ]of[- ]bounds?|oob|overflows?|underflows?|nans?|illegal memory|misaligned|"
    r"dead-?lock\w*|regression|corrupt\w*|mistake|off[- ]by[- ]one|guards?|prevent\w*|"
    r"only (?:when|if)|never written|missing|make sure|happy|"
    r"(?:improv\w*|better) (?:numerical )?(?:precision|stability|accuracy))\b",
    re.IGNORECASE,
)
_FASTER = re.compile(
    r"\b(?:optimi[sz]\w*|perf|performance|fast(?:er|est)?|speed[- ]?ups?|speed|accelerat\w*|throughput|latency|"
    r"efficien\w*|vectori[sz]\w*|coalesc\w*|occupancy|tun(?:e[sd]?|ing)|autotun(?:e[sd]?|ing)|"
    r"fus(?:e|es|ing|ion)|fused (?:in|into|with|the)|unroll\w*|"
    r"improv\w*(?! (?:numerical )?(?:precision|stability|accuracy))|tok(?:ens)?/s|tflops|warps?|"
    r"less memory|memory usage|bandwidth|shared memory|(?:less|fewer) \w+|out(?:side)? (?:of )?(?:the )?loop|"
    r"(?:double|multi)[- ]?buffer\w*|(?:warp|block|thread|register)?[- ]?tiling|prefetch\w*|pipelin\w*|swizzl\w*|"
    r"bank[- ]conflicts?|async|in[- ]?place|shorter|reus(?:e[sd]?|ing)|"
    r"float4|128[- ]bit|tensor ?cores?)\b"
    r"|\d(?:\.\d+)?\s*(?:x|×)\s*(?:faster|speed)|\d\s*%\s*(?:faster|speed|improve)|\b\d+(?:\.\d+)?\s*ms\b",
    re.IGNORECASE,
)
_REFACTOR = re.compile(
    r"\b(?:refactor\w*|clean[- ]?ups?|clean(?:ed|ing|s)?|renam\w*|mov(?:e[sd]?|ing)|re-?organi[sz]\w*|simplif\w*|"
    r"comments?|typos?|const'?ness|format\w*|style|lint\w*|whitespace|migrat\w*|utilit(?:y|ies)|"
    r"dead code|unused|remov(?:e[sd]?|ing)|rm|delet\w*|unif(?:y|ied)|consolidat\w*|"
    r"split|extract\w*|dedup\w*|docs?|nits?|todos?|headers?|refator\w*|tidy)\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\b(?:add(?:s|ed|ing)?|support\w*|implement\w*|introduc\w*|feat(?:ure)?s?|new|enable[sd]?|allow\w*|"
    r"initial|first (?:version|draft)|port(?:ed|ing|s)?|optional|b?f(?:loat)?16|fp16|fp8)\b",
    re.IGNORECASE,
)
_CONVENTIONAL = re.compile(
    r"^\s*\[?(?P<type>fix|bug|bugfix|perf|feat|refactor|style|docs?|typo|chore|test|revert)\]?\s*(?:\([^)]*\))?!?\s*[:\]]",
    re.IGNORECASE,
)
_BY_TYPE = {
    "fix": Intent.FIX,
    "bug": Intent.FIX,
    "bugfix": Intent.FIX,
    "perf": Intent.OPTIMISATION,
    "feat": Intent.FEATURE,
    "refactor": Intent.REFACTOR,
    "style": Intent.REFACTOR,
    "doc": Intent.REFACTOR,
    "docs": Intent.REFACTOR,
    "typo": Intent.REFACTOR,
    "chore": Intent.REFACTOR,
    "test": Intent.REFACTOR,
    "revert": Intent.REVERT,
}
_WORDS: Sequence[tuple[Intent, float, re.Pattern[str]]] = (
    (Intent.FIX, 1.3, _FIX),
    (Intent.OPTIMISATION, 1.2, _FASTER),
    (Intent.REFACTOR, 1.15, _REFACTOR),
    (Intent.FEATURE, 1.1, _FEATURE),
)
_CODE = re.compile(r"`[^`]*`")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAGS = re.compile(r"^(?:\s*\[[^\]]*\]\s*:?|\s*\w{1,8}:\s)+")
"""What stands before the sentence: `[NPU]`, `K10:`."""
_LEAD = 0.4
_BODY = 600


def from_message(commit: Commit | None, kernels_changed: int) -> list[Sign]:
    """The signs of a message. It speaks for a whole commit: the more kernels that changed, the less of one.

    The subject counts, and its first word more, which is what was done (except "add": what is added tells); the body
    only where the subject is silent. Names in backticks and what templates hide are no words of the author.
    """
    if commit is None:
        return []
    share = 1.0 if kernels_changed <= 3 else 0.85 if kernels_changed <= 10 else 0.75
    subject = commit.subject
    typed = _CONVENTIONAL.match(subject)
    if typed:
        return [(_BY_TYPE[typed["type"].lower()], 2.2, f'message: "{short(subject)}"')]
    if re.match(r"Merge\b", subject):
        share *= 0.6
    words = _CODE.sub(" ", subject)
    signs = []
    for intent, weight, pattern in _WORDS:
        if pattern.search(words):
            first = pattern.match(_TAGS.sub("", words).lstrip())
            lead = _LEAD if first and intent is not Intent.FEATURE else 0.0
            signs.append((intent, share * weight + lead, f'message: "{short(subject)}"'))
    return signs or _from_body(commit.body, share)


def short(text: str, limit: int = 90) -> str:
    """A text in one line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _from_body(body: str, share: float) -> list[Sign]:
    said = _CODE.sub(" ", _HIDDEN.sub(" ", body))[:_BODY]
    found = [(intent, pattern.search(said)) for intent, _, pattern in _WORDS]
    return [(i, share * 0.6, f"the message's body says {f[0].lower()}") for i, f in found if f]
