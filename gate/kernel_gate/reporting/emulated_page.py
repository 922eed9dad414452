"""docs/emulated-device.md: what the emulated device promises, with its instructions, gaps and detectors as they are."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from kernel_gate.emulated.detectors import DETECTORS
from kernel_gate.emulated.gaps import GAPS
from kernel_gate.emulated.launch import Limits
from kernel_gate.emulated.registry import builders
from kernel_gate.reasons import FAULT_REASONS

_TEMPLATE = Path(__file__).with_suffix(".md.j2")


def render() -> str:
    """The page in Markdown; the same code gives the same bytes."""
    from jinja2 import Template

    template = Template(_TEMPLATE.read_text("utf-8"), autoescape=False)  # Markdown of our own texts
    filled: str = template.render(
        families=list(_families()), gaps=GAPS, detectors=DETECTORS, codes=FAULT_REASONS, limits=Limits()
    )
    return filled


def _families() -> Iterator[tuple[str, str]]:
    """The opcodes of each file of instructions, and the first line of its docstring."""
    by_module: dict[str, list[str]] = {}
    for name, builder in builders().items():
        by_module.setdefault(builder.__module__, []).append(f"`{name}`")
    for module, names in sorted(by_module.items(), key=lambda item: min(item[1])):
        about = (importlib.import_module(module).__doc__ or "").strip().splitlines()[0]
        yield ", ".join(sorted(names)), about.replace("|", "¦")
