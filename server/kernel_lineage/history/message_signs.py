"""What the message of a commit says of why it was made: one sign per intent whose words it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernel_lineage.history.model import Commit, Intent
from kernel_lineage.kernels.words import short

Sign = tuple[Intent, float, str]
"""An intent, how much speaks for it, and what does."""

_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing|up|[- ]?bugs?)?|bugs?|bug[- ]?fix(?:es)?|hot-?fix|"
    r"crash\w*|incorrect\w*|correct(?:s|ed|ing)|wrong\w*|broke[n]?|"
    r"race conditions?|data race|out[- ]of[- ]bounds?|oob|overflows?|underflows?|nans?|illegal memory|misaligned|"
    r"dead-?lock\w*|regression|corrupt\w*|mistake|off[- ]by[- ]one|guards?|prevent\w*|work ?arounds?|hangs?|segfault|"
    r"harden\w*|stabili[sz]\w*|64[- ]bit index\w*|int64|"
    r"only (?:when|if)|never written|missing|make sure|happy|"
    r"(?:improv\w*|better) (?:numerical )?(?:precision|stability|accuracy))\b",
    re.IGNORECASE,
)
_FASTER = re.compile(
    r"\b(?:optimi[sz](?!ers?\b)\w*|perf|performance|fast(?:er|est)?|speed[- ]?ups?|speed|accelerat\w*|throughput|"
    r"latency|"
    r"efficien\w*|vectori[sz]\w*|coalesc\w*|occupancy|tun(?:e[sd]?|ing)|autotun(?:e[sd]?|ing)|"
    r"fus(?:e|es|ing|ion)|fused (?:in|into|with|the)|unroll\w*|"
    r"improv\w*(?! (?:numerical |the )?(?:precision|stability|accuracy|interface|api|readab\w*|error|docs?|messages?|"
    r"tests?|logging|naming|handling|support|compat\w*|const\w*|correct\w*|consisten\w*|clarity|type|typing|safety|"
    r"structure|maintain\w*|robust\w*|debug\w*|code))|tok(?:ens)?/s|tflops|"
    r"reduc(?:e[sd]?|ing) (?:[\w-]+ ){0,3}(?:contention|traffic|overhead|memory|pressure|time|cost|usage|conflicts?|"
    r"registers?|launches|i/?o)|avoid(?:s|ed|ing)? (?!(?:[\w-]+ ){0,3}(?:nans?|overflow\w*|crash\w*|errors?|races?|"
    r"warnings?|oob|out|dead-?lock\w*|bugs?|fail\w*|illegal|misaligned))|"
    r"less memory|(?:less|fewer) \w+|out(?:side)? (?:of )?(?:the )?loop|prefetch(?:es|ed|ing)?)\b"
    r"|\d(?:\.\d+)?\s*(?:x|×)\s*(?:faster|speed)|\d\s*%\s*(?:faster|speed|improve)|\b\d+(?:\.\d+)?\s*ms\b",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"\b(?:warps?|memory usage|bandwidth|shared memory|(?:double|multi)[- ]?buffer\w*|"
    r"(?:warp|block|thread|register)?[- ]?tiling|pipelin\w*|swizzl\w*|bank[- ]conflicts?|async|in[- ]?place|shorter|"
    r"reus(?:e[sd]?|ing)|float4|128[- ]bit|tensor ?cores?)\b",
    re.IGNORECASE,
)
"""What is optimised with: it tells an optimisation where nothing else is told, or only that it is new."""
_ADDS_MEANS = re.compile(r"\b(?:add|implement|introduc|use)\w*\s+(?:[\w:]+\s+){0,3}[\w-]+$", re.IGNORECASE)
"""What is added is a means: up to where it is named."""
_FIXES_PROSE = re.compile(
    r"\bfix(?:e[sd]|ing)?\s+(?:[\w`']+\s+){0,2}(?:typos?|warnings?|format\w*|lint\w*|style|comments?|doc(?:s|strings?)?|"
    r"licen[cs]e\w*|naming|indent\w*|whitespace)\b",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"\b(?:pre-?commit|clang-?(?:format|tidy)|github (?:actions?|workflows?)|ci (?:jobs?|workflows?|config\w*)|"
    r"autoupdate|linters?|ruff|flake8|isort|yapf|mypy|pylint)\b",
    re.IGNORECASE,
)
"""What works on code as text, whatever is done to it: `Add pre-commit` is no feature of a kernel."""
_REFACTOR = re.compile(
    r"\b(?:refactor\w*|clean[- ]?ups?|clean(?:ed|ing|s)?|renam\w*|mov(?:e[sd]?|ing)|re-?organi[sz]\w*|simplif\w*|"
    r"comments?|typos?|const'?ness|const[- ]correct\w*|format\w*|style|lint\w*|whitespace|migrat\w*|utilit(?:y|ies)|"
    r"dead code|unused|remov(?:e[sd]?|ing)|rm|delet\w*|unif(?:y|ied)|consolidat\w*|"
    r"split|extract\w*|dedup\w*|docs?|nits?|todos?|headers?|refator\w*|tidy)\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\b(?:add(?:s|ed|ing)?|support\w*|implement\w*|introduc\w*|feat(?:ure)?s?|new|enable[sd]?|allow\w*|"
    r"initial|first (?:version|draft)|port(?:ed|ing|s)?|options?|optional|b?f(?:loat)?16|fp16|fp8|generali[sz]\w*|"
    r"enhanc\w*|extend\w*)\b",
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
_OF_THE_BUILD = re.compile(
    r"\b(?:fast(?:er|est)?|quick(?:er)?|shorter|speed(?:s|ing)?[- ]?ups?|speed|accelerat\w*|improv\w*|reduc\w*|"
    r"efficien\w*)\s+(?:[\w+]+\s+){0,2}(?:compil(?:e|ation|ing)\b|builds?\b|build[- ]times?\b|linking\b)"
    r"|\b(?:compil\w*|builds?|tests?|ci)[- ](?:time|speed|latency|performance|speed-?ups?)\b",
    re.IGNORECASE,
)
"""What is faster is the compiler's work, or the tests', and no kernel."""
_CODE = re.compile(r"`[^`]*`")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAGS = re.compile(r"^(?:\s*\[[^\]]*\]\s*:?|\s*\w{1,8}:\s)+")
"""What stands before the sentence: `[NPU]`, `K10:`."""
_LEAD = 0.4
_OF_TYPE = 2.2
"""A type that the author chose from a list."""
_SAYS_LITTLE = frozenset({"chore", "style", "doc", "docs", "test"})
"""Types that say little of code that changed all the same."""
_BUILDS = re.compile(r"\b(?:build|compil\w*)\b", re.IGNORECASE)
_FOR_THE_COMPILER = 1.0
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
        if typed["type"].lower() not in _SAYS_LITTLE:
            return [(_BY_TYPE[typed["type"].lower()], _OF_TYPE, f'message: "{short(subject)}"')]
        subject = subject[typed.end() :]
    if re.match(r"Merge\b", subject):
        share *= 0.6
    words = _OF_THE_BUILD.sub(" ", _CODE.sub(" ", subject))
    if _FIXES_PROSE.search(words) or _TOOLS.search(words):
        return [(Intent.REFACTOR, share * 1.5, f'message: "{short(subject)}"')]
    signs = []
    for intent, weight, pattern in _WORDS:
        if pattern.search(words):
            first = pattern.match(_TAGS.sub("", words).lstrip())
            lead = _LEAD if first and not first[0].lower().startswith("add") else 0.0
            if intent is Intent.FIX and _BUILDS.search(words):
                lead += _FOR_THE_COMPILER
            signs.append((intent, share * weight + lead, f'message: "{short(subject)}"'))
    means = _MEANS.search(words)
    others = {intent for intent, _, _ in signs} - {Intent.FEATURE}
    if means and not others and (not signs or _ADDS_MEANS.search(words[: means.end()])):
        weight = 1.2 if signs else 0.8
        return [(Intent.OPTIMISATION, share * weight, f'message: "{short(subject)}"')]
    return signs or _from_body(commit.body, share)


def says_fix(commit: Commit | None) -> bool:
    """Whether a message's subject says that something is mended, whatever else it says."""
    if commit is None or _FIXES_PROSE.search(commit.subject) or _TOOLS.search(commit.subject):
        return False
    return _FIX.search(_CODE.sub(" ", commit.subject)) is not None


def _from_body(body: str, share: float) -> list[Sign]:
    text = _OF_THE_BUILD.sub(" ", _CODE.sub(" ", _HIDDEN.sub(" ", body)))[:_BODY]
    matches = [(intent, pattern.search(text)) for intent, _, pattern in _WORDS]
    return [(i, share * 0.6, f"the message's body says {f[0].lower()}") for i, f in matches if f]
