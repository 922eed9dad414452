"""Another form of a kernel, which computes the same and which more rewrites can read.

Each variable gets a declaration of its own, calls of the file's own functions and of structures' functions are written
out, loops are put between braces, structures are split into their members, what walks along a row is named by the
counter of its loop, what a loop works on in one element and what a round reads of the one before stay in variables;
fields of structures that the kernel is given are read as parameters. Of a Triton kernel, calls are
written out, and branches that choose a value are choices.
Each step is worth nothing by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from kernel_lineage.kernels.edits import Edit, differing_lines
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.branches_as_choices import branches_as_choices
from kernel_lineage.rewrite.assists.carried_elements import carried_elements
from kernel_lineage.rewrite.assists.elements_in_loops import elements_in_variables
from kernel_lineage.rewrite.assists.layout import data_of, edited_kernel
from kernel_lineage.rewrite.assists.loops_in_braces import loops_in_braces
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.pointer_walks import indexed_walks
from kernel_lineage.rewrite.assists.single_declarations import single_declarations
from kernel_lineage.rewrite.assists.split_structures import split_structures
from kernel_lineage.rewrite.assists.structure_fields import FieldsApart, fields_apart
from kernel_lineage.rewrite.assists.triton_block_choices import kernel_after
from kernel_lineage.rewrite.assists.written_out_calls import written_out_calls
from kernel_lineage.rewrite.assists.written_out_functions import written_out_functions
from kernel_lineage.rewrite.assists.written_out_methods import written_out_methods
from kernel_lineage.rewrite.candidate import Candidate

_WRITTEN_OUT = "Calls of the file's own functions are written out."
_DEEPEST = 8
"""Calls within each other that are written out."""
_STEPS = (
    (single_declarations, 1, "Each variable has a declaration of its own."),
    (written_out_calls, _DEEPEST, _WRITTEN_OUT),
    (written_out_methods, 8, "What structures' functions return is written out."),
    (loops_in_braces, 8, "Loops stand between braces."),
    (split_structures, 4, "Members of structures are variables of their own."),
    (indexed_walks, 1, "Places are told by the loop's counter."),
    (elements_in_variables, 4, "An element that a loop works on stays in a variable."),
    (carried_elements, 1, "What a round needs of the one before stays in a variable."),
)
"""What is done to a kernel, how often at most, and what is said of it."""
_STEPS_OF_TRITON = (
    (written_out_functions, _WRITTEN_OUT),
    (branches_as_choices, "Branches that choose a value are choices."),
)
"""The same of a Triton kernel."""


@dataclass(frozen=True, slots=True)
class ReadableForm:
    """Another form of a kernel."""

    of: Kernel
    kernel: Kernel
    """As rewrites read it. Fields of structures that it is given may be parameters of their own there."""
    explanation: str
    """What is changed of the kernel; "" where nothing is but how rewrites read it."""
    apart: FieldsApart | None

    @property
    def candidate(self) -> Candidate:
        """The form without a rewrite."""
        return Candidate("", self.of.name, self._changes(data_of(self.kernel)), "assist", self.explanation)

    def of_both(self, then: Candidate) -> Candidate:
        """What a candidate for the form is for the kernel itself. Raises `Refusal`."""
        return replace(
            then,
            edits=self._changes(then.apply(data_of(self.kernel))),
            explanation=f"{self.explanation} {self.named(then.explanation)}".lstrip(),
            alternatives=(),
        )

    def named(self, text: str) -> str:
        """What is said of the form, with the kernel's own names."""
        return self.apart.named(text) if self.apart is not None else text

    def _changes(self, text: bytes) -> tuple[Edit, ...]:
        """The edits that make a text of the kernel's file. Raises `Refusal`."""
        if self.apart is not None:
            text = self.apart.together(text)
        return tuple(differing_lines(text.decode(), data_of(self.of).decode()))


def readable_form(kernel: Kernel) -> ReadableForm | None:
    """A form of a kernel that more rewrites can read; None where that is the kernel itself."""
    if kernel.source is None or not _is_utf8(data_of(kernel)):
        return None
    if kernel.language is not Language.CUDA:
        return _of_triton(kernel)
    form, done = kernel, list[str]()
    for step, most, says in _STEPS:
        for _ in range(most):
            edits = attempt(partial(step, form))
            again = None if isinstance(edits, Refusal) or not edits else edited_kernel(form, edits)
            if again is None:
                break
            form, done = again, [*done, says]
    explanation = " ".join(dict.fromkeys(done))
    apart = attempt(partial(fields_apart, form))
    again = edited_kernel(form, apart.edits) if not isinstance(apart, Refusal) else None
    if again is not None and not isinstance(apart, Refusal):
        return ReadableForm(kernel, again, explanation, apart)
    return ReadableForm(kernel, form, explanation, None) if form is not kernel else None


def _of_triton(kernel: Kernel) -> ReadableForm | None:
    """The form of a Triton kernel."""
    form, done = kernel, list[str]()
    for step, says in _STEPS_OF_TRITON:
        for _ in range(_DEEPEST):
            edits = attempt(partial(step, form))
            again = attempt(partial(kernel_after, form, edits)) if not isinstance(edits, Refusal) else edits
            if not edits or isinstance(again, Refusal):
                break
            form, done = again, [*done, says]
    explanation = " ".join(dict.fromkeys(done))
    return ReadableForm(kernel, form, explanation, None) if form is not kernel else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
