"""`apply_skill`: a skill carried over to a kernel, gated, and the edit when it is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import EDITS, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.agents.verdicts import VerdictResult, advice, verdict_result
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.patches import unified_diff

SkillId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]


class ApplyResult(BaseModel):
    """How the application of a skill ended."""

    outcome: str
    """`accepted`, `rejected`, `inconclusive`, or `refused` when there was no candidate to gate."""
    written: bool
    reason: str = ""
    """Where the verdict does not say it."""
    explanation: str = ""
    diff: str = ""
    """What the assist makes of the file."""
    verdict: VerdictResult | None = None
    patch: str = ""
    """Where the candidate is kept when it was not applied."""


def register(agent: Agent) -> None:
    """Add the tool."""

    async def apply_skill(
        skill: SkillId,
        file: File,
        kernel: KernelName,
        line: Annotated[int | None, Field(ge=1, description="Apply near this line.")] = None,
        dry_run: Annotated[bool, Field(description="Gate, and write nothing.")] = False,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[ApplyResult]]:
        """Carry a skill of applicable_skills over to a kernel by its deterministic assist, gate it, and edit the file.

        The file changes only when the gate accepts exactly this candidate; else the candidate is kept as a patch.
        """
        place = agent.root.file(file)
        before = agent.root.text(file)
        words = ["apply", skill, f"{place}:{kernel}", "--json", "--progress", "json"]
        words += ["--line", str(line)] if line is not None else []
        words += ["--dry-run"] if dry_run else []

        def shape(printed: bytes, _status: ExitCode) -> tuple[ApplyResult, str]:
            return _result(ApplyDocument.model_validate_json(printed), before, place)

        return await agent.run(Work(tuple(words), shape), wait_seconds, max_tokens)

    agent.tool(apply_skill, EDITS)


def _result(document: ApplyDocument, before: bytes, place: Path) -> tuple[ApplyResult, str]:
    verdict = document.verdict
    result = ApplyResult(
        outcome=document.outcome,
        written=document.applied,
        reason=document.reason[:500] if verdict is None or verdict.reason != document.reason else "",
        explanation=document.explanation,
        diff=unified_diff(before, document.changed(before), place.name) if document.edits else "",
        verdict=verdict_result(verdict, document.kernel) if verdict is not None else None,
        patch=document.patch or "",
    )
    if verdict is None:
        return result, "applicable_skills lists what can be applied here."
    held = document.outcome == "inconclusive" and verdict.outcome.value == "accepted"
    return result, document.reason if held else advice([verdict], document.applied)
