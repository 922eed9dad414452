"""The page of all assists, from their own files: docs/assists.md."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from example_files import examples_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import Assist
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.patches import unified_diff

_EXAMPLES = Path(__file__).parent.parent / "tests/rewrite/assists/examples"
_HEAD = """\
# Assists

An assist carries a skill over to a kernel deterministically: no model, no key. It starts from an anchor, leaves early
with a reason when the rewrite could be wrong, and keeps your formatting outside of its edits. What it makes goes
through the gate like any other candidate. The examples below are also the tests.
"""


def render() -> str:
    """The page as Markdown."""
    index = "\n".join(f"- [{a.title}](#{a.id})" for a in all_assists().values())
    return "\n".join([_HEAD, index, "", *(_section(a) for a in all_assists().values())]).rstrip("\n") + "\n"


def _section(assist: Assist) -> str:
    module = sys.modules[assist.make.__module__]
    before, after, *others = examples_of(_EXAMPLES, assist.id)
    file = "kernel.cu" if before.language is Language.CUDA else "kernel.py"
    diff = unified_diff(before.code.encode(), after.code.encode(), file)
    refusals = (part.title.partition(" refuses: ")[2] for part in others)
    reasons = dict.fromkeys(reason for reason in refusals if reason)
    parts = [
        f'<a id="{assist.id}"></a>',
        f"## {assist.title}",
        "",
        f"`{assist.id}` · skill `{assist.skill}` · starts from `{assist.pattern}`",
        "",
        _described(module.__doc__ or ""),
        "",
        "```diff",
        *diff.splitlines()[2:],
        "```",
        "",
        "Refuses, among others, with:",
        "",
        *(f"- … {reason} …" for reason in reasons),
        "",
    ]
    return "\n".join(parts)


def _described(documentation: str) -> str:
    """The doc comment as Markdown: indented lines are code."""
    lines: list[str] = []
    for line in textwrap.dedent(documentation).strip().splitlines():
        code = line.startswith("    ")
        inside = bool(lines) and lines[-1].startswith("    ")
        if (lines and lines[-1] and code != inside) or (
            lines and line.startswith(("Before", "After")) and lines[-1]
        ):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)
