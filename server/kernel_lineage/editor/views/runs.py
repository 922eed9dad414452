"""The runs of this window as a tree: what runs, newest first, then what has ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernel_lineage.editor.runs import Run, RunState
from kernel_lineage.editor.views.tree import Link, Node

if TYPE_CHECKING:
    from kernel_lineage.learning.check_document import CheckedDocument

_GOOD, _BAD, _SOFT = "testing.iconPassed", "testing.iconFailed", "testing.iconSkipped"
_ICONS = {
    RunState.RUNNING: ("sync~spin", ""),
    RunState.ACCEPTED: ("verified-filled", _GOOD),
    RunState.RIGHT: ("pass", _GOOD),
    RunState.INCONCLUSIVE: ("question", _SOFT),
    RunState.UNCLEAR: ("question", _SOFT),
    RunState.WRONG: ("error", _BAD),
    RunState.REJECTED: ("error", _BAD),
    RunState.REFUSED: ("circle-slash", _SOFT),
    RunState.CANCELLED: ("circle-slash", _SOFT),
    RunState.FAILED: ("bug", _BAD),
}


def run_nodes(runs: Iterable[Run]) -> tuple[Node, ...]:
    """The rows; those that run have no children and come first."""
    newest = list(runs)[::-1]
    return tuple(_run(run) for run in sorted(newest, key=lambda run: run.ended is not None))


def _run(run: Run) -> Node:
    icon, color = _ICONS[run.state]
    head = run.message.partition("\n")[0]
    kind = "run" + (" stop" if run.stop is not None else "") + (" page" if run.page else "")
    kind += " repeat" if run.repeat is not None and run.ended is not None else ""
    seconds = (run.ended or time.time()) - run.started
    took = f"{seconds:.1f} s" if run.ended is not None else f"for {seconds:.0f} s"
    data: dict[str, Any] = {"run": run.id}
    if run.repeat is not None:
        data |= {"command": run.repeat.command, "argument": run.repeat.argument}
    return Node(
        id=run.id,
        label=run.title,
        description=head if run.ended is not None else f"{run.state} · {head}",
        tooltip=f"{run.title}\n{run.state}, {took}\n{run.message}",
        icon=icon,
        color=color,
        spoken=f"{run.title}: {run.state}, {head}",
        kind=kind,
        open=Link(command="klineage.openRun", title="Open the verdict", arguments=(data,))
        if run.page
        else None,
        data=data,
    )


def check_page(title: str, documents: Sequence[CheckedDocument]) -> str:
    """What a check found of each kernel, as a page of Markdown."""
    lines = [f"# {title}", ""]
    for document in documents:
        lines += [f"## {document.kernel}: {document.state}", "", document.reason, ""]
        for finding in document.findings:
            head, _, more = finding.message.partition("\n")
            lines += [f"- line {finding.line}, {finding.severity}: {head}"]
            lines += [f"  {line}" for line in more.splitlines()]
            lines += [f"  - line {other.line}: {other.message}" for other in finding.related]
        lines += ["", f"Workload: {document.workload or 'none'}", ""]
        lines += [f"- assumed: {assumption}" for assumption in document.assumed]
        lines += [f"- agrees: {case}" for case in document.passed]
        lines.append("")
    return "\n".join(lines)
