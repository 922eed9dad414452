"""How much of a text is read: bounds on its form, counted in one pass, so that none takes more than its share of time.

They are counts and not seconds: the same text is cut alike on every machine.
"""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Language

MOST_DEPTH = 400
"""Brackets within brackets."""
MOST_OPERATORS = 10_000
"""In one statement: readers take each operator up again for those around it."""
MOST_LAUNCHES = 64
"""Launch sites of one kernel whose surroundings are read."""
_SMALL = 8 << 10
"""Bytes: what is smaller takes no time, whatever its form."""
_CUDA_TOKEN = re.compile(
    rb'//[^\n]*|/\*|"(?:[^"\\\n]|\\.)*"|([(\[{])|([)\]}])|([;#])|([-+*/%&|^<>=?:!~,.]|\bif\b)'
)
_PYTHON_TOKEN = re.compile(
    rb'#[^\n]*|"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|([(\[{])|([)\]}])|([;\n])'
    rb"|([-+~]+[-+~ ]*|[*/%&|^<>=:.,]|\bif\b)"
)
_CLOSES = {b"/*": b"*/", b'"""': b'"""', b"'''": b"'''"}


def beyond_budget(data: bytes, language: Language) -> str | None:
    """Why a text is not read: which line nests or chains too much; None for one that is read. Linear in its length."""
    if len(data) <= _SMALL:
        return None
    cuda = language is Language.CUDA
    token = _CUDA_TOKEN if cuda else _PYTHON_TOKEN
    counts = [0]  # operators of the statement, and of each bracket that is open in it
    at = 0
    while match := token.search(data, at):
        at = match.end()
        if close := _CLOSES.get(match[0]):
            at = data.find(close, at)
            if at < 0:
                return None
            at += len(close)
        elif match[1]:
            counts.append(0)
            if len(counts) > MOST_DEPTH + 1:
                return _reason(data, at, f"brackets nest deeper than {MOST_DEPTH}")
        elif match[2]:
            if len(counts) > 1:
                counts.pop()
            if match[2] == b"}" and cuda:
                counts[-1] = 0
        elif match[3]:
            if cuda or len(counts) == 1:
                counts[-1] = 0
        elif match[4] == b",":
            counts[-1] = 0
        elif match[4]:
            counts[-1] += 1
            if counts[-1] > MOST_OPERATORS:
                return _reason(data, at, f"a statement chains more than {MOST_OPERATORS} operators")
    return None


def _reason(data: bytes, at: int, what: str) -> str:
    line = data.count(b"\n", 0, at) + 1
    return f"line {line}: {what}; such a text is not read"
