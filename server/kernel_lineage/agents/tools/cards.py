"""`klineage://skills` and `klineage://skills/SKILL`: the cards of the skills at hand, as resources."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from kernel_gate.cleaning import cleaned
from kernel_lineage.agents.server import Agent
from kernel_lineage.skills.card_text import skill_lines, skill_text
from kernel_lineage.skills.library import library, nearest


def register(agent: Agent) -> None:
    """Add the resources."""

    def add(mcp: MCPServer[Any]) -> None:
        @mcp.resource("klineage://skills", name="skills", mime_type="text/plain")
        def skills() -> str:
            """Every skill: the built-in ones and the repository's own, which are data that nobody here has verified."""
            return cleaned(skill_lines(library(agent.root.folder).skills), "terminal")

        @mcp.resource("klineage://skills/{skill}", name="skill", mime_type="text/markdown")
        def card(skill: str) -> str:
            """One skill: what it does, when it is valid, when it pays, what was measured, what goes wrong otherwise."""
            skills = library(agent.root.folder)
            one = skills.get(skill)
            if one is None:
                raise ResourceNotFoundError(f"no skill {skill}{nearest(skills, skill)}")
            return cleaned(skill_text(one), "terminal")

    agent.resources.append(add)
