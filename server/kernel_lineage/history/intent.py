"""Why a version follows another: what the diff shows first, what the message says second.

Each sign adds to the intents that it speaks for; the intent with the most is taken, and every sign that spoke for it
is named. A message speaks for a whole commit, so the more kernels it changed, the less it says of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernel_lineage.history.difference import Difference
from kernel_lineage.history.message_signs import Sign, from_message
from kernel_lineage.history.model import Commit, Intent
from kernel_lineage.history.narrowings import NARROWINGS
from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.kernels.mechanisms.registry import title_of
from kernel_lineage.kernels.words import WORD, short

_ENOUGH = 0.8
_ALSO_FOR_FEATURES = frozenset({"mixed_precision", "template_specialisation", "kernel_fusion", "loop_unroll"})
"""Mechanisms that another type, option, task or loop brings as well: alone they do not tell an optimisation."""

_OF_THE_WHOLE_LAUNCH = re.compile(
    r"\b[A-Za-z_]\w*\s*%\s*\d+\s*[=!]=|capability|is_contiguous|\.dtype\b|align"
)
"""Guards that test a size, a type, a layout or a device, not a thread's own index."""
_WAITS = re.compile(
    r"^[\w:.<>()\-]*(?:(?<!a)sync|barrier|fence|arrive_and_wait)\w*(?:<[^;=]*>)?(?:\([^;=]*\))?(?:\.\w+\(\))?;?$",
    re.IGNORECASE,
)
"""A line that only waits for other threads, or orders memory for them."""
_DIRECTIVE = re.compile(r"^#\s*(?:if|ifdef|ifndef|elif|else|endif|define|undef|include|error|warning)\b")
_NO_CODE = re.compile(r"^[\s{}()\[\];,:]*$")
_ONE_LINE = 2
"""Changed lines of one line that is written anew: another name there may be another thing, and no other name of it."""
_AT_ONCE = 40
"""Changed lines up to which 64-bit integers among them are what was done."""
_GROWN = 8
"""How many new lines are more than a correction takes."""
_COPY = 0.15
"""Up to this share of changed lines a copy is hardly changed."""


def judge(
    diff: Difference,
    commit: Commit | None,
    kernels_changed: int,
    reverts: str,
    variant: bool,
    copied: bool = False,
) -> tuple[Intent, str]:
    """The intent of a transition and why, in words.

    `reverts` says how it undoes an earlier transition, "" when it does not; `variant` is whether the two versions
    live side by side, `copied` whether the earlier one stays where it was, in another file.
    """
    if reverts:
        return Intent.REVERT, reverts
    if diff.same_code and not (diff.added or diff.removed):
        return Intent.REFACTOR, _unchanged(diff)
    signs = [*_from_diff(diff, variant, copied), *from_message(commit, kernels_changed)]
    totals: dict[Intent, float] = {}
    for intent, weight, _ in signs:
        totals[intent] = totals.get(intent, 0.0) + weight
    if not totals:
        return Intent.UNKNOWN, "neither the diff nor the message says why"
    best = max(totals, key=lambda i: (totals[i], -list(Intent).index(i)))
    if totals[best] < _ENOUGH:
        return Intent.UNKNOWN, "too little to tell: " + "; ".join(why for _, _, why in signs)
    return best, "; ".join(why for intent, _, why in signs if intent is best)


def is_compound(diff: Difference, directions: Mapping[str, str]) -> bool:
    """Whether several independent mechanisms change: two of different directions, or three of any."""
    changed = [m for m in diff.added or diff.removed if m not in BACKGROUND]
    return len({directions.get(m, m) for m in changed}) > 1 or len(changed) > 2


def _unchanged(diff: Difference) -> str:
    phrases = []
    if diff.renamed or diff.moved:
        phrases.append(
            "renamed"
            if not diff.moved
            else "moved to another file"
            if not diff.renamed
            else "moved and renamed"
        )
    phrases.append("the code is the same" if diff.same_text else "only comments or layout differ")
    return ", ".join(phrases)


