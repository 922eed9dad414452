"""Whether something that a kernel calls or expands may do what is not seen in the kernel's own text."""

from __future__ import annotations

import re

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import identifiers_in
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Refusal

_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\r?\n)*)", re.MULTILINE)


def hidden_reads(kernel: Kernel, syntax: CudaSyntax, words: re.Pattern[str], what: str) -> Refusal | None:
    """A refusal when a function or a macro that a kernel uses holds one of the words, or is not in this file.

    `what` says in the reason what the words are: `threadIdx`, `the grid`.
    """
    for unit in syntax.units[1:]:
        if words.search(text_of(unit.node)):
            return Refusal(f"{unit.name}, which {kernel.name} calls, reads {what} itself")
    here = {unit.name for unit in syntax.units}
    # `(half)(x)` reads as a call, but what a parameter or a variable is declared as is a type.
    here |= {word for p in kernel.parameters for word in re.findall(r"\w+", p.type)}
    here |= {v.type for unit in syntax.units for v in unit.variables}
    for called in (c for unit in syntax.units for c in unit.calls):
        if called.name not in here and not is_of_the_language(called.qualified):
            return Refusal(f"{called.qualified} is not in this file, and may read {what} itself")
    assert kernel.source is not None
    names = identifiers_in(syntax.entry.node)
    for macro in _MACRO.finditer(kernel.source.data):
        if words.search(macro[2].decode("utf-8", "replace")) and macro[1].decode() in names:
            return Refusal(f"the macro {macro[1].decode()} reads {what} itself")
    return None
