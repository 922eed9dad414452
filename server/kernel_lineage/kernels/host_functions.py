"""Functions of the host in device code: those that are marked `__host__` alone, such as a structure's constructors from
the host's containers, and members that call what only the host has. A compiler of device code refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from kernel_lineage.kernels.cuda_text import Text, closing, text_of
from kernel_lineage.kernels.words import WORD_OF_BYTES

_HOST, _DEVICE = re.compile(rb"\b__host__\b"), re.compile(rb"\b(?:__device__|__global__)\b")
_BEFORE = re.compile(rb"[;{}]|\b(?:public|private|protected)\s*:")
"""What a declaration may follow."""
_ACCESS = re.compile(rb"\s*(?:public|private|protected)\s*:")
_TOKEN = re.compile(rb"[;({\[]|(?<!:):(?!:)")


def without_host_functions(data: bytes) -> bytes:
    """The text with blanks for functions that are marked `__host__` and not `__device__`; directives and lines stay."""
    if b"__host__" not in data:
        return data
    text = text_of(data)
    code = text.code
    written = bytearray(data)
    done = 0
    for match in _HOST.finditer(code):
        if match.start() < done:
            continue
        start = max((m.end() for m in _BEFORE.finditer(code, done, match.start())), default=done)
        head_end, end = _ends(code, match.end())
        if end is None:
            break
        if not _DEVICE.search(code, start, head_end):
            _blank(written, text, start, end)
        done = end
    return bytes(written)


def without_members(
    text: Text, body: int, end: int, names: AbstractSet[bytes], on_device: AbstractSet[bytes]
) -> bytes:
    """The bytes of a file with blanks for a class's member functions of the host that use one of these names.

    `body` is where the braces of the class open, `end` where the class ends; `on_device` are the words that mark.
    """
    written = bytearray(text.data)
    position = body + 1
    while position < end:
        access = _ACCESS.match(text.code, position)
        position = access.end() if access is not None else position
        head_end, after = _ends(text.code, position)
        if after is None or after > end:
            break
        words = set(WORD_OF_BYTES.findall(text.code, position, after))
        marks = set(WORD_OF_BYTES.findall(text.code, position, head_end))
        if text.code[head_end : head_end + 1] == b"(" and words & names and not marks & on_device:
            _blank(written, text, position, after)
        position = after
    return bytes(written)


def _blank(written: bytearray, text: Text, start: int, end: int) -> None:
    for place in range(start, end):
        if place not in text.conditionals and not text.code[place : place + 1].isspace():
            written[place] = ord(" ")


def _ends(code: bytes, start: int) -> tuple[int, int | None]:
    """Where a function's head ends, and where all of it does; None for one whose brackets do not close."""
    position, head_end, has_initialisers = start, 0, False
    while (token := _TOKEN.search(code, position)) is not None:
        place = token.start()
        if token[0] == b";":
            return head_end or place, place + 1
        if token[0] == b":":
            has_initialisers, position = True, place + 1
            continue
        bracket = closing(code, place)
        if bracket is None:
            break
        position = end = bracket + 1
        # A brace behind a name initialises a member; behind the last of them, or where there is none, is the body.
        if token[0] == b"{" and (not has_initialisers or code[:place].rstrip()[-1:] in b")}"):
            return head_end or place, end
        if token[0] in b"({":
            head_end = head_end or place
    return head_end, None
