"""Why a version follows another: what the diff shows first, what the message says second.

Each sign adds to the intents that it speaks for; the intent with the most is taken, and every sign that spoke for it
is named. A message speaks for a whole commit, so the more kernels it changed, the less it says of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernel_lineage.history.difference import Difference
from kernel_lineage.history.model import Commit, Intent

_ENOUGH = 0.8
_BACKGROUND = frozenset({"masked_tail", "hoisted_index", "thread_coarsening"})
"""Mechanisms that come and go with almost any change: they say little of why it was made."""

_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|bugfix|hot-?fix|crash\w*|incorrect\w*|wrong\w*|broke[n]?|race conditions?|data race|"
    r"out[- ]of[- ]bounds?|oob|overflows?|underflows?|nans?|illegal memory|misaligned|dead-?lock\w*|regression|"
    r"corrupt\w*|mistake|off[- ]by[- ]one|guards?|prevent\w*|only (?:when|if)|never written)\b",
    re.IGNORECASE,
)
_FASTER = re.compile(
    r"\b(?:optimi[sz]\w*|perf|performance|fast(?:er|est)?|speed[- ]?ups?|speed|accelerat\w*|throughput|latency|"
    r"efficien\w*|vectori[sz]\w*|coalesc\w*|occupancy|tun(?:e[sd]?|ing)|autotun\w*|fus(?:e[sd]?|ing|ion)|unroll\w*|"
    r"improv\w*|tok(?:ens)?/s|tflops|warps?|less memory|memory usage|bandwidth|shared memory|"
    r"float4|128[- ]bit|bf16|tensor ?cores?)\b"
    r"|\d(?:\.\d+)?\s*(?:x|×)\s*(?:faster|speed)|\d\s*%\s*(?:faster|speed|improve)|\b\d+(?:\.\d+)?\s*ms\b",
    re.IGNORECASE,
)
_REFACTOR = re.compile(
    r"\b(?:refactor\w*|clean[- ]?ups?|clean(?:ed|ing|s)?|renam\w*|mov(?:e[sd]?|ing)|re-?organi[sz]\w*|simplif\w*|"
    r"comments?|typos?|const'?ness|format\w*|style|lint\w*|whitespace|"
    r"dead code|unused|remov(?:e[sd]?|ing)|delet\w*|unif(?:y|ied)|consolidat\w*|"
    r"split|extract\w*|dedup\w*|docs?|nits?|todos?|headers?|refator\w*|tidy)\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\b(?:add(?:s|ed|ing)?|support\w*|implement\w*|introduc\w*|feat(?:ure)?s?|new|enable[sd]?|allow\w*|"
    r"initial|first (?:version|draft)|port(?:ed|ing|s)?|optional)\b",
    re.IGNORECASE,
)
_OF_THE_WHOLE_LAUNCH = re.compile(
    r"\b[A-Za-z_]\w*\s*%\s*\d+\s*[=!]=|capability|is_contiguous|\.dtype\b|align"
)
"""Guards that test a size, a type, a layout or a device, not a thread's own index."""
_CONVENTIONAL = re.compile(
    r"^\s*\[?(?P<type>fix|bug|bugfix|perf|feat|refactor|style|docs?|chore|test|revert)\]?\s*(?:\([^)]*\))?!?\s*[:\]]",
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
    "chore": Intent.REFACTOR,
    "test": Intent.REFACTOR,
    "revert": Intent.REVERT,
}
_WORDS: Sequence[tuple[Intent, re.Pattern[str]]] = (
    (Intent.FIX, _FIX),
    (Intent.OPTIMISATION, _FASTER),
    (Intent.REFACTOR, _REFACTOR),
    (Intent.FEATURE, _FEATURE),
)


def judge(
    diff: Difference, commit: Commit | None, kernels_changed: int, reverts: str, variant: bool
) -> tuple[Intent, str]:
    """The intent of a transition and why, in words.

    `reverts` says how it undoes an earlier transition, "" when it does not; `variant` is whether the two versions
    live side by side.
    """
    if reverts:
        return Intent.REVERT, reverts
    if diff.same_code and not (diff.added or diff.removed):
        return Intent.REFACTOR, _unchanged(diff)
    signs = [*_from_diff(diff, variant), *_from_message(commit, kernels_changed)]
    totals: dict[Intent, float] = {}
    for intent, weight, _ in signs:
        totals[intent] = totals.get(intent, 0.0) + weight
    if not totals:
        return Intent.UNKNOWN, "neither the diff nor the message says why"
    best = max(totals, key=lambda i: (totals[i], -list(Intent).index(i)))
    if totals[best] < _ENOUGH:
        return Intent.UNKNOWN, "too little to tell: " + "; ".join(why for _, _, why in signs)
    return best, "; ".join(why for intent, weight, why in signs if intent is best and weight > 0)


