"""The syntax of the small language of workloads: Python's expressions, with the names of C++."""

from __future__ import annotations

import ast
import keyword
import re
from functools import lru_cache

MAX_LENGTH = 500

_WORDS = {"and", "or", "not", "if", "else", "True", "False", "None"}
_NAMES = re.compile(
    rf"\b(?:{'|'.join({*keyword.kwlist} - _WORDS)})\b(?=\s*(?:$|[]),+*/%<>=!-]|(?:and|or|if|else|in|not)\b))"
)
"""Words that Python keeps for itself, where an operand may end."""
_OPERAND = re.compile(r"[\w)\]'\"](?<!\band)(?<!\bor)(?<!\bnot)(?<!\bif)(?<!\belse)\s*(?:\bnot\s*)?$")
"""What ends with an operand: a word behind it is an operator."""
_MARK = "\u02b9"
"""A letter that no name of C++ or Python ends with."""


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated; the message quotes it."""


def tree_of(text: str) -> ast.expr:
    """The syntax tree of an expression, a new one for each call; where an operand is due, `in` and `lambda` are names
    as in C++. Raises what `ast.parse` does.
    """

    def marked(word: re.Match[str]) -> str:
        return word[0] if _OPERAND.search(text, 0, word.start()) else word[0] + _MARK

    tree = ast.parse(_NAMES.sub(marked, text), mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = node.id.removesuffix(_MARK)
    return tree


@lru_cache(maxsize=4096)
def parse(text: str) -> ast.expr:
    """The syntax tree of an expression, the same one for each call. Raises `ExpressionError`."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        return tree_of(text.strip())
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ExpressionError(f"`{text}` is not an expression: {error}") from error
