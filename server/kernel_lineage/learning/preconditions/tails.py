"""Masks over what lies past the end of a size: where code came to be guarded by one, its size had to fit before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.preconditions import cuda_tails, triton_tails
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition
from kernel_lineage.learning.preconditions.uses import Uses
from kernel_lineage.learning.preconditions.wording import is_said

_MASKS = re.compile(r"(?<![<>-])[<>]=?(?![<>])|\bmask\b|\bwhere\(|\bu?min(?:imum)?\b|\bboundary_check\b")


def read(change: CodeChange) -> Iterator[Precondition]:
    """The conditions under which a mask or a clamp that the change adds around code leaves nothing out.

    A mask counts where the change puts code under it that was not under one of the same meaning: code that comes with
    a mask of its own says nothing of the code before it.
    """
    if not change.adds(_MASKS):
        return
    before, after = (_uses(kernel) for kernel in (change.before, change.after))
    parameters = change.after.parameters, change.after.template_parameters
    names = {p.name for listed in parameters for p in listed}
    seen: set[str] = set()
    for old, new in _pairs(before, after):
        for use in new.guarded:
            more = new.under(use.condition, use.name) > old.under(use.condition, use.name)
            fewer_bare = new.bare(use.condition, use.name) < old.bare(use.condition, use.name)
            if more and fewer_bare and use.condition not in seen and is_said(use.condition, names):
                seen.add(use.condition)
                yield Precondition(use.condition, use.line)


def _pairs(before: Mapping[str, Uses], after: Mapping[str, Uses]) -> Iterator[tuple[Uses, Uses]]:
    """The functions before and after, by name; where each side has one more, it was renamed."""
    yield from ((before[name], after[name]) for name in after if name in before)
    gone, new = (
        [name for name in one if name not in other] for one, other in ((before, after), (after, before))
    )
    if len(gone) == len(new) == 1:
        yield before[gone[0]], after[new[0]]


def _uses(kernel: Kernel) -> dict[str, Uses]:
    return cuda_tails.uses(kernel) if kernel.language is Language.CUDA else triton_tails.uses(kernel)
