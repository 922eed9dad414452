"""Links in a hover card that run a command, for editors that follow them.

The extension follows links to these commands only, so a skill's own text, which a workspace may bring along, can reach
no others; and `klineage.apply` changes nothing without an accepted verdict.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.applicable import Applicable


def apply_arguments(
    snapshot: Snapshot, kernel: Kernel, candidate: Applicable, by: str = "assist"
) -> dict[str, Any]:
    """The argument of `klineage.apply`."""
    title = f"{candidate.skill.title} in {kernel.name}"
    return {
        "uri": snapshot.uri,
        "kernel": kernel.name,
        "skill": candidate.skill.id,
        "line": candidate.anchor.span.first_line,
        "title": title,
        "by": by,
    }


def links(
    apply: tuple[Snapshot, Kernel, Applicable] | None = None,
    lineage: tuple[Snapshot, Kernel] | None = None,
    *,
    refused: bool = False,
) -> str:
    """`Apply through the gate · Why · Lineage`, as far as each can be done here."""
    shown: list[str] = []
    if apply is not None and apply[2].skill.assist is not None and apply[2].possible and not refused:
        shown.append(_link("Apply through the gate", "klineage.apply", apply_arguments(*apply)))
    if apply is not None:
        snapshot, _, candidate = apply
        shown.append(_link("Why", "klineage.showCards", _place(snapshot, candidate.anchor.span.start)))
    if lineage is not None:
        shown.append(_link("Lineage", "klineage.showLineage", _place(lineage[0], lineage[1].name_span.start)))
    return " · ".join(shown)


def _place(snapshot: Snapshot, offset: int) -> dict[str, Any]:
    position = snapshot.text.position(offset)
    return {"uri": snapshot.uri, "line": position.line, "character": position.character}


def _link(label: str, command: str, argument: dict[str, Any]) -> str:
    return f"[{label}](command:{command}?{quote(json.dumps([argument]))})"
