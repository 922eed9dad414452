"""Where blocks end: every `{` of a file with the `}` that closes it, in one pass that broken code cannot make slow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_lineage.kernels.cuda_text import Text

_BOUND = re.compile(rb"[{}#]|\b__global__\b")
"""Where blocks may begin and end; in `Text.code` a `#` is a conditional."""
SCOPE = re.compile(rb"(?:inline\s+)?namespace\b\s*((?:\w|::|\s)*)(?:\[\[.*?\]\]\s*)?\Z|extern\s*\Z")
"""What stands before the `{` of a namespace or of an `extern "C"` block, blanks at its ends left off."""

_WORD_OF_SCOPE = re.compile(rb"\b(?:namespace|extern)\b")


@dataclass(slots=True)
class _Open:
    """An open `{`, with those around it."""

    at: int
    is_scope: bool
    depth: int
    outer: _Open | None


def block_ends(text: Text) -> dict[int, tuple[int, bool]]:
    """For each `{` of `text.code`: the offset behind its end, and whether a `}` closes it.

    Alternatives of `#if` count once: where the first branch leaves a bracket open, the other branches are other
    beginnings of the same block and are passed over. A `__global__` or a namespace inside a block means that the block
    was never closed; it then ends behind the last `}` in it, or at once.
    """
    ends: dict[int, tuple[int, bool]] = {}
    branches: list[_Open | None] = []
    current: _Open | None = None
    passing: int | None = None
    last = 0
    code = text.code
    any_scope = _WORD_OF_SCOPE.search(code) is not None
    for match in _BOUND.finditer(code):
        token, at = match.group(), match.start()
        if token == b"#":
            kind = text.conditionals.get(at, b"")
            if kind == b"if":
                branches.append(current)
            elif kind == b"endif" and branches:
                branches.pop()
                passing = None if passing is not None and len(branches) < passing else passing
            elif kind == b"else" and passing is None and branches:
                if _depth(current) > _depth(branches[-1]):
                    passing = len(branches)
                else:
                    current = branches[-1]
        elif passing is not None:
            continue
        elif token == b"{":
            is_scope = (
                any_scope and SCOPE.fullmatch(_before(code, at).replace(b"#", b" ").strip()) is not None
            )
            if is_scope:
                current = _given_up(current, last, ends)
            current = _Open(at, is_scope, _depth(current) + 1, current)
        elif token == b"}":
            last = match.end()
            if current is not None:
                ends.setdefault(current.at, (last, True))
                current = current.outer
        elif token == b"__global__" and b"friend" not in _before(code, at):
            current = _given_up(current, last, ends)
    while current is not None:
        ends.setdefault(current.at, (max(last, current.at + 1), False))
        current = current.outer
    return ends


def _before(code: bytes, at: int) -> bytes:
    """What stands between an offset and the statement or the block before it, the last 400 bytes at most."""
    start = max(0, at - 400)
    return code[max(start, *(code.rfind(end, start, at) + 1 for end in (b";", b"{", b"}"))) : at]


def _depth(block: _Open | None) -> int:
    return 0 if block is None else block.depth


def _given_up(block: _Open | None, last: int, ends: dict[int, tuple[int, bool]]) -> _Open | None:
    """The blocks up to the nearest scope end here, unclosed."""
    while block is not None and not block.is_scope:
        ends.setdefault(block.at, (max(last, block.at + 1), False))
        block = block.outer
    return block
