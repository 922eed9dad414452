"""`prove_kernel`: what holds of a kernel for all sizes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import READS, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.rewrite.proving.document import CounterexampleModel, ObligationModel, ProofDocument


class ObligationResult(BaseModel):
    """One access that is refuted or undecided."""

    kind: str
    line: int
    expression: str
    status: str
    reason: str = ""
    counterexample: CounterexampleModel | None = None


class ProofResult(BaseModel):
    """What is proved of each kind, and every access that is not."""

    proved: dict[str, int]
    """Accesses by kind: in_bounds, written, written_once, aligned, bank_conflicts, overflow."""
    refuted: list[ObligationResult] = Field(default_factory=list)
    undecided: list[ObligationResult] = Field(default_factory=list)


def register(agent: Agent) -> None:
    """Add the tool."""

    async def prove_kernel(
        file: File, kernel: KernelName, wait_seconds: Wait = SECONDS, max_tokens: Tokens = TOKENS
    ) -> Annotated[CallToolResult, Answer[ProofResult]]:
        """Prove or refute for all sizes, access by access: in bounds, written once, aligned, no overflow of int32.

        A refutation comes with sizes, block and thread, and was run before it is shown. Changes nothing.
        """
        work = Work(("prove", f"{agent.root.file(file)}:{kernel}", "--json"), _shape)
        return await agent.run(work, wait_seconds, max_tokens)

    agent.tool(prove_kernel, READS)


def _shape(printed: bytes, _status: ExitCode) -> tuple[ProofResult, str]:
    document = ProofDocument.model_validate_json(printed)
    by_status = {
        status: [_short(o) for o in document.obligations if o.status == status]
        for status in ("refuted", "undecided")
    }
    proved = Counter(o.kind for o in document.obligations if o.status == "proved")
    next_ = "Guard or widen the access at its line, and gate the change." if by_status["refuted"] else ""
    return ProofResult(
        proved=dict(proved), refuted=by_status["refuted"], undecided=by_status["undecided"]
    ), next_


def _short(one: ObligationModel) -> ObligationResult:
    return ObligationResult.model_validate(one, from_attributes=True)
