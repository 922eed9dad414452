"""What makes a definition readable as a kernel by itself, where it is one only through code beside it."""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Language

_CALL = re.compile(r"\boperator\s*\(\s*\)\s*(\((?:[^(){}]|\([^()]*\))*\))[^{;]*(\{)")


def launch_line(text: str, symbol: str, language: Language) -> str:
    """Code to put behind a version's text: `f = triton.jit(f)`, or a type's call operator as a kernel of its name."""
    if language is Language.TRITON:
        return f"{symbol} = triton.jit({symbol})\n"
    declared = re.search(rf"\b(?:struct|class)\b[^;{{}}]*\b{re.escape(symbol)}\b[^;{{}}]*\{{", text)
    call = _CALL.search(text, declared.end() if declared else len(text))
    if call is None:
        return ""
    depth, end = 0, call.start(2)
    for end in range(call.start(2), len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
    return f"__global__ void {symbol}{call[1]} {text[call.start(2) : end + 1]}\n"
