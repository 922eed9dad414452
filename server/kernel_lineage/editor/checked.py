"""A checked kernel as a document: its findings are those that the editor underlines."""

from __future__ import annotations

import re
import shlex
from typing import Any

from kernel_gate.reasons import Reason
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload
from kernel_lineage.editor.findings import findings_of
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.check_document import (
    HINT,
    UNMASKED_CODE,
    CheckedDocument,
    CountedDocument,
    FindingDocument,
    RelatedDocument,
)
from kernel_lineage.learning.checked_file import CheckedKernel
from kernel_lineage.learning.saved_kernels import SavedVerdict, of_itself
from kernel_lineage.learning.version_checks import Reference, VersionState
from kernel_lineage.workloads.files import source_of
from kernel_lineage.workloads.index_ranges import RACING
from kernel_lineage.workloads.model import CHOSEN, MASKED_ON, UNMASKED, UNTYPED
from kernel_lineage.workloads.on_the_spot import SpotWorkload
from kernel_lineage.workloads.row_pitches import chosen_pitches

_OF_EXTENTS = frozenset({"out_of_bounds", "misaligned"})
"""Faults that a buffer of another size may not have."""
_WHATEVER_IS_GIVEN = re.compile(r"\b(?:NameError|SyntaxError)\b|module '")
"""How compilations fail that no other types and constants would mend."""
_BORROWED = re.compile(r" is taken to have the shape .* of a tensor of ")
"""How a draft says that a tensor has the shape of another, because nobody was seen to give it one."""


def checked_document(checked: CheckedKernel) -> CheckedDocument:
    """The document of one kernel."""
    result, spot = checked.result, checked.workload
    workload = "" if spot is None else "drafted" if spot.path is None else str(spot.path)
    state, reason, findings = VersionState.UNKNOWN, checked.why_not, []
    cases: list[str] = []
    tiles: dict[str, tuple[int, str]] = {}
    if broken := _unbuilt(checked):
        state, findings = VersionState.WRONG, [broken]
    if result is not None and result.verdict is not None:
        state = result.state
        check = result.verdict.stage("check")
        passed = _compared(result, check.reason) if check is not None else ""
        reason = result.verdict.reason
        if state is VersionState.RIGHT:
            reason, tiles = passed, unmasked_tiles(spot)
        elif result.reference is Reference.ITSELF:
            reason = of_itself(reason) + _chosen(spot)
        findings = list(findings_of(result))
        if state is VersionState.WRONG and (guess := _guess(result, spot)):
            state, reason = VersionState.UNKNOWN, f"{reason}; or the draft is wrong: {guess}"
            findings = [
                f.model_copy(
                    update={
                        "severity": "warning",
                        "message": f"{f.message}\nPerhaps the draft is wrong: {guess}.",
                    }
                )
                for f in findings
            ]
        findings += [
            _unmasked(checked.asked.name, where, line, masked) for where, (line, masked) in tiles.items()
        ]
        cases = list(check.details.get("passed", ())) if check is not None else []
    return CheckedDocument(
        kernel=checked.asked.name,
        line=checked.asked.line,
        state=state,
        reason=reason,
        beside=str(result.reference)
        if result is not None and result.reference is not Reference.ITSELF
        else "",
        workload=workload,
        where=" and ".join(tiles),
        assumed=list(spot.assumed) if spot is not None and spot.path is None else [],
        findings=findings,
        passed=cases,
        **_counted(result),
    )


def _unbuilt(checked: CheckedKernel) -> FindingDocument | None:
    """The compiler's error, where it left no workload to draft; None where another library's header is missing."""
    line = re.match(rf"{re.escape(checked.asked.path.name)}:(\d+): (?!.*; it needs )(.*)", checked.unbuilt)
    if line is None:
        return None
    message = f"{checked.asked.name} does not build: {line[2]}"
    code = str(Reason.CANDIDATE_DOES_NOT_COMPILE)
    return FindingDocument(line=int(line[1]), message=message, severity="error", code=code)


def _counted(result: SavedVerdict | None) -> dict[str, Any]:
    """What was counted by line, and of which case; nothing where no small case was right."""
    sanitized = (
        result.verdict.stage("sanitize") if result is not None and result.verdict is not None else None
    )
    counts = sanitized.details.get("counts", {}) if sanitized is not None else {}
    names = ("sectors_per_request", "wavefronts_per_request")
    rows = counts.get("after", {}).get("lines", ())
    lines = [
        CountedDocument.model_validate({"line": row["line"], **{name: row[name] for name in names}})
        for row in rows
        if row["line"] is not None and any(row[name] is not None for name in names)
    ]
    return {"counted": lines, "counted_in": counts.get("case", "")} if lines else {}


