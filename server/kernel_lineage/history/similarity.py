"""How alike two function texts are, and which known functions are worth comparing with.

Texts are compared as token bigrams without comments and layout, the Dice coefficient of the two multisets: 1 for the
same tokens in the same order, robust against moved blocks (L. R. Dice, Ecology 26, 1945).
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

_COMMENTS = {
    True: re.compile(r"#[^\n]*|\"\"\".*?\"\"\"", re.DOTALL),
    False: re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
}
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\w\s]")
_TOKEN_OR_LINE = re.compile(rf"{TOKEN.pattern}|\n")
_CONTINUED = re.compile(r"\\[ \t\r]*\n")
"""A line that goes on in the next one."""
_SKETCH = 16
_TELLING_LINE = 12


def code_tokens(text: str, python: bool) -> list[str]:
    """The tokens of a text without comments."""
    return TOKEN.findall(_COMMENTS[python].sub(" ", text))


def code_lines(text: str, python: bool) -> list[str]:
    """The lines of a text without comments, layout and empty lines; two texts of the same lines do the same."""
    bare = _COMMENTS[python].sub(lambda m: "\n" * m[0].count("\n"), text)
    return [line for line in (" ".join(raw.split()) for raw in bare.splitlines()) if line]


def code_statements(text: str, python: bool) -> list[str]:
    """The statements of a text as tokens: the same however lines are broken, indented and commented.

    A comma before a closing bracket is layout.
    """
    bare = _COMMENTS[python].sub(lambda m: "\n" * m[0].count("\n"), text)
    bare = _CONTINUED.sub(" ", bare)
    statements: list[str] = []
    current: list[str] = []
    depth = 0
    for word in _TOKEN_OR_LINE.findall(bare):
        if word == "\n":
            if not python or depth > 0:
                continue
        elif word in ")]}" and current and current[-1] == ",":
            current.pop()
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word, 0) if python else 0
        if word != "\n":
            current.append(word)
        if word == "\n" or (not python and word in ";{}"):
            if current:
                statements.append(" ".join(current))
            current = []
    return [*statements, " ".join(current)] if current else statements


class Similarity:
    """Compares texts by digest, computing what a comparison needs once per text."""

    def __init__(self, text_of: Callable[[str], str]):
        self._text_of = text_of
        self._bigrams: dict[str, Counter[tuple[str, str]]] = {}
        self._sizes: dict[str, int] = {}
        self._sketches: dict[str, frozenset[int]] = {}

    def ratio(self, one: str, other: str, python: bool) -> float:
        """0 … 1 for two digests."""
        if one == other:
            return 1.0
        a, b = self._profile(one, python), self._profile(other, python)
        total = self._sizes[one] + self._sizes[other]
        if not total:
            return 0.0
        if len(a) > len(b):
            a, b = b, a
        common = sum(min(n, b[k]) for k, n in a.items() if k in b)
        return 2 * common / total

    def sketch(self, one: str, python: bool) -> frozenset[int]:
        """The smallest hashes of a text's lines: texts of which a part is shared share some of them."""
        sketch = self._sketches.get(one)
        if sketch is None:
            lines = code_lines(self._text_of(one), python)
            hashes = {
                zlib.crc32(line.encode("utf-8", "replace")) for line in lines if len(line) >= _TELLING_LINE
            }
            sketch = self._sketches[one] = frozenset(sorted(hashes)[:_SKETCH])
        return sketch

    def _profile(self, one: str, python: bool) -> Counter[tuple[str, str]]:
        profile = self._bigrams.get(one)
        if profile is None:
            tokens = code_tokens(self._text_of(one), python)
            profile = self._bigrams[one] = Counter(pairwise(tokens))
            self._sizes[one] = max(0, len(tokens) - 1)
        return profile
