"""What the guards of a commit require of a launch, as conditions.

What has no counterpart in the condition language stays a guard: it is shown as written and conditions nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kernel_lineage.history.model import GuardSeen
from kernel_lineage.skills.card import Category
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.spelled import spelled
from kernel_lineage.skills.conditions.tree import OPPOSITE, Expr, FactRef, Op, facts_in, names_in
from kernel_lineage.skills.conditions.unparse import written

_STATED = frozenset({"assert", "static_assert", "check"})
"""Kinds of guards that say what must hold, whatever it is."""
_NOTHING = re.compile(r"\b(?:NULL|nullptr|None)\b")


def condition_of(guard: str, names: Collection[str]) -> str | None:
    """The guard in the condition language, or None when it cannot be said there.

    `C % 4 == 0 && n >= 512` gives `C % 4 == 0 and n >= 512`; `(C & 3) == 0` gives `C % 4 == 0`. `names` are the
    kernel's parameters: a guard on anything else, such as a thread's own index, speaks of a thread, a condition of a
    whole launch.
    """
    text = spelled(guard)
    return text if text is not None and names_in(parse(text)) <= set(names) else None


def requirements(
    guards: Sequence[GuardSeen], names: Collection[str], *, mends: bool, own: bool
) -> Iterator[tuple[GuardSeen, str]]:
    """Which of the guards that a commit adds require something of a launch, each with what, as a condition.

    Assertions, checks, early returns and the way to a launch do. A branch in the kernel does where the commit mends an
    earlier state (`mends`), which took every launch that way, or brings the optimisation along that is done there alone
    (`own`). A flag only chooses what is computed, and a test of which both outcomes are gone on with chooses how.
    """
    pairs = []
    for guard in guards:
        condition = condition_of(guard.expr, names)
        if condition is None or (_chooses(guard) and (guard.where == "launcher" or not (mends or own))):
            continue
        if guard.kind not in _STATED and (_NOTHING.search(condition) or _is_flag(parse(condition))):
            continue
        if guard.kind == "early_return" and not guard.leaves:
            continue
        required = opposite(condition)
        pairs.append((guard, required if guard.leaves else opposite(required)))
    every = {condition for _, condition in pairs}
    yield from ((guard, condition) for guard, condition in pairs if opposite(condition) not in every)


def category_of(condition: str) -> Category:
    """What a condition is about, by the facts that it names; the most telling fact decides."""
    names = {fact.name for fact in facts_in(parse(condition))}
    for prefix, category in _CATEGORY_BY_PREFIX:
        if any(name.startswith(prefix) for name in names):
            return category
    return Category.SHAPE


_CATEGORY_BY_PREFIX: tuple[tuple[str, Category], ...] = (
    ("device.", Category.HARDWARE),
    ("toolchain.", Category.HARDWARE),
    ("dtype(", Category.DATA_TYPES),
    *((f"{name}(", Category.DATA_TYPES) for name in ("range", "finite", "row_has_finite", "row_spread")),
    *((f"{name}(", Category.DATA_TYPES) for name in ("row_lead", "row_lead_at", "row_log_sum_exp")),
    ("align(", Category.STORAGE),
    ("noalias(", Category.STORAGE),
    ("stride(", Category.LAYOUT),
    ("contiguous(", Category.LAYOUT),
    ("launch.", Category.PIPELINE),
)


def _chooses(guard: GuardSeen) -> bool:
    """Whether a guard decides what is done, in a kernel that is right either way."""
    return guard.kind in ("branch", "mask", "loop_bound") or (guard.kind, guard.where) == (
        "dispatch",
        "kernel",
    )


def _is_flag(tree: Expr) -> bool:
    """Whether nothing but names is asked, with no value that they are compared with."""
    match tree:
        case FactRef():
            return tree.name.isidentifier()
        case Op(op="not" | "and" | "or", operands=operands):
            return any(_is_flag(part) for part in operands)
    return False


def opposite(condition: str) -> str:
    """What holds where a condition does not: `C % 4 != 0` of `C % 4 == 0`.

    What is more than one comparison is put behind `not`.
    """
    tree = parse(condition)
    match tree:
        case Op(op=op) if op in OPPOSITE:
            return written(replace(tree, op=OPPOSITE[op]))
        case Op(op="not", operands=(operand,)):
            return written(operand)
    return f"not ({condition})"