def unmasked_tiles(spot: SpotWorkload | None) -> dict[str, tuple[int, str]]:
    """What a draft takes to hold of sizes, because accesses without a mask need it, with the line of one.

    And that of an access of the same tile that is masked; "" where none is.
    """
    notes = spot.assumed if spot is not None and spot.path is None else ()
    parts = (note.partition(UNMASKED) for note in notes)
    lines = {where: line.partition(MASKED_ON) for where, taken, line in parts if taken}
    return {where: (int(line), masked) for where, (line, _, masked) in lines.items()}


def _unmasked(kernel: str, where: str, line: int, masked: str) -> FindingDocument:
    others = f", though line {masked} masks others of the same tile" if masked else ""
    message = (
        f"{kernel}: nothing masks this access{others}, so the kernel is right only where {where}, "
        "and no code says so. Mask it, or assert that before the launch."
    )
    elsewhere = bool(masked) and int(masked) != line
    return FindingDocument(
        line=line,
        message=message,
        severity="warning" if masked else HINT,
        code=UNMASKED_CODE,
        related=[RelatedDocument(line=int(masked), message="this access of the same tile is masked")]
        if elsewhere
        else [],
    )


def _guess(result: SavedVerdict, spot: SpotWorkload | None) -> str:
    """What a draft lacks, where that may be why a kernel is wrong beside itself; "" where it is the kernel's fault."""
    verdict = result.verdict
    check = verdict.stage("check") if verdict is not None else None
    if verdict is None or check is None or spot is None or spot.path is not None:
        return ""
    if result.reference is not Reference.ITSELF:
        return ""
    if check.status is StageStatus.SKIPPED:
        # It was not built: what Triton compiles depends on the types and constants that it is given.
        is_of_those = spot.workload.language == "triton" and not _WHATEVER_IS_GIVEN.search(verdict.reason)
        choices = (note for note in spot.assumed if " is taken to " in note or note.startswith(UNTYPED))
        return next(choices, "") if is_of_those else ""
    borrowed = [note for note in spot.assumed if _BORROWED.search(note)]
    if borrowed:
        return borrowed[0]
    if check.details.get("fault") in _OF_EXTENTS:
        buffer = str(check.details.get("buffer") or "")
        loose = loose_dims(spot.workload, buffer) if result.is_wrong_beside_itself else []
        if loose:
            follow = "follows" if len(loose) == 1 else "follow"
            return f"nothing tells how {' and '.join(loose)} of {buffer} {follow} from the launch"
    if pitches := _chosen_pitches(result, spot):
        path, kernel = shlex.quote(result.saved.path.name), result.saved.kernel
        answers = " ".join(f"--set {name}=NUMBER" for name in pitches)
        return (
            f"{' and '.join(pitches)} {'was' if len(pitches) == 1 else 'were'} chosen, and no code tells how far apart "
            f"rows are; write it down: klineage workload init {path}:{kernel} {answers}"
        )
    racing = [note.partition(" ")[0] for note in spot.assumed if note.endswith(RACING)]
    return f"nothing tells what {' and '.join(racing)} may hold{RACING}" if racing else ""


def _chosen(spot: SpotWorkload | None) -> str:
    """What a reason says of the sizes that a draft chose."""
    notes = spot.assumed if spot is not None and spot.path is None else ()
    names = [note.removesuffix(CHOSEN) for note in notes if note.endswith(CHOSEN)]
    are = "is a chosen size" if len(names) == 1 else "are chosen sizes"
    return (
        f"; {' and '.join(names)} {are}: no code tells {'it' if len(names) == 1 else 'them'}" if names else ""
    )


def _chosen_pitches(result: SavedVerdict, spot: SpotWorkload) -> list[str]:
    """The distances of rows that were chosen, where the kernel fails at an element of a buffer: rows may overlap."""
    reason = result.verdict.reason if result.verdict is not None else ""
    if not any(a.shape and f"{a.name}[" in reason for a in spot.workload.args):
        return []
    kernel = source_of(result.saved.path, result.saved.text).kernel(result.saved.kernel)
    return [] if kernel is None else chosen_pitches(spot.workload, spot.assumed, kernel)


def loose_dims(workload: Workload, buffer: str) -> list[str]:
    """The dims of a buffer's shape of which nothing that the kernel gets speaks: no number, range, grid or constant.

    Other buffers may have them, too: a kernel that is written for one size is not told it.
    """
    argument = workload.argument(buffer)
    if argument is None or argument.shape is None:
        return []
    own = {n for extent in argument.shape for n in WORD.findall(str(extent))} & workload.dims.keys()
    args = tuple(a.model_copy(update={"shape": None}) for a in workload.args)
    rest = workload.model_copy(update={"args": args, "dims": {}, "profile_dims": (), "promises": ()})
    return sorted(own - set(WORD.findall(rest.model_dump_json())))


def _compared(result: SavedVerdict, agreement: str) -> str:
    if result.reference is not Reference.ITSELF or result.saved.workload.workload.oracle is not None:
        return f"beside {result.reference}: {agreement}"
    cases = agreement.partition(";")[0]
    return f"no race, no access out of bounds, and {cases} when they run again; there is nothing else to compare with"
