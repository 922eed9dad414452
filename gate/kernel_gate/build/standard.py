"""The C++ that a program is written in, where it is newer than the compilers' own default, C++17."""

from __future__ import annotations

import re

from kernel_gate.cuda_text import code_alone
from kernel_gate.program import Program

_OF_2020 = re.compile(
    r"\bconcept\s+\w+\s*=|\brequires\s*(?:\(|\{|[\w:]+\s*<)|\b(?:consteval|constinit)\b|\boperator\s*<=>"
)


def standard_of(program: Program) -> list[str]:
    """The flag for C++20 where a program has what came with it and names no standard itself."""
    if any("std=" in flag for flag in program.flags):
        return []
    texts = (program.source, *program.includes.values())
    is_newer = any(_OF_2020.search(code_alone(text)) for text in texts if _OF_2020.search(text))
    return ["--std=c++20"] if is_newer else []
