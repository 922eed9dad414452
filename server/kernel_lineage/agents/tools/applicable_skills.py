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
        shape = _of_one if kernel else _of_file
        work = Work(("applicable", target, "--offers", "--json"), shape, runs_kernels=False)
        return await agent.run(work, wait_seconds, max_tokens)

    agent.tool(applicable_skills, READS)


def _of_one(printed: bytes, _status: ExitCode) -> tuple[OffersDocument, str]:
    document = OffersDocument.model_validate_json(printed)
    offered = any(kernel.offers for kernel in document.kernels)
    return document, "apply_skill gates one and makes the edit when it is accepted." if offered else ""


def _of_file(printed: bytes, status: ExitCode) -> tuple[OffersDocument, str]:
    """What is offered for several kernels, those with offers first; why the rest is not is for who names one."""
    document, next_ = _of_one(printed, status)
    if len(document.kernels) == 1:
        return document, next_
    kernels = [kernel.model_copy(update={"refused": []}) for kernel in document.kernels]
    kernels.sort(key=lambda kernel: not kernel.offers)
    return document.model_copy(
        update={"kernels": kernels}
    ), f"{next_} Name a kernel to see what is refused, and why.".strip()
