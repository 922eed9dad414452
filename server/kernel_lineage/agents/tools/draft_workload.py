"""`draft_workload`: how a kernel is run, from the code around it, and whether that shows a wrong kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import EDITS, SECONDS, Agent, File, KernelName, Tokens, Wait

if TYPE_CHECKING:
    from kernel_lineage.workloads.document import WorkloadDocument

Answers = Annotated[
    dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], Annotated[str, Field(max_length=100)]],
    Field(max_length=32, description="What no code tells: {'C': '768', 'targets': '0..V', 'alpha': '0.5'}."),
]


class DraftResult(BaseModel):
    """A workload, and what its mutants show."""

    workload: str
    """Where it lies; "" when it was not written."""
    toml: str
    missing: list[str] = Field(default_factory=list)
    """What no code tells: answer it."""
    assumed: list[str] = Field(default_factory=list)
    sees: bool = False
    """Whether it tells wrong kernels from right ones; only then can a verdict rest on it."""
    blind: str = ""
    mutants: str = ""
    """How many wrong versions of the kernel it notices."""


def register(agent: Agent) -> None:
    """Add the tool."""

    async def draft_workload(
        file: File,
        kernel: KernelName,
        answers: Answers = {},  # noqa: B006 - never changed; None would be another type for the caller
        write: Annotated[
            bool, Field(description="Write it to .klineage/workloads, where none is yet.")
        ] = False,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[DraftResult]]:
        """How to run a kernel: arguments, sizes, launch, read from its callers; says what is missing, takes answers.

        The kernel's mutants prove that the workload sees a wrong kernel. A workload that is there is never replaced.
        """
        words = ["workload", "init", f"{agent.root.file(file)}:{kernel}", "--json"]
        for name, value in answers.items():
            words += ["--set", f"{name}={value}"]
        folder = None if write else TemporaryFolder("draft")
        if folder is not None:
            words += ["--out", str(Path(folder.name) / f"{kernel.rsplit('::', 1)[-1]}.toml")]

        def shape(printed: bytes, _status: ExitCode) -> tuple[DraftResult, str]:
            from kernel_lineage.workloads.document import WorkloadDocument  # heavy

            document = WorkloadDocument.model_validate_json(printed)
            place = Path(document.workload)
            toml = place.read_text(encoding="utf-8")
            if folder is not None:
                folder.cleanup()
            return _result(document, toml, agent.root.relative(place) if folder is None else "")

        return await agent.run(Work(tuple(words), shape), wait_seconds, max_tokens)

    agent.tool(draft_workload, EDITS)


def _result(document: WorkloadDocument, toml: str, place: str) -> tuple[DraftResult, str]:
    proof = document.proof
    result = DraftResult(
        workload=place,
        toml=toml,
        missing=document.missing,
        assumed=document.assumed,
        sees=proof is not None and proof.sees,
        blind=proof.blind if proof is not None else "",
        mutants=f"{proof.killed} of {proof.killed + proof.survived} noticed" if proof is not None else "",
    )
    if document.missing:
        return result, "Call it again with answers for what is missing."
    if not result.sees:
        return result, f"No verdict can rest on it: {result.blind}."
    return (
        result,
        "" if place else "write=true keeps it in the repository; the gate drafts it anew otherwise.",
    )
