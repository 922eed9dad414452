"""The plugin for coding agents: its committed files are current, and speak of tools and commands that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from agents.test_server import TOOLS
from kernel_lineage.agents.plugin import AGENTS, NAME, SKILL
from kernel_lineage.cli.main import main

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_the_committed_files_are_what_the_command_writes(agent, tmp_path):
    """`klineage plugin AGENT --into plugins/AGENT` writes them anew."""
    result = CliRunner().invoke(main, ["plugin", agent, "--into", str(tmp_path)])
    assert result.exit_code == 0
    written = {p.relative_to(tmp_path): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    there = PLUGINS / agent
    assert written == {p.relative_to(there): p.read_text() for p in there.rglob("*") if p.is_file()}


def test_every_agent_gets_the_same_skill_and_the_same_server():
    skills = {files()[f"skills/{SKILL}/SKILL.md"] for files in AGENTS.values()}
    assert len(skills) == 1
    claude = json.loads(AGENTS["claude"]()[".mcp.json"])["mcpServers"][NAME]
    gemini = json.loads(AGENTS["gemini"]()["gemini-extension.json"])["mcpServers"][NAME]
    assert (
        {"cwd": "${workspacePath}", **claude}
        == gemini
        == {"command": "klineage", "args": ["mcp"], "cwd": "${workspacePath}"}
    )


def test_the_skill_names_tools_and_commands_that_exist():
    text = AGENTS["claude"]()[f"skills/{SKILL}/SKILL.md"]
    _, front, body = text.split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["name"] == SKILL and len(about["description"]) <= 1024
    named = set(re.findall(r"`([a-z]+_[a-z]+)`", body))
    assert named <= TOOLS and {"gate_candidate", "gate_changes"} <= named
    assert set(re.findall(r"klineage ([a-z]+)", body)) <= set(main.list_commands(None))


def test_the_hooks_stop_the_tool_whatever_goes_wrong_and_warn_after_it():
    for files in AGENTS.values():
        hooks = json.loads(files()["hooks/hooks.json"])["hooks"]
        for moment, matched in hooks.items():
            (command,) = {hook["command"] for one in matched for hook in one["hooks"]}
            assert command.endswith(
                "klineage hook || exit 2" if moment in ("PreToolUse", "BeforeTool") else "|| exit 1"
            )


def test_the_marketplace_and_the_extension_point_to_files_that_are_there():
    (plugin,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (
        json.loads((ROOT / plugin["source"] / ".claude-plugin" / "plugin.json").read_text())["name"]
        == plugin["name"]
    )
    extension = json.loads((ROOT / "package.json").read_text())
    (skill,) = extension["contributes"]["chatSkills"]
    assert (ROOT / skill["path"]).is_file()
    assert skill["path"].removeprefix("./") in (ROOT / ".vscodeignore").read_text()
    (provider,) = extension["contributes"]["mcpServerDefinitionProviders"]
    assert f"'{provider['id']}'" in (ROOT / "extension" / "src" / "agents.ts").read_text()
