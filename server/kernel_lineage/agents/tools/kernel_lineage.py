"""`kernel_lineage`: how a kernel came to be as it is."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import READS, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.history.document import LineageDocument, MineDocument, TransitionDocument


class StepResult(BaseModel):
    """One step of a lineage."""

    commit: str
    date: str
    intent: str
    """`optimisation`, `fix`, `refactor`, `feature`, `revert` or `unknown`."""
    subject: str
    added: list[str] = Field(default_factory=list)
    """Mechanisms."""
    removed: list[str] = Field(default_factory=list)
    guards: list[str] = Field(default_factory=list)
    """Guards that came or went: conditions that somebody has learned."""
    risks: list[str] = Field(default_factory=list)
    """What history says against it: reverts, later fixes."""
    kernel: str = ""
    """The kernel's name from here on, where it changed."""


class LineageResult(BaseModel):
    """One kernel's history, newest step first."""

    kernel: str
    path: str
    versions: int
    steps: list[StepResult] = Field(default_factory=list)


class LineagesResult(BaseModel):
    """The lineages that were asked for."""

    lineages: list[LineageResult]
    notes: list[str] = Field(default_factory=list)


def register(agent: Agent) -> None:
    """Add the tool."""

    async def kernel_lineage(
        kernel: KernelName | None = None,
        file: File | None = None,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[LineagesResult]]:
        """How kernels came to be, from git: each step's intent, mechanisms and guards added or removed, reverts, fixes.

        With kernel or file: each step. Without: all lineages, those with the most optimisations first. Read it before
        you try what has been tried. Changes nothing.
        """
        path = agent.root.relative(agent.root.file(file)) if file else None

        def shape(printed: bytes, _status: ExitCode) -> tuple[LineagesResult, str]:
            mined = MineDocument.model_validate_json(printed)
            asked = kernel.rsplit("::", 1)[-1].split("<")[0] if kernel else None
            chosen = [line for line in mined.lineages if _is_asked(line, asked, path)]
            whole = bool(kernel or file)
            chosen.sort(key=lambda line: -sum(t.intent == "optimisation" for t in line.transitions))
            next_ = "" if chosen else "No lineage holds such a kernel; without arguments all are listed."
            return LineagesResult(
                lineages=[_lineage(line, asked, whole) for line in chosen], notes=list(mined.messages)
            ), next_ if (chosen and whole) or not chosen else "Name a kernel to see its steps."

        return await agent.run(
            Work(("mine", str(agent.root.folder), "--json"), shape), wait_seconds, max_tokens
        )

    agent.tool(kernel_lineage, READS)


def _is_asked(lineage: LineageDocument, kernel: str | None, path: str | None) -> bool:
    return any(
        (kernel is None or v.symbol == kernel) and (path is None or v.path == path) for v in lineage.versions
    )


def _lineage(lineage: LineageDocument, asked: str | None, whole: bool) -> LineageResult:
    last = next(v for v in reversed(lineage.versions) if asked in (None, v.symbol))
    symbols = {version.id: version.symbol for version in lineage.versions}
    steps: list[StepResult] = []
    for transition in reversed(lineage.transitions) if whole else ():
        step = _step(transition, symbols)
        if step not in steps:  # a commit that does the same to two variants of the kernel is one step
            steps.append(step)
    return LineageResult(kernel=last.symbol, path=last.path, versions=len(lineage.versions), steps=steps)


def _step(transition: TransitionDocument, symbols: dict[str, str]) -> StepResult:
    guards = [f"+ {g.expr}" for g in transition.guards.added] + [
        f"- {g.expr}" for g in transition.guards.removed
    ]
    added, removed = transition.mechanisms.added, transition.mechanisms.removed
    renamed = symbols[transition.before] != symbols[transition.after]
    return StepResult(
        commit=(transition.commit or "work tree")[:10],
        date=transition.date[:10],
        intent=transition.intent,
        subject=transition.subject[:100],
        added=[name for name in added if name not in removed],
        removed=[name for name in removed if name not in added],
        guards=list(dict.fromkeys(" ".join(guard.split())[:120] for guard in guards)),
        risks=[f"{risk.kind}: {risk.message}"[:200] for risk in transition.risk],
        kernel=symbols[transition.after] if renamed else "",
    )
