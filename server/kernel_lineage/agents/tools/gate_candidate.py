"""`gate_candidate`: the verdict on a new text of a file, or on two texts; the edit, when all of it is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult
from pydantic import Field

from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.standing import ExitCode
from kernel_gate.verdict import Verdict
from kernel_lineage.agents.answers import TOKENS, Answer
from kernel_lineage.agents.jobs import Work
from kernel_lineage.agents.server import EDITS, MOST_TEXT, SECONDS, Agent, File, KernelName, Tokens, Wait
from kernel_lineage.agents.unified_diff import DiffError, patched
from kernel_lineage.agents.verdicts import GateResult, advice, verdict_result
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

Text = Annotated[str, Field(max_length=MOST_TEXT)]


def register(agent: Agent) -> None:
    """Add the tool."""

    async def gate_candidate(
        file: File | None = None,
        candidate: Annotated[Text | None, Field(description="The whole new text.")] = None,
        diff: Annotated[Text | None, Field(description="Instead of it: a unified diff of file.")] = None,
        baseline: Annotated[Text | None, Field(description="Instead of file: the old text.")] = None,
        kernel: Annotated[KernelName | None, Field(description="With baseline, when it has several.")] = None,
        language: Annotated[Literal["cuda", "triton"], Field(description="With baseline.")] = "cuda",
        workload: Annotated[File | None, Field(description="With baseline: a workload's .toml.")] = None,
        write: Annotated[
            bool, Field(description="Write file when every changed kernel is accepted.")
        ] = False,
        wait_seconds: Wait = SECONDS,
        max_tokens: Tokens = TOKENS,
    ) -> Annotated[CallToolResult, Answer[GateResult]]:
        """The verdict on an edit before it is made: build, compare, sanitize, time; with a counterexample.

        Give file with candidate or diff: each kernel that the edit changes is judged against the file on disk, and
        with write=true the file is written when all are accepted. Or give two texts, baseline and candidate.
        """
        if file is not None and baseline is None and (candidate is None) != (diff is None):
            text = candidate if candidate is not None else _patched(agent.root.text(file), diff or "")
            place = agent.root.file(file)
            words = ["gate", str(place), "--text", "-", *(["--write"] if write else []), "--json"]
            return await agent.run(Work(tuple(words), _of_edit, text.encode()), wait_seconds, max_tokens)
        if file is None and baseline is not None and candidate is not None and diff is None and not write:
            suffix = ".py" if language == "triton" else ".cu"
            new_text = candidate.encode()
            folder = TemporaryFolder("candidate")
            old, new = Path(folder.name) / f"before{suffix}", Path(folder.name) / f"after{suffix}"
            old.write_bytes(baseline.encode())
            new.write_bytes(new_text)
            words = ["gate", str(old), str(new), "--json", "--no-cache"]
            words += ["--kernel", kernel] if kernel else []
            words += ["--workload", str(agent.root.file(workload))] if workload else []

            def shape(printed: bytes, status: ExitCode) -> tuple[GateResult, str]:
                folder.cleanup()  # held until the command has read the texts
                return _of_pair(printed, status, kernel or _only_kernel(new_text, language))

            return await agent.run(Work(tuple(words), shape), wait_seconds, max_tokens)
        raise ToolError(
            "Give file with candidate or with diff (write goes with these), or baseline with candidate."
        )

    agent.tool(gate_candidate, EDITS)


def _only_kernel(text: bytes, language: Literal["cuda", "triton"]) -> str:
    kernels = read(text, Language(language)).kernels
    return kernels[0].name if len(kernels) == 1 else ""


def _patched(data: bytes, diff: str) -> str:
    try:
        return patched(data.decode("utf-8"), diff)
    except DiffError as error:
        raise ToolError(str(error)) from error
    except UnicodeDecodeError as error:
        raise ToolError("the file is not UTF-8; give its whole new text as candidate") from error


def _of_edit(printed: bytes, _status: ExitCode) -> tuple[GateResult, str]:
    from kernel_lineage.learning.gated_edits import GateEditDocument  # heavy

    document = GateEditDocument.model_validate_json(printed)
    kernels = [verdict_result(one, one.kernel, one.file, one.workload) for one in document.verdicts]
    result = GateResult(written=document.written, reason=document.reason, kernels=kernels)
    held = bool(document.conditions) and not document.written
    return result, document.reason if held else advice(document.verdicts, document.written)


def _of_pair(printed: bytes, _status: ExitCode, kernel: str) -> tuple[GateResult, str]:
    verdict = Verdict.model_validate_json(printed)
    result = GateResult(
        reason="two texts: there is no file to write", kernels=[verdict_result(verdict, kernel)]
    )
    return result, advice([verdict], written=False).replace(
        "the same call with write=true makes", "give file to make"
    )
