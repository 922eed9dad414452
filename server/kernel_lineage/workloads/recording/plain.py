"""Host code of CUDA C++ as plain C++: what a launch is given is told by the kernel itself, so that g++ alone builds it.

nvcc reads each text four times, twice for the device, of which recording needs nothing; g++ takes a third of its time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

KERNEL = "KLINEAGE_KERNEL"
"""The macro in a kernel's body that tells what the kernel is given; it is empty where nvcc builds."""
TELLS = "klineage::launched("
_LAUNCH = re.compile(r"<<<")
_GLOBAL = re.compile(r"__attribute__\(\((?:__)?global(?:__)?\)\)")
_SIDES = re.compile(r"__attribute__\(\((?:__)?(?:host|device)(?:__)?\)\)")
_WORD = r"(?<!\w)(?!(?:else|return|do)\b)[A-Za-z_]\w*"
_NAME = re.compile(rf"(?:::\s*)?(?:template\s+)?{_WORD}(?:\s*::\s*(?:template\s+)?{_WORD})*\s*$")
_LONGEST_NAME, _LONGEST_HEAD, _HEAD = 400, 20_000, 100
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')
_OF_A_DEVICE = (
    "AdjacentDifference|Copy|For|Histogram|Memcpy|Merge|MergeSort|Partition|RadixSort|Reduce|RunLengthEncode|Scan|"
    r"Segmented\w+|Select|Spmv|TopK|Transform"
)
"""What CUB does with a whole device: it launches kernels of its own."""
_OTHER_WAYS = re.compile(
    rf"\b(?:cudaLaunch\w+|cudaGetSymbol\w+|__managed__)\b|\bDevice(?:{_OF_A_DEVICE})\s*::"
)
_OTHER_HEADERS = re.compile(r"#\s*include\s*[<\"](?:thrust|cub/device)/")
_PLACE = re.compile(r'^# \d+ "([^"\n]*)"[^\n]*$', re.MULTILINE)


class NotPlainError(Exception):
    """The text needs nvcc: it launches in another way, or has what g++ does not read."""


def may_be_plain(text: str) -> bool:
    """Whether a text, before the preprocessor, has no other way to a launch than `<<<…>>>`."""
    return _OTHER_WAYS.search(text) is None and _OTHER_HEADERS.search(text) is None


def as_plain(text: str, libraries: Sequence[Path] = ()) -> str:
    """A preprocessed text in which launches are calls of their kernels. Raises `NotPlainError`.

    What comes from `libraries`, folders of headers, may name other ways to a launch; the rest may not.
    """
    places = [*_PLACE.finditer(text)]
    ends = [*(p.start() for p in places[1:]), len(text)]
    for place, end in zip(places, ends, strict=False):
        of_library = any(Path(place[1]).is_relative_to(folder) for folder in libraries)
        if not of_library and _OTHER_WAYS.search(text, place.end(), end):
            raise NotPlainError(f"{place[1]} launches in another way")
    bare = _STRING.sub(lambda m: m[0][0] + "_" * (len(m[0]) - 2) + m[0][-1], text)
    for kernel in _GLOBAL.finditer(bare):
        body = _after_head(bare, kernel.end())
        if body is not None and TELLS not in bare[body : body + _HEAD]:
            raise NotPlainError("a kernel's body is made by a macro, or branches of the preprocessor cut it")
    parts: list[str] = []
    at = 0
    for launch in _LAUNCH.finditer(bare):
        end = _closed(bare, launch.end(), ">>>")
        opened = re.compile(r"\s*\(").match(bare, end + 3)
        start = _callee(bare, launch.start())
        if opened is None or start < at:
            raise NotPlainError("a launch that is not read")
        close = _closed(bare, opened.end(), ")")
        shape, arguments = text[launch.end() : end], text[opened.end() : close]
        parts += [
            text[at:start],
            f"(klineage::configure({shape}), {text[start : launch.start()]}({arguments}))",
        ]
        at = close + 1
    return _SIDES.sub("", "".join((*parts, text[at:])))  # g++ takes none before a deduction guide


def _after_head(text: str, at: int) -> int | None:
    """Where the body of a kernel begins; None for a declaration."""
    depth = 0
    for place in range(at, min(len(text), at + _LONGEST_HEAD)):
        character = text[place]
        depth += (character in "([") - (character in ")]")
        if depth == 0 and character in "{;":
            return place if character == "{" else None
    return None


def _closed(text: str, at: int, end: str) -> int:
    """Where what is open at a place ends. Raises `NotPlainError`."""
    depth = 0
    for place in range(at, len(text)):
        if depth == 0 and text.startswith(end, place):
            return place
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth < 0:
            break
    raise NotPlainError("a launch that does not end")


def _callee(text: str, end: int) -> int:
    """Where the name of what is launched begins."""
    at = _before(text, end)
    if text[at - 1] == ")":
        return _opened(text, at - 1, "(", ")")
    while True:
        if text[at - 1] == ">":
            at = _opened(text, at - 1, "<", ">")
        name = _NAME.search(text, max(0, at - _LONGEST_NAME), at)
        if name is None:
            raise NotPlainError("a launch of what has no name")
        at = name.start()
        if not name[0].startswith("::") or text[_before(text, at) - 1] != ">":
            return at
        at = _before(text, at)


def _before(text: str, at: int) -> int:
    while at and text[at - 1].isspace():
        at -= 1
    return at


def _opened(text: str, at: int, opening: str, closing: str) -> int:
    depth = 0
    while at >= 0:
        if text[at] == closing and text[at - 1 : at + 1] != "->":
            depth += 1
        elif text[at] == opening:
            depth -= 1
            if depth == 0:
                return at
        at -= 1
    raise NotPlainError("a launch that does not begin")
