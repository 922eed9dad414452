"""Another form of a kernel, which computes the same and which more rewrites can read.

Each variable gets a declaration of its own, calls of the file's own functions are written out, structures are split
into their members, and what walks along a row is named by the counter of its loop. Each step is worth nothing by
itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kernel_lineage.kernels.edits import Edit, differing_lines, edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.pointer_walks import indexed_walks
from kernel_lineage.rewrite.assists.single_declarations import single_declarations
from kernel_lineage.rewrite.assists.split_structures import split_structures
from kernel_lineage.rewrite.assists.written_out_calls import written_out_calls
from kernel_lineage.rewrite.candidate import Candidate

_STEPS = (
    (single_declarations, 1, "Each variable has a declaration of its own."),
    (written_out_calls, 8, "Calls of the file's own functions are written out."),
    (split_structures, 4, "Members of structures are variables of their own."),
    (indexed_walks, 1, "Places are told by the loop's counter."),
)
"""What is done to a kernel, how often at most, and what is said of it."""


def readable_form(kernel: Kernel) -> tuple[Candidate, Kernel] | None:
    """What is changed of a kernel, and the kernel then; None where there is nothing to change."""
    if kernel.language is not Language.CUDA or kernel.source is None or not _is_utf8(data_of(kernel)):
        return None
    form, done = kernel, list[str]()
    for step, most, says in _STEPS:
        for _ in range(most):
            edits = attempt(partial(step, form))
            if isinstance(edits, Refusal) or not edits:
                break
            again = read(edited(data_of(form), edits), kernel.language).kernel(kernel.name)
            if again is None or again.node is None or again.node.has_error:
                break
            form, done = again, [*done, says]
    if form is kernel:
        return None
    changed = _changes(kernel, data_of(form))
    return Candidate("", kernel.name, changed, "assist", " ".join(dict.fromkeys(done))), form


def of_both(kernel: Kernel, first: Candidate, form: Kernel, then: Candidate) -> Candidate:
    """What a candidate for the other form is for the kernel itself."""
    return replace(
        then,
        edits=_changes(kernel, then.apply(data_of(form))),
        explanation=f"{first.explanation} {then.explanation}",
        alternatives=(),
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _changes(kernel: Kernel, text: bytes) -> tuple[Edit, ...]:
    """The edits that make a text of a kernel's file."""
    return tuple(differing_lines(text.decode(), data_of(kernel).decode()))
