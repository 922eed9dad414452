"""A row that the lanes of a warp share out and reduce together is gone through whole by each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_text import blank_literals, closing
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, seen_in
from kernel_lineage.rewrite.simplifications.model import Simplification

_LOOP = re.compile(
    r"\bfor\s*\(\s*(?P<type>[A-Za-z_][\w ]*?\s)?\s*(?P<i>\w+)\s*=\s*(?P<start>[^;]+);\s*(?P=i)\s*<\s*(?P<end>[^;]+);"
    r"\s*(?P=i)\s*\+=\s*(?P<step>(?:[^()]|\([^()]*\))+)\)\s*(?=\{)"
)
_ASSIGNED = re.compile(r"(?<![\w.\]])([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_STORED = re.compile(r"\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\*\s*\w+\s*=(?!=)|\b\w*(?:store|atomic|__st)\w*\s*\(")
_DECLARED = re.compile(r"\b(?!else\b|return\b)[A-Za-z_][\w:]*(?:<[^;={}]*>)?\s+[&*]?\s*(\w+)\s*=(?!=)")
_EXCHANGES = r"\b(?:__shfl\w*_sync|exchanged)\s*\("


@dataclass(frozen=True, slots=True)
class _Shared:
    """A loop whose rounds lanes share out, and the statements that put their results together."""

    head: re.Match[str]
    reductions: tuple[re.Match[str], ...]


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    source = kernel.source
    if source is None:
        return ()
    reached = [f for f in source.device_functions if f.name in kernel.device_functions]
    reducing = [f.name for f in reached if seen_in(f.text, _EXCHANGES)]
    if not reducing:
        return ()
    return functions_rewritten(kernel, lambda text: _undistributed(text, "|".join(reducing)))


def _undistributed(text: str, reducing: str) -> str:
    """The first such loop, made whole: what comes next is judged by itself."""
    loop = _shared_out(text, reducing) if text.isascii() else None
    if loop is None:
        return text
    head = loop.head
    parts = [(head.start("start"), head.end("start"), "0"), (head.start("step"), head.end("step"), "1")]
    parts += [(match.start(), match.end(), "") for match in loop.reductions]
    for start, end, new in sorted(parts, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _shared_out(text: str, reducing: str) -> _Shared | None:
    masked = blank_literals(text.encode()).decode("latin-1")
    for head in _LOOP.finditer(masked):
        end = closing(masked.encode(), head.end())
        if end is None or head["start"].strip() == "0":
            continue
        body = masked[head.end() : end]
        own = {head["i"], *_DECLARED.findall(body)}
        results = set(_ASSIGNED.findall(body)) - own
        if not results or _STORED.search(body):
            continue
        reductions = []
        for name in results:
            put_together = re.compile(rf"[ \t]*\b{name}\s*=\s*(?:{reducing})\s*\(\s*{name}\s*\)\s*;[ \t]*\n?")
            match = put_together.search(masked, end)
            if match is not None:
                reductions.append(match)
        if len(reductions) == len(results):
            return _Shared(head, tuple(reductions))
    return None


SIMPLIFICATION = Simplification(
    title="a reduction that lanes share out made whole in each of them",
    weakens="warp_per_row",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
