"""Lineages for people: all of a repository on a screen, or one in full."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from kernel_lineage.cli import terminal
from kernel_lineage.cli.lineage_screen import print_screen
from kernel_lineage.history.document import Teaches
from kernel_lineage.history.model import Commit, Intent, Lineage, Mined, Transition
from kernel_lineage.kernels.mechanisms.registry import title_of

_COLOURS = {
    Intent.OPTIMISATION: "green",
    Intent.FIX: "red",
    Intent.REVERT: "magenta",
    Intent.FEATURE: "cyan",
    Intent.REFACTOR: "dim",
    Intent.UNKNOWN: "dim",
}


def print_lineages(mined: Mined) -> None:
    """What happened to the kernels of a repository, what could not be read, and what to type next."""
    console = terminal.console()
    print_screen(console, mined)
    if mined.lineages:
        console.print(
            f"\nOne lineage in full:\n  klineage mine {mined.repository} --kernel {mined.lineages[0].kernel}",
            soft_wrap=True,
        )
    else:
        console.print("No kernels were found (CUDA C++ in .cu, .cuh, .h, .hpp, .inl; Triton in .py).")
    _print_remarks(console, mined)


def lineages_named(mined: Mined, kernel: str) -> list[Lineage]:
    """The lineages that hold a kernel of this name, or `PATH:NAME`; those that have the name now come alone."""
    path, _, name = kernel.rpartition(":")
    lineages = [
        line
        for line in mined.lineages
        if any(v.symbol == name and (not path or v.path.endswith(path)) for v in line.versions)
    ]
    return [line for line in lineages if line.kernel == name] or lineages


def print_choice(kernel: str, lineages: Sequence[Lineage]) -> None:
    """Says that a name means several lineages, and how to ask for each."""
    console = terminal.console()
    console.print(
        f"{len(lineages)} lineages hold a kernel named {kernel}. Ask for one of them:", soft_wrap=True
    )
    for line in lineages:
        last = line.versions[-1]
        console.print(f"  --kernel {last.path}:{last.symbol}  ({_versions(line)})", soft_wrap=True)


def _versions(lineage: Lineage) -> str:
    count = len(lineage.versions)
    return f"{count} version{'s' * (count != 1)}"


def print_lineage(mined: Mined, lineage: Lineage, teaches: Teaches) -> None:
    """Every transition of a lineage, and what it teaches."""
    console = terminal.console()
    console.print(f"{lineage.kernel} ({lineage.language}): {_versions(lineage)}\n", style="bold")
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
            _print_conditions(console, lineage, transition, teaches)
    _print_remarks(console, mined)


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
            console.print(Text(f"    {sign} {', '.join(map(title_of, mechanisms))}", colour), soft_wrap=True)
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


def _print_conditions(console: Console, lineage: Lineage, transition: Transition, teaches: Teaches) -> None:
    commits = {t.id: _short(t.commit) for t in lineage.transitions}
    for condition in teaches.get(transition.id, ()):
        step = condition.conditions
        whose = "this step" if step == transition.id else commits[step] if step else "the first version"
        console.print(Text(f"    teaches: {whose} needs {condition.expr}", "green"), soft_wrap=True)


def _print_remarks(console: Console, mined: Mined) -> None:
    if mined.skipped:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in mined.skipped.items())
        console.print(f"Not read: {reasons}", style="yellow")
    for message in mined.messages:
        console.print(message, style="yellow")


def _short(sha: str | None) -> str:
    return sha[:10] if sha else "work tree "
