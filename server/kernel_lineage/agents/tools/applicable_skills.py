"""`applicable_skills`: what can be done to a kernel now, and why the rest cannot."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import READS, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.rewrite.offers_document import OffersDocument


def register(agent: Agent) -> None:
    """Add the tool."""

    async def applicable_skills(
        file: File,
        kernel: KernelName | None = None,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[OffersDocument]]:
        """Optimisations that can be applied to a kernel now, with what was measured of each; and why others cannot.

        Each offer was tried: an assist has made its candidate. Nothing is compiled or run, nothing changes. The card
        of a skill, with its conditions and what goes wrong without them: resource klineage://skills/SKILL.
        """
        place = agent.root.file(file)
        target = f"{place}:{kernel}" if kernel else str(place)
        work = Work(("applicable", target, "--offers", "--json"), _shape, runs_kernels=False)
        return await agent.run(work, wait_seconds, max_tokens)

    agent.tool(applicable_skills, READS)


def _shape(printed: bytes, _status: ExitCode) -> tuple[OffersDocument, str]:
    document = OffersDocument.model_validate_json(printed)
    offered = any(kernel.offers for kernel in document.kernels)
    return document, "apply_skill gates one and makes the edit when it is accepted." if offered else ""
