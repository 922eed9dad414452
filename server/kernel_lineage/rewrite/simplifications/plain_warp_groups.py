"""Cooperative groups are written out: ranks by `threadIdx`, `cg::reduce` of a warp as a loop of shuffles."""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import (
    calls_replaced,
    functions_rewritten,
    pattern_replaced,
    seen_in,
)
from kernel_lineage.rewrite.simplifications.model import Simplification

_SPACE = r"(?:cg|cooperative_groups)"
_GROUP = re.compile(
    rf"[ \t]*(?:const\s+)?(?:auto|{_SPACE}::thread_block)\s+(\w+)\s*=\s*{_SPACE}::this_thread_block\s*\(\)\s*;[ \t]*\n?"
)
_WARP = re.compile(
    rf"[ \t]*(?:const\s+)?(?:auto|{_SPACE}::thread_block_tile\s*<\s*32[^>]*>)\s+(\w+)\s*=\s*"
    rf"{_SPACE}::tiled_partition\s*<\s*32\s*>\s*\(\s*(?:\w+|{_SPACE}::this_thread_block\s*\(\s*\))\s*\)\s*;[ \t]*\n?"
)
_ALIAS = r"[ \t]*namespace\s+cg\s*=\s*cooperative_groups\s*;[ \t]*\n?"
_OPERATORS = {
    "plus": "v + other", "greater": "v > other ? v : other", "less": "v < other ? v : other",
    "bit_and": "v & other", "bit_or": "v | other", "bit_xor": "v ^ other",
}  # fmt: skip
_REDUCED = re.compile(rf"{_SPACE}::({'|'.join(_OPERATORS)})\s*(?:<[^<>]*>)?\s*(?:\(\)|\{{\}})")

_THREAD = "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)"
_THREADS = "(blockDim.x * blockDim.y * blockDim.z)"
_OF_BLOCK = {
    "thread_rank": _THREAD, "size": _THREADS, "num_threads": _THREADS, "sync": "__syncthreads()",
    "group_index": "blockIdx", "thread_index": "threadIdx", "group_dim": "blockDim",
}  # fmt: skip
_OF_WARP = {
    "thread_rank": f"({_THREAD} % 32)", "size": "32", "num_threads": "32", "meta_group_rank": f"({_THREAD} / 32)",
    "meta_group_size": f"(({_THREADS} + 31) / 32)", "sync": "__syncwarp()",
}  # fmt: skip
_EXCHANGES = {
    "shfl": "__shfl_sync", "shfl_xor": "__shfl_xor_sync", "shfl_down": "__shfl_down_sync",
    "shfl_up": "__shfl_up_sync", "any": "__any_sync", "all": "__all_sync", "ballot": "__ballot_sync",
}  # fmt: skip


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    used: dict[str, None] = {}
    edits = functions_rewritten(kernel, lambda text: _written_out(text, used))
    if not edits or not used:
        return edits
    return functions_rewritten(kernel, lambda text: _written_out(text, used), "".join(map(_reduction, used)))


def _written_out(text: str, used: dict[str, None]) -> str | None:
    """A function without groups; None where it does something with one that is not known here."""
    blocks, warps = (set(pattern.findall(text)) for pattern in (_GROUP, _WARP))
    if not blocks | warps:
        return text
    for pattern in (_GROUP.pattern, _WARP.pattern, _ALIAS):
        text = pattern_replaced(text, pattern, "")
    text = calls_replaced(text, rf"{_SPACE}::reduce", lambda _name, args: _reduced(args, warps, used))
    for names, members in ((blocks, _OF_BLOCK), (warps, _OF_WARP)):
        for name in names:
            for member, plain in members.items():
                text = pattern_replaced(text, rf"\b{name}\.{member}\s*\(\s*\)", lambda _match, p=plain: p)  # type: ignore[misc]
    for name in warps:
        for member, plain in _EXCHANGES.items():
            text = pattern_replaced(text, rf"\b{name}\.{member}\s*\(", f"{plain}(0xffffffffu, ")
    left = "|".join([rf"{_SPACE}::", *(rf"\b{name}\b" for name in (*blocks, *warps))])
    return None if seen_in(text, left) else text


def _reduced(args: list[str], warps: set[str], used: dict[str, None]) -> str | None:
    operator = _REDUCED.fullmatch(args[2]) if len(args) == 3 and args[0] in warps else None
    if operator is None:
        return None
    used[operator[1]] = None
    return f"reduced_by_{operator[1]}({args[1]})"


def _reduction(operator: str) -> str:
    return f"""\
template <typename T>
__device__ T reduced_by_{operator}(T v) {{
    for (int lanes = 16; lanes > 0; lanes /= 2) {{
        T other = __shfl_xor_sync(0xffffffffu, v, lanes);
        v = {_OPERATORS[operator]};
    }}
    return v;
}}

"""


SIMPLIFICATION = Simplification(
    title="cooperative groups written out",
    weakens="cooperative_groups",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
