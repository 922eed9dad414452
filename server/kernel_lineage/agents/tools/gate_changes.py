"""`gate_changes`: the verdicts on what the work tree, or a range of commits, has changed."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import READS, SECONDS, Agent, File, Tokens, Wait
from kernel_lineage.agents.verdicts import GateResult, advice, verdict_result

Revision = Annotated[
    str,
    Field(pattern=r"^[\w./^~@{}-]+$", max_length=200, description="REV against the work tree, or A..B."),
]


def register(agent: Agent) -> None:
    """Add the tool."""

    async def gate_changes(
        since: Revision = "HEAD",
        files: Annotated[list[File], Field(max_length=100, description="Only these.")] = [],  # noqa: B006
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[GateResult]]:
        """The verdict on each kernel that changed since a revision, old against new, as in CI. Changes nothing."""
        words = ["gate", f"--since={since}", "--json", *(str(agent.root.file(file)) for file in files)]
        return await agent.run(Work(tuple(words), _shape), wait_seconds, max_tokens)

    agent.tool(gate_changes, READS)


def _shape(printed: bytes, _status: ExitCode) -> tuple[GateResult, str]:
    from kernel_lineage.learning.gate_changes import GateChangesDocument  # heavy

    document = GateChangesDocument.model_validate_json(printed)
    kernels = [verdict_result(one, one.kernel, one.file, one.workload) for one in document.verdicts]
    reason = "" if kernels else f"no kernel changed since {document.since}"
    next_ = advice(document.verdicts, written=False)
    return GateResult(reason=reason, kernels=kernels), next_ if any(
        k.verdict != "accepted" for k in kernels
    ) else ""
