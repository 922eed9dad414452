"""Lineages as tables for people."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernel_lineage.history.model import Commit, Intent, Lineage, Mined, Transition

_COLOURS = {
    Intent.OPTIMISATION: "green",
    Intent.FIX: "red",
    Intent.REVERT: "magenta",
    Intent.FEATURE: "cyan",
    Intent.REFACTOR: "dim",
    Intent.UNKNOWN: "dim",
}


def print_lineages(mined: Mined) -> None:
    """One row per lineage, and what to type next."""
    console = _console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, justify in (
        ("kernel", "left"),
        ("versions", "right"),
        ("optimised", "right"),
        ("fixed", "right"),
        ("reverted", "right"),
    ):
        table.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("mechanisms, as they came", overflow="fold")
    for lineage in mined.lineages:
        intents = [t.intent for t in lineage.transitions]
        came = list(dict.fromkeys(m for t in lineage.transitions for m in t.added))
        table.add_row(
            lineage.kernel,
            str(len(lineage.versions)),
            *(str(intents.count(i) or "") for i in (Intent.OPTIMISATION, Intent.FIX, Intent.REVERT)),
            ", ".join(came),
        )
    versions = sum(len(line.versions) for line in mined.lineages)
    console.print(
        f"{mined.repository}: {len(mined.lineages)} lineages, {versions} versions in {mined.commits_read} commits\n",
        soft_wrap=True,
    )
    if mined.lineages:
        console.print(table)
        console.print(
            f"\nOne lineage in full: klineage mine {mined.repository} --kernel {mined.lineages[0].kernel}",
            soft_wrap=True,
        )
    else:
        console.print("No kernels were found (CUDA C++ in .cu, .cuh, .h, .hpp, .inl; Triton in .py).")
    _print_remarks(console, mined)


def print_lineage(mined: Mined, kernel: str) -> bool:
    """Every transition of the lineage that holds a kernel of this name; False when there is none."""
    lineage = next((line for line in mined.lineages if line.kernel == kernel), None) or next(
        (line for line in mined.lineages if any(v.symbol == kernel for v in line.versions)), None
    )
    if lineage is None:
        return False
    console = _console()
    console.print(f"{lineage.kernel} ({lineage.language}): {len(lineage.versions)} versions\n", style="bold")
    by_id = {v.id: v for v in lineage.versions}
    for version in lineage.versions:
        arriving = [t for t in lineage.transitions if t.after == version.id]
        where = f"{version.path}:{version.first_line}"
        if not arriving:
            head = Text.assemble(
                (f"{_short(version.commit)}  ", "yellow"),
                (version.symbol, "bold"),
                f"  {where}  ",
                ("begins", "dim"),
            )
            console.print(head, soft_wrap=True)
        for transition in arriving:
            before = by_id[transition.before]
            _print_transition(
                console,
                lineage,
                transition,
                mined.commits.get(transition.commit or ""),
                before.symbol,
                version.symbol,
                where,
            )
    _print_remarks(console, mined)
    return True


def _print_transition(
    console: Console,
    lineage: Lineage,
    transition: Transition,
    commit: Commit | None,
    before: str,
    after: str,
    where: str,
) -> None:
    names = after if before == after else f"{before} → {after}"
    line = Text.assemble(
        (f"{_short(transition.commit)}  ", "yellow"), (names, "bold"), f"  {where}  ",
        (transition.intent, _COLOURS[transition.intent]), " (several at once)" if transition.compound else "",
    )  # fmt: skip
    console.print(line, soft_wrap=True)
    if commit is not None:
        console.print(Text(f"    {commit.date[:10]}  {commit.subject}", "dim"), soft_wrap=True)
    for sign, mechanisms, colour in (("+", transition.added, "green"), ("-", transition.removed, "red")):
        if mechanisms:
            console.print(Text(f"    {sign} {', '.join(mechanisms)}", colour), soft_wrap=True)
    for sign, guards in (("+", transition.guards_added), ("-", transition.guards_removed)):
        for guard in guards:
            console.print(
                Text(f"    {sign} {guard.kind} in {guard.where}: {' '.join(guard.expr.split())}", "cyan"),
                soft_wrap=True,
            )
    console.print(Text(f"    because {transition.because}"), soft_wrap=True)
    if transition.answers is not None:
        answered = next((t for t in lineage.transitions if t.id == transition.answers), None)
        console.print(
            Text(f"    answers {_short(answered.commit) if answered else transition.answers}", "red"),
            soft_wrap=True,
        )
    for risk in transition.risk:
        console.print(
            Text(f"    ! {risk.kind}: {risk.message} ({_short(risk.commit)})", "red"), soft_wrap=True
        )


def _print_remarks(console: Console, mined: Mined) -> None:
    for reason, count in mined.skipped.items():
        console.print(f"Passed over: {reason}: {count}", style="yellow", soft_wrap=True)
    for message in mined.messages:
        console.print(message, style="yellow", soft_wrap=True)


def _short(sha: str | None) -> str:
    return sha[:10] if sha else "work tree "


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False)
