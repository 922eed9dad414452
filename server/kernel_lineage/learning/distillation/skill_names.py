"""A condition in a kernel's own names → the same condition in a skill's names, as the anchor bound them there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.skills.conditions.binding import bind
from kernel_lineage.skills.conditions.names import is_plain
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in, names_in
from kernel_lineage.skills.conditions.unparse import written

_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![.\w])")


def in_skill_names(expr: str, bindings: Mapping[str, str]) -> str | None:
    """`OC % 4 == 0` as `C % 4 == 0` where the skill's `C` is bound to `OC`.

    None when the condition speaks of something that the anchor does not bind to a name.
    """
    names = kernel_to_skill(bindings)
    tree = bind(parse(expr), names)
    return written(tree) if all(ref.bound for ref in facts_in(tree)) else None


def reason_in_skill_names(reason: str, bindings: Mapping[str, str]) -> str:
    """A condition's reason, with the facts that it ends in (`…, as with OC = 770.`) in the skill's names too."""
    sentence, as_with, facts = reason.partition(", as with ")
    names = kernel_to_skill(bindings)
    return sentence + as_with + _WORD.sub(lambda word: names.get(word[0], word[0]), facts)


def unbound(expr: str, bindings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of a condition that no name of the skill is bound to, sorted."""
    return tuple(sorted(names_in(parse(expr)) - set(kernel_to_skill(bindings))))


def kernel_to_skill(bindings: Mapping[str, str]) -> Mapping[str, str]:
    """The kernel's names that are bound, and the skill's name of each; of several the first."""
    names: dict[str, str] = {}
    for skill_name, bound in sorted(bindings.items()):
        kernel_name = bound.partition("[")[0].strip()
        if is_plain(kernel_name):
            names.setdefault(kernel_name, skill_name)
    return names
