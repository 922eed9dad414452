"""Whether an edit of an agent may be made: it changes no kernel, or the gate has accepted each change that it makes."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable
from pathlib import Path

from kernel_gate.files.writing import write_atomically
from kernel_lineage.agents.hook.calls import ProposedEdit
from kernel_lineage.agents.trust import Enough, enough_in
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.git import RepositoryError, is_as_committed, open_repository
from kernel_lineage.history.trees import Tree, is_source, trees
from kernel_lineage.kernels.reading import kernels_of
from kernel_lineage.learning.changed_kernels import (
    ChangedKernel,
    UnreadFileError,
    changed_kernels,
    changes_between,
)
from kernel_lineage.learning.gated_edits import EditGate, fingerprint
from kernel_lineage.workloads.saved import folder_of

_MARKS = "told-to-agents"
_MOST_TOLD = 500
_MOST_SHOWN = 6


def refusal(edit: ProposedEdit) -> str | None:
    """Why an edit may not be made, and the command that gates it; None when it may."""
    root = folder_of(edit.path)
    path = edit.path.relative_to(root).as_posix()
    if ".klineage" in edit.path.parts:
        return (
            f"{path} says how kernels are judged, so it is not an agent's to edit: draft_workload drafts a workload "
            "and takes answers; anything else a person changes."
        )
    if edit.text == edit.before or not is_source(root, path):
        return None
    gate, enough = EditGate(root), enough_in(root)
    try:
        return _refusal_of(gate, enough, path, edit)
    except UnreadFileError as error:
        return f"Refused: {error}; nothing was written. Split the file, or leave the edit to a person."


def _refusal_of(gate: EditGate, enough: Enough, path: str, edit: ProposedEdit) -> str | None:
    with gate.changed(path, edit.text) as (changed, after):
        bad = _not_allowed(gate, changed, enough)
        if bad:
            with gate.committed() as head:
                if head is not None:  # what is again as it was committed needs no verdict
                    within = {p for pair, _reason in bad for p in (pair.before.path, pair.after.path)}
                    since = changes_between(head, after, within=within)
                    bad = [
                        (pair, answer) for pair, answer in bad if not _is_restored(pair, head, since.changed)
                    ]
        return _words(gate.root, path, edit, bad) if bad else None


def ungated(folder: Path) -> str | None:
    """What the work tree around a folder has of changed kernels that no verdict allows; None when nothing, or again.

    A shell writes files past the hook on edits: an agent is told of each such change once.
    """
    root = folder_of(folder / "here")
    try:
        repository = open_repository(root)
    except RepositoryError:
        return None
    if repository.head is None or is_as_committed(repository):
        return None
    gate = EditGate(repository.top)
    file = kept_in(repository.top) / _MARKS
    with trees(repository, "HEAD") as (before, after):
        try:
            changed = changed_kernels(before, after)
        except UnreadFileError as error:
            return f"What has changed since HEAD cannot be judged: {error}. Take it back, or split the file."
        bad = _not_allowed(gate, changed, enough_in(repository.top))
        unknown = {fingerprint(pair): pair for pair, _reason in bad}
        before_now = set(file.read_text().split()) if file.is_file() else set()
        news = [pair for digest, pair in unknown.items() if digest not in before_now]
        if not news:
            return None
        write_atomically(file, "\n".join(sorted(before_now | unknown.keys())[-_MOST_TOLD:]).encode())
        names = ", ".join(f"`{pair.after.kernel.name}` of {pair.after.path}" for pair in news)
    return (
        f"Changed since HEAD, and no verdict allows it: {names}. gate_changes judges it; in a shell "
        f"`klineage gate --since HEAD`. If the change is yours and is not accepted, take it back."
    )


def _not_allowed(
    gate: EditGate, pairs: Iterable[ChangedKernel], enough: Enough
) -> list[tuple[ChangedKernel, str]]:
    """The changes that no verdict allows, each with what the gate has said of it; "" when it was not asked."""
    refusals: list[tuple[ChangedKernel, str]] = []
    for pair in pairs:
        record = gate.record_of(pair)
        if record is None:
            refusals.append((pair, ""))
        elif record.standing != "accepted" and record.standing != enough:
            refusals.append((pair, f"{record.standing}: {record.reason}"))
    return refusals


def _is_restored(pair: ChangedKernel, head: Tree, since: Iterable[ChangedKernel]) -> bool:
    path, name = pair.after.path, pair.after.kernel.name
    differs = any((other.after.path, other.after.kernel.name) == (path, name) for other in since)
    return not differs and name in {kernel.name for kernel in kernels_of(path, head.read(path))}


def _words(root: Path, path: str, edit: ProposedEdit, bad: list[tuple[ChangedKernel, str]]) -> str:
    """The refusal, with the command that gates this very edit."""
    kept = kept_in(root) / "proposed" / f"{hashlib.sha256(edit.text).hexdigest()[:16]}{edit.path.suffix}"
    write_atomically(kept, edit.text, 0o600)
    lines = [
        f"Refused: this edit changes {_count(len(bad))} that the gate has not accepted; nothing was written."
    ]
    for pair, answer in bad[:_MOST_SHOWN]:
        where = f"`{pair.after.kernel.name}` ({pair.after.path}:{pair.after.kernel.span.first_line})"
        lines.append(f"- {where}: {answer or 'the gate was not asked'}"[:400])
    if len(bad) > _MOST_SHOWN:
        lines.append(f"- and {len(bad) - _MOST_SHOWN} more")
    if all(answer.startswith("right:") for _pair, answer in bad):
        lines.append(
            "It is right as far as it was checked, and was not timed. Gate it on a machine with a GPU, or ask the "
            f"person: `klineage trust {shlex.quote(str(root))} --edits right` lets such edits pass here."
        )
        return "\n".join(lines)
    command = shlex.join(["klineage", "gate", str(root / path), "--text", str(kept), "--write"])
    lines.append(
        f"Gate it first: gate_candidate with file={path!r} and write=true, or in a shell:\n  {command}"
    )
    lines.append("Once it is accepted the file is written, and this same edit passes.")
    return "\n".join(lines)


def _count(number: int) -> str:
    return "a kernel" if number == 1 else f"{number} kernels"