def _from_diff(diff: Difference, variant: bool, copied: bool) -> list[Sign]:
    signs: list[Sign] = []
    changed = len(diff.lines_added) + len(diff.lines_removed)
    if diff.same_but_qualifiers:
        signs.append((Intent.REFACTOR, 2.5, "only qualifiers change"))
    elif diff.same_but_names:
        signs.append((Intent.REFACTOR, 2.5 if changed > _ONE_LINE else 1.2, "only names change"))
    more, less = (
        [line for line in lines if not _NO_CODE.match(line)]
        for lines in (diff.lines_added, diff.lines_removed)
    )
    grows = len(more) >= _GROWN and len(more) >= 3 * len(less)
    ordinary = BACKGROUND | _ALSO_FOR_FEATURES
    telling = [m for m in diff.added if m not in ordinary]
    if telling:
        weight = (0.7 if diff.moved or diff.same_but_places else 1.3) + 0.3 * min(len(telling), 3)
        signs.append((Intent.OPTIMISATION, weight, f"adds {', '.join(map(title_of, telling))}"))
    elif "masked_tail" in diff.added and not variant:
        signs.append((Intent.FIX, 0.8, "adds a mask against what lies past the end"))
    elif set(diff.added) - {"wide_index"}:
        signs.append((Intent.OPTIMISATION, 0.4, f"adds {', '.join(map(title_of, diff.added))}"))
    if more + less and all(_WAITS.match(line) for line in more + less):
        if len(more) > len(less):
            signs.append((Intent.FIX, 1.0, "waits for other threads where it did not"))
        elif len(less) > len(more):
            signs.append((Intent.OPTIMISATION, 0.8, "waits for other threads less often"))
    elif more + less and all(_DIRECTIVE.match(line) for line in more + less):
        signs.append((Intent.REFACTOR, 0.9, "only directives of the preprocessor change"))
    elif diff.same_but_places:
        signs.append((Intent.REFACTOR, 1.2, "moves code between functions"))
    if diff.next_number:
        signs.append((Intent.OPTIMISATION, 0.9, "takes the next number of its name"))
    if copied:
        signs.append(_of_a_copy(diff))
    if variant:
        signs.append((Intent.OPTIMISATION, 0.7, "a further variant of the same task"))
    of_options = [
        g for g in diff.guards_added if g.kind not in NARROWINGS and _asks_for(g.expr, diff.parameters_added)
    ]
    guards = [g for g in diff.guards_added if g not in of_options and g.kind not in NARROWINGS]
    whole = [g for g in guards if _OF_THE_WHOLE_LAUNCH.search(g.expr)]
    replaced = any(g.kind not in NARROWINGS for g in diff.guards_removed)
    if guards and not telling and not replaced and (changed <= 12 or whole):
        guard = (whole or guards)[0]
        signs.append((Intent.FIX, 0.8, f"adds a guard: {short(guard.expr)}"))
    if of_options:
        signs.append((Intent.FEATURE, 0.6, f"does something else for {short(of_options[0].expr)}"))
    if (
        diff.device_changed
        and not diff.added
        and not diff.removed
        and 0 < changed <= 8
        and not diff.same_but_names
    ):
        signs.append((Intent.FIX, 0.4, "a few lines change and no mechanism"))
    widens = (diff.widens_integers or "wide_index" in diff.added) and not telling
    if changed <= _AT_ONCE and (widens or (diff.widens > 0 and not diff.parameters_added)):
        signs.append((Intent.FIX, 1.0, "computes in 64-bit integers what was computed in 32"))
    if diff.parameters_added:
        signs.append((Intent.FEATURE, 0.8, f"new parameters: {', '.join(diff.parameters_added)}"))
    elif "template_specialisation" in diff.added and not telling and not diff.parameters_removed:
        signs.append((Intent.FEATURE, 0.8, "a new option of its template"))
    elif grows and not telling and not variant:
        signs.append((Intent.FEATURE, 0.8, "mostly adds code"))
    if not diff.device_changed and diff.launch_changed and not diff.added and diff.same_but_numbers:
        signs.append((Intent.OPTIMISATION, 0.9, "only numbers of its launch change"))
    return signs


def _asks_for(expr: str, parameters: Sequence[str]) -> bool:
    """Whether a guard asks for a parameter that is new: an option, not a bound."""
    return not {word.casefold() for word in WORD.findall(expr)}.isdisjoint(parameters)


def _of_a_copy(diff: Difference) -> Sign:
    if diff.changed_share <= _COPY:
        return Intent.REFACTOR, 1.5, "a copy that is hardly changed"
    return Intent.FEATURE, 0.9, "a version of its own in another file"
