"""`klineage mcp`: the server that a coding agent speaks to, on the official SDK."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from kernel_lineage.agents import tools
from kernel_lineage.agents.answers import TOKENS, reply
from kernel_lineage.agents.arguments import CheckedTool
from kernel_lineage.agents.jobs import Jobs, TooManyJobsError, Work
from kernel_lineage.agents.root import Root

INSTRUCTIONS = """\
GPU kernels (CUDA C++ and Triton) change only through a gate that builds, compares, sanitizes and times old against new.
Before you optimise: applicable_skills, kernel_lineage. To make an edit: gate_candidate with write=true, or apply_skill.
A kernel that seems wrong: check_kernel, prove_kernel. One that nothing says how to run: draft_workload.
What takes long gives a job: job_result waits for it. Paths are relative to the folder of the server."""

Wait = Annotated[float, Field(ge=0, le=50, description="Seconds to wait before a handle is given instead.")]
Tokens = Annotated[int, Field(ge=300, le=50_000, description="What the answer may take.")]
File = Annotated[
    str, Field(min_length=1, max_length=1000, description="A file, relative to the server's folder.")
]
KernelName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][\w:<>, ]*$", max_length=200, description="The kernel's name in the file.")
]
SECONDS: Wait = 25.0
MOST_TEXT = 1 << 20

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
EDITS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)


@dataclass(frozen=True, slots=True)
class Agent:
    """What the tools of one server have in common."""

    root: Root
    jobs: Jobs
    tools: list[Tool] = field(default_factory=list)
    resources: list[Callable[[MCPServer[Any]], None]] = field(default_factory=list)

    async def run(self, work: Work, wait: float, tokens: int) -> CallToolResult:
        """The result of a command, or its handle when it takes longer. A caller that goes away ends it."""
        if work.runs_kernels:
            self.root.require_trust(work.arguments[0])
        try:
            job = self.jobs.start(work)
        except TooManyJobsError as error:
            raise ToolError(str(error)) from error
        try:
            await self.jobs.wait(job, wait)
        except BaseException:
            await self.jobs.cancel(job)
            raise
        return reply(job.answer(), tokens)

    def tool(self, function: Callable[..., Any], annotations: ToolAnnotations) -> None:
        """Add a tool, named and described as its function; an argument that it does not have is refused."""
        tool = CheckedTool.from_function(function, annotations=annotations)
        tool.fn_metadata.arg_model.model_config["extra"] = "forbid"
        tool.fn_metadata.arg_model.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
        self.tools.append(tool)


def agent_server(root: Root) -> MCPServer[Any]:
    """The server for a folder."""
    jobs = Jobs(root.folder)

    @asynccontextmanager
    async def lifespan(_server: MCPServer[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await jobs.close()

    agent = Agent(root, jobs)
    for module in sorted(m.name for m in pkgutil.iter_modules(tools.__path__)):
        importlib.import_module(f"{tools.__name__}.{module}").register(agent)
    mcp: MCPServer[Any] = MCPServer(
        "kernel-lineage",
        title="Kernel Lineage",
        version=metadata.version("kernel-lineage"),
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        lifespan=lifespan,
        tools=agent.tools,
    )
    for add in agent.resources:
        add(mcp)
    return mcp


__all__ = ["TOKENS", "Agent", "agent_server"]
