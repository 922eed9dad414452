"""The plugin for coding agents: skill, server of tools, language server and hook, as each agent reads them.

One description, several forms. `plugins/` has what `klineage plugin` writes; a test holds it current.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import metadata, resources
from typing import Any

NAME = "kernel-lineage"
SKILL = "kernel-gate"
DESCRIPTION = (
    "GPU kernels change only through a gate: check, prove, optimise and edit CUDA C++ and Triton kernels."
)
SKILL_DESCRIPTION = (
    "Use whenever a CUDA C++ or Triton kernel is to be made faster, mended, reviewed or changed in any way: .cu and "
    ".cuh files, __global__ functions, @triton.jit functions, and the headers that they include."
)
_SERVER = {"command": "klineage", "args": ["mcp"]}
_MISSING = "klineage is not on PATH: pip install 'kernel-lineage[agents]', or disable this plugin"
_BEFORE = f'command -v klineage >/dev/null || {{ echo "{_MISSING}" >&2; exit 2; }}; klineage hook || exit 2'
"""Whatever goes wrong stops the tool: for these agents only status 2 does."""
_AFTER = "klineage hook || exit 1"
_SECONDS = 60

Files = dict[str, str]
"""Text by path."""


def _claude() -> Files:
    """Claude Code: https://code.claude.com/docs/en/plugins-reference."""
    manifest = {
        "name": NAME,
        "version": metadata.version(NAME),
        "description": DESCRIPTION,
        "license": "Apache-2.0",
        "keywords": ["gpu", "cuda", "triton"],
    }
    language_server = {
        "command": "klineage",
        "args": ["serve"],
        "extensionToLanguage": {".cu": "cuda-cpp", ".cuh": "cuda-cpp"},
    }
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        ".mcp.json": _json({"mcpServers": {NAME: _SERVER}}),
        ".lsp.json": _json({NAME: language_server}),
        "hooks/hooks.json": _json(
            {
                "hooks": {
                    "PreToolUse": [_hook("Edit|MultiEdit|Write", _BEFORE, _SECONDS)],
                    "PostToolUse": [_hook("Bash", _AFTER, _SECONDS)],
                }
            }
        ),
        f"skills/{SKILL}/SKILL.md": _skill(),
    }


def _gemini() -> Files:
    """Gemini CLI: https://geminicli.com/docs/extensions/reference. Its timeouts are milliseconds."""
    manifest = {
        "name": NAME,
        "version": metadata.version(NAME),
        "description": DESCRIPTION,
        "mcpServers": {NAME: {**_SERVER, "cwd": "${workspacePath}"}},
    }
    return {
        "gemini-extension.json": _json(manifest),
        "hooks/hooks.json": _json(
            {
                "hooks": {
                    "BeforeTool": [_hook("replace|write_file", _BEFORE, 1000 * _SECONDS)],
                    "AfterTool": [_hook("run_shell_command", _AFTER, 1000 * _SECONDS)],
                }
            }
        ),
        f"skills/{SKILL}/SKILL.md": _skill(),
    }


AGENTS: Mapping[str, Callable[[], Files]] = {"claude": _claude, "gemini": _gemini}
"""By the name that `klineage plugin` takes."""


def _hook(matcher: str, command: str, timeout: int) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _skill() -> str:
    body = resources.files("kernel_lineage.agents").joinpath("skill.md").read_text(encoding="utf-8")
    return f"---\nname: {SKILL}\ndescription: {json.dumps(SKILL_DESCRIPTION)}\n---\n\n{body}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
