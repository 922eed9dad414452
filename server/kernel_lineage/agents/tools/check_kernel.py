"""`check_kernel`: whether a kernel is right as it stands."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import READS, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.learning.check_document import CheckedDocument, FileCheckDocument


class CheckResult(BaseModel):
    """The kernels of a file."""

    file: str
    kernels: list[CheckedDocument]


def register(agent: Agent) -> None:
    """Add the tool."""

    async def check_kernel(
        file: File,
        kernel: KernelName | None = None,
        seconds: Annotated[float, Field(ge=1, le=600, description="For all kernels together.")] = 60.0,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[CheckResult]]:
        """Whether a kernel (or each of the file) is right as it stands: wrong elements, races, bounds, barriers.

        Runs on an emulated device, no GPU needed: beside the committed version where there is one. Each finding has
        its line, the counterexample and the other thread. Changes nothing.
        """
        place = agent.root.file(file)
        target = f"{place}:{kernel}" if kernel else str(place)
        work = Work(("check", target, "--seconds", str(seconds), "--json"), _shape)
        return await agent.run(work, wait_seconds, max_tokens)

    def _shape(printed: bytes, _status: ExitCode) -> tuple[CheckResult, str]:
        document = FileCheckDocument.model_validate_json(printed)
        # What agreed and what was counted are lists that no answer has room for.
        brief = {"passed": [], "counted": [], "counted_in": ""}
        kernels = [kernel.model_copy(update=brief) for kernel in document.kernels]
        return CheckResult(
            file=agent.root.relative(agent.root.folder / document.file), kernels=kernels
        ), _next({one.state.value for one in document.kernels})

    agent.tool(check_kernel, READS)


def _next(states: set[str]) -> str:
    if "wrong" in states:
        return "Mend it at the line of the finding, and gate the mended text with gate_candidate."
    if "unknown" in states:
        return "Not everything could be judged: `reason` says why; draft_workload where nothing says how to run it."
    return ""