def is_compound(diff: Difference, directions: Mapping[str, str]) -> bool:
    """Whether several independent mechanisms change: two of different directions, or three of any."""
    changed = [m for m in diff.added or diff.removed if m not in _BACKGROUND]
    return len({directions.get(m, m) for m in changed}) > 1 or len(changed) > 2


def _unchanged(diff: Difference) -> str:
    said = []
    if diff.renamed or diff.moved:
        said.append(
            "renamed"
            if not diff.moved
            else "moved to another file"
            if not diff.renamed
            else "moved and renamed"
        )
    said.append("the code is the same" if diff.same_text else "only comments or layout differ")
    return ", ".join(said)


def _from_diff(diff: Difference, variant: bool) -> list[tuple[Intent, float, str]]:
    signs: list[tuple[Intent, float, str]] = []
    changed = len(diff.lines_added) + len(diff.lines_removed)
    if diff.same_but_qualifiers:
        signs.append((Intent.REFACTOR, 2.0, "only qualifiers change"))
    elif diff.same_but_names:
        signs.append((Intent.REFACTOR, 2.5, "only names change"))
    telling = [m for m in diff.added if m not in _BACKGROUND]
    if telling:
        weight = (0.7 if diff.moved else 1.2) + 0.3 * min(len(telling), 3)
        signs.append((Intent.OPTIMISATION, weight, f"adds {', '.join(telling)}"))
    elif "masked_tail" in diff.added and not variant:
        signs.append((Intent.FIX, 0.8, "adds a mask against what lies past the end"))
    elif diff.added:
        signs.append((Intent.OPTIMISATION, 0.4, f"adds {', '.join(diff.added)}"))
    elif diff.removed:
        weight = 0.5 if variant else 0.3
        signs.append((Intent.OPTIMISATION, weight, f"does without {', '.join(diff.removed)}"))
    if variant:
        signs.append((Intent.OPTIMISATION, 0.7, "a further variant of the same task"))
    whole = [g for g in diff.guards_added if _OF_THE_WHOLE_LAUNCH.search(g.expr)]
    if diff.guards_added and not telling and (changed <= 12 or whole):
        guard = (whole or diff.guards_added)[0]
        signs.append((Intent.FIX, 0.8, f"adds a guard: {_short(guard.expr)}"))
    if (
        diff.device_changed
        and not diff.added
        and not diff.removed
        and 0 < changed <= 8
        and not diff.same_but_names
    ):
        signs.append((Intent.FIX, 0.4, "a few lines change and no mechanism"))
    if diff.widens_integers and not diff.added:
        signs.append((Intent.FIX, 1.0, "computes in 64-bit integers what was computed in 32"))
    if diff.parameters_added and not diff.added:
        signs.append((Intent.FEATURE, 0.8, f"new parameters: {', '.join(diff.parameters_added)}"))
    if not diff.device_changed and diff.launch_changed and not diff.added:
        signs.append((Intent.REFACTOR, 0.2, "only its launcher changes"))
    if diff.lines_removed and not diff.lines_added and not diff.removed:
        signs.append((Intent.REFACTOR, 0.7, "only takes lines away"))
    return signs


def _from_message(commit: Commit | None, kernels_changed: int) -> list[tuple[Intent, float, str]]:
    if commit is None:
        return []
    share = 1.0 if kernels_changed <= 3 else 0.85 if kernels_changed <= 10 else 0.75
    subject = commit.subject
    typed = _CONVENTIONAL.match(subject)
    if typed:
        intent = _BY_TYPE[typed["type"].lower()]
        return [(intent, 2.2, f'message: "{_short(subject)}"')]
    merge = re.match(r"Merge\b", subject)
    if merge:
        share *= 0.6
    found = [(intent, words.findall(subject)) for intent, words in _WORDS]
    signs = []
    for intent, hits in found:
        if hits:
            weight = {Intent.FIX: 1.3, Intent.OPTIMISATION: 1.2, Intent.REFACTOR: 1.15, Intent.FEATURE: 1.1}[
                intent
            ]
            signs.append((intent, share * weight, f'message: "{_short(subject)}"'))
    if not signs:
        for intent, words in _WORDS:
            spoken = words.search(commit.body[:600])
            if spoken:
                signs.append((intent, share * 0.6, f"the message's body says {spoken[0].lower()}"))
    return signs


def _short(text: str, limit: int = 90) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
