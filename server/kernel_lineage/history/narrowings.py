"""What narrows or saves a computation without a branch: selections, clamps, and indices in 64 bits.

A fix is often one of these: a mask by `tl.where`, a bound by `min()`, a product that is widened before it is added to a
pointer. Each occurrence is told, since a second one is a change.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from kernel_lineage.history.facts import GuardFact
from kernel_lineage.kernels.source import Language

SELECT, CLAMP, WIDENING = "select", "clamp", "widening"
NARROWINGS = frozenset({SELECT, CLAMP, WIDENING})
_WIDE = frozenset({"int64", "uint64"})
_CPP = re.compile(
    r"(?P<widening>\((?:u?int64_t|size_t|long long|ptrdiff_t)\)\s*[\w.]+"
    r"|static_cast<\s*(?:u?int64_t|size_t|long long|ptrdiff_t)\s*>\([^()]*\))"
    r"|(?<![\w.])(?:std::|::)?f?(?P<clamp>(?:min|max)(?:f|<\w+>)?\((?:[^()]|\([^()]*\))*\))"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def narrowings(text: str, part: int, language: Language) -> Iterator[GuardFact]:
    """The occurrences in the text of one part of a version; none where it cannot be read."""
    if language is Language.CUDA:
        bare = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for match in _CPP.finditer(bare):
            kind = WIDENING if match["widening"] else CLAMP
            yield GuardFact(match[0], kind, "kernel", part, bare.count("\n", 0, match.start()))
        return
    try:
        module = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            line = node.lineno - 1
            if name == "where":
                yield GuardFact(ast.unparse(node.args[0]), SELECT, "kernel", part, line)
            elif name in ("min", "max", "minimum", "maximum", "clamp") and len(node.args) > 1:
                yield GuardFact(ast.unparse(node), CLAMP, "kernel", part, line)
            elif name == "to" and isinstance(node.args[0], ast.Attribute) and node.args[0].attr in _WIDE:
                yield GuardFact(ast.unparse(node), WIDENING, "kernel", part, line)
