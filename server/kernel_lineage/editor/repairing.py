"""A repair of a kernel that is wrong, as a task of `learning.apart`: the first candidate that a check finds right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import BaseModel

from kernel_gate.reasons import Reason
from kernel_lineage.editor.checking import KernelTask, checked_text, drafts
from kernel_lineage.learning.check_document import UNMASKED_CODE
from kernel_lineage.rewrite.document import EditDocument

if TYPE_CHECKING:
    from kernel_lineage.kernels.source import Kernel
    from kernel_lineage.learning.apart import Ask
    from kernel_lineage.learning.check_document import CheckedDocument
    from kernel_lineage.rewrite.repairs import Repair
    from kernel_lineage.workloads.kept_drafts import KeptDrafts


class Broken(KernelTask):
    """A kernel with what is wrong of it."""

    code: str
    lines: tuple[int, ...]
    """The finding's, then those of its other places."""
    passed: bytes | None
    seconds: float


class Mended(BaseModel):
    """What came of it."""

    title: str = ""
    """What the repair does; "" when none was found."""
    edits: tuple[EditDocument, ...] = ()
    reason: str
    """What the check said of the repair, or why there is none."""
    tried: int = 0
    cases: tuple[str, ...] = ()
    """In which the repaired kernel is right."""
    assumed: tuple[str, ...] = ()
    """What was chosen for a drafted workload."""
    beside: str = ""
    """A sentence on the version that it was compared with: whether that one is right itself. "" without one."""


def work(task: str, ask: Ask) -> str:
    """A `Broken` as JSON → a `Mended` as JSON."""
    from kernel_lineage.kernels.edits import edited
    from kernel_lineage.learning.version_checks import VersionState
    from kernel_lineage.workloads.files import kernel_of
    from kernel_lineage.workloads.kept_drafts import KeptDrafts

    broken = Broken.model_validate_json(task)
    kernel = kernel_of(broken.path, broken.kernel, broken.text)
    reasons: list[str] = []
    # A draft of the text as it is holds where nothing is masked; of a candidate, one of its own says how it is run.
    kept = KeptDrafts() if broken.code == UNMASKED_CODE else drafts(broken.around)
    for repair in _repairs(broken, kernel, kept):
        mended = edited(broken.text, repair.edits)
        document = checked_text(
            broken.path, mended, broken.kernel, kernel.span.first_line, None, broken.seconds, ask, kept
        )
        if document.state is VersionState.RIGHT and (against := _against(broken, mended, kept)):
            reasons.append(f"with {repair.title}: {against}")
        elif document.state is VersionState.RIGHT:
            edits = tuple(EditDocument(start=e.span.start, end=e.span.end, text=e.text) for e in repair.edits)
            return Mended(
                title=repair.title,
                edits=edits,
                reason=document.reason,
                tried=len(reasons) + 1,
                cases=tuple(document.passed),
                assumed=tuple(document.assumed),
                beside=_of_the_other(broken, document, ask, kept),
            ).model_dump_json()
        else:
            reasons.append(f"with {repair.title}: {document.reason}")
    if not reasons:
        return Mended(
            reason="there is no earlier text of the kernel to put back, and no other way to mend this is known"
        ).model_dump_json()
    tried = f"{len(reasons)} candidates were checked and none is right; the first, {reasons[0]}"
    return Mended(reason=tried, tried=len(reasons)).model_dump_json()


def _repairs(broken: Broken, kernel: Kernel, kept: KeptDrafts) -> Iterator[Repair]:
    """The candidates: an index is widened and a mask added where that can be done, else what was right is put back."""
    from kernel_lineage.editor.masking import masked, masked_as_others
    from kernel_lineage.editor.widening import in_64_bits
    from kernel_lineage.rewrite.repairs import repairs

    if broken.code == Reason.ADDRESS_OVERFLOW:
        workload = kept.workload_of(broken.path, broken.text, broken.kernel).workload
        yield from in_64_bits(broken.path, broken.text, broken.kernel, workload)
    if broken.code == UNMASKED_CODE:
        yield from masked(broken.path, broken.text, broken.kernel, broken.lines[0], kept)
    if broken.code == Reason.OUT_OF_BOUNDS:
        yield from masked_as_others(kernel, broken.text, broken.lines[0])
    yield from repairs(kernel, broken.code, broken.lines, _earlier(broken))


def _against(broken: Broken, mended: bytes, kept: KeptDrafts) -> str:
    """What the source of a candidate says against it where the finding is one that cases may not reach; else ""."""
    from kernel_gate.expr.solver import SolverMissingError
    from kernel_lineage.code.model import UnreadableError
    from kernel_lineage.editor.masking import needed_at, tiles
    from kernel_lineage.editor.proving import CODES, answered
    from kernel_lineage.editor.widening import PATIENT_MS
    from kernel_lineage.proofs.obligations.obligation import Status
    from kernel_lineage.workloads.kept_drafts import KeptDrafts
    from kernel_lineage.workloads.programs import ProgramError

    if broken.code == UNMASKED_CODE:
        where = needed_at(broken.lines[0], tiles(broken.path, broken.text, broken.kernel, KeptDrafts()))
        line, _ = tiles(broken.path, mended, broken.kernel, kept).get(where, (0, ""))
        return f"line {line}: nothing masks this access" if line else ""
    if broken.code not in CODES.values():
        return ""
    workload = kept.workload_of(broken.path, mended, broken.kernel).workload
    try:
        for answer in answered(broken.path, mended, broken.kernel, workload, limit_ms=PATIENT_MS):
            o = answer.obligation
            if CODES[o.kind] == broken.code and o.status is Status.REFUTED:
                return f"line {o.line}, `{o.expression}`: {o.reason or 'still so'}"
    except SolverMissingError as error:
        return str(error) if broken.code == Reason.ADDRESS_OVERFLOW else ""
    except (ProgramError, UnreadableError):
        return ""
    return ""


def _of_the_other(broken: Broken, repaired: CheckedDocument, ask: Ask, kept: KeptDrafts) -> str:
    """What a check says of the version that a repair agrees with: that one may have the same fault."""
    from kernel_lineage.learning.saved_kernels import committed
    from kernel_lineage.learning.version_checks import Reference, VersionState
    from kernel_lineage.workloads.files import kernel_of

    text = committed(broken.path) if repaired.beside == Reference.COMMITTED else None
    if text is None:
        return ""
    line = kernel_of(broken.path, broken.kernel, text).span.first_line
    other = checked_text(broken.path, text, broken.kernel, line, None, broken.seconds, ask, kept)
    reason = other.findings[0].message if other.findings else other.reason
    verdicts = {
        VersionState.RIGHT: "is right itself",
        VersionState.WRONG: f"is wrong itself: {reason.partition(chr(10))[0]}",
        VersionState.UNKNOWN: f"is not decided itself: {reason.partition(chr(10))[0]}",
    }
    return f"The committed version, with which it was compared, {verdicts[other.state]}."


def _earlier(broken: Broken) -> Iterator[Kernel]:
    """The kernel in the text that passed last, and in the committed one."""
    from kernel_lineage.learning.saved_kernels import committed
    from kernel_lineage.workloads.files import kernel_of
    from kernel_lineage.workloads.programs import ProgramError

    for earlier in (broken.passed, committed(broken.path)):
        if earlier is None or earlier == broken.text:
            continue
        try:
            yield kernel_of(broken.path, broken.kernel, earlier)
        except ProgramError:  # it had another name then
            continue
