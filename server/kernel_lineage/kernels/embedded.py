"""CUDA C++ that stands in strings of a Python file, as `load_inline` is given it, at its own places in the file."""

from __future__ import annotations

import io
import re
import tokenize
from functools import lru_cache

_PYTHON = re.compile(rb"^(?:import|from)[ \t]+\w", re.MULTILINE)
_CUDA = re.compile(r"__global__|__device__|<<<|\btorch::|\bat::Tensor|#[ \t]*include|#[ \t]*define")
_QUOTES = re.compile(r"([A-Za-z]*)('''|\"\"\"|'|\")")


@lru_cache(maxsize=64)
def cuda_in_python(data: bytes) -> bytes:
    """The CUDA C++ of a Python file: everything else is blanks, so that all places stay where they are.

    A file that is no Python comes back as it is. A file that cannot be split into Python's tokens is blank from there.
    """
    if b"__global__" not in data or _PYTHON.search(data) is None:
        return data
    text = data.decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kept = [character if character in "\r\n" else " " * len(character.encode()) for character in text]
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.STRING or _CUDA.search(token.string) is None:
                continue
            quotes = _QUOTES.match(token.string)
            if quotes is None or len(quotes[2]) == 1:
                continue
            first = starts[token.start[0] - 1] + token.start[1] + quotes.end()
            last = starts[token.end[0] - 1] + token.end[1] - len(quotes[2])
            kept[first:last] = text[first:last]
    except (tokenize.TokenError, IndentationError):
        pass
    return "".join(kept).encode()
