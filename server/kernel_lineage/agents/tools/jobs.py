"""`job_result` and `cancel_job`: long work by its handle; `klineage://jobs/JOB`: what a finished one has printed."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import CallToolResult
from pydantic import Field

from kernel_gate.cleaning import cleaned
from kernel_lineage.agents.answers import TOKENS, Answer, reply
from kernel_lineage.agents.jobs import Job
from kernel_lineage.agents.server import EDITS, READS, SECONDS, Agent, Tokens, Wait

JobId = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$", description="The handle that a tool gave.")]


def register(agent: Agent) -> None:
    """Add the tools."""

    def job_of(job: str) -> Job:
        task = agent.jobs.get(job)
        if task is None:
            raise ToolError(f"There is no job {job}: the last {32} are kept while the server runs.")
        return task

    async def job_result(
        job: JobId, wait_seconds: Wait = SECONDS, max_tokens: Tokens = TOKENS
    ) -> Annotated[CallToolResult, Answer[dict[str, Any]]]:
        """How a long job stands: its stage while it runs, its result when it is done. Waits for it."""
        task = job_of(job)
        await agent.jobs.wait(task, wait_seconds)
        return reply(task.answer(), max_tokens)

    async def cancel_job(job: JobId) -> Annotated[CallToolResult, Answer[dict[str, Any]]]:
        """End a job, with all the processes that it started."""
        task = job_of(job)
        await agent.jobs.cancel(task)
        return reply(task.answer(), TOKENS)

    agent.tool(job_result, READS)
    agent.tool(cancel_job, EDITS)

    def add(mcp: MCPServer[Any]) -> None:
        @mcp.resource("klineage://jobs/{job}", name="job", mime_type="application/json")
        def document(job: str) -> str:
            """All that a finished job has printed: every stage, case and figure of a verdict."""
            task = agent.jobs.get(job)
            if task is None or not task.document:
                raise ResourceNotFoundError(f"there is no finished job {job}")
            return cleaned(task.document.decode("utf-8", "replace"), "terminal")

    agent.resources.append(add)
