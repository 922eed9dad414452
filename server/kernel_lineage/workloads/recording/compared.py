"""The numbers that a text compares a name with, or has as the cases of a `switch`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_SWITCH, _MOST = 4000, 8
_SWITCH = re.compile(r"\bswitch\s*\(((?:[^()]|\([^()]*\))*)\)")
_CASE = re.compile(r"\bcase\s+(\d{1,4})\s*:")


def switches(text: str) -> Iterator[tuple[str, list[int]]]:
    """What each `switch` asks for, and the numbers of its cases."""
    for switch in _SWITCH.finditer(text):
        cases = _CASE.findall(text[switch.end() : switch.end() + _LONGEST_SWITCH].split("switch", 1)[0])
        yield switch[1].strip(), list(dict.fromkeys(map(int, cases)))[:_MOST]


def compared(name: str, text: str) -> list[int]:
    """The numbers that a text compares a name with or has as the cases of a `switch`; 0 where it asks for it."""
    word = re.escape(name)
    numbers = [int(n) for n in re.findall(rf"\b{word}\s*[=!]=\s*(\d{{1,4}})\b", text)]
    numbers += [n for subject, cases in switches(text) if subject == name for n in cases]
    if re.search(rf"\bif\s*\(\s*!?\s*{word}\s*\)|\b{word}\s*\?", text):
        numbers.append(0)
    return sorted({0, *numbers})[:_MOST] if numbers else []
