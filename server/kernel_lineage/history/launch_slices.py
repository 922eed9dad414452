"""What a host function does for one of the kernels that it launches.

A launcher is often shared: what it prepares for one kernel is nothing to the others. Its slice for a kernel keeps the
launches of that kernel, the statements that give what these use, and the tests of what they use.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n]){1,4}\'|^[ \t]*#[^\n]*|[{};()]',
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_GIVES = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*|\.\w+\s*)*(?:=(?!=)|\+=|-=|\*=|/=|\(|\{|;|,|\Z)")
_CHECK = re.compile(r"\s*\w*(?:CHECK|check|assert|ASSERT|require|REQUIRE)\w*\s*\(")
_LEAVES = re.compile(r"\b(?:return|throw|exit|abort)\b")


@lru_cache(maxsize=4096)
def launch_slice(text: str, kernel: str, language: Language) -> str:
    """The slice of a launcher's text for a kernel; the whole text where it cannot be cut."""
    sliced = _python(text, kernel) if language is Language.TRITON else _cpp(text, kernel)
    return text if sliced is None else sliced


def _python(text: str, kernel: str) -> str | None:
    flat = textwrap.dedent(text)
    try:
        module = ast.parse(flat)
    except (SyntaxError, ValueError, RecursionError):
        return None
    function = next((n for n in module.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)), None)
    if function is None:
        return None
    used: set[str] = set()
    kept: set[int] = set()
    while True:
        before = len(kept), len(used)
        for statement in reversed(list(_statements(function.body))):
            if id(statement) not in kept and _is_wanted(statement, kernel, used, kept):
                kept.add(id(statement))
                used |= names_in(_head(statement)) - {kernel}
        if (len(kept), len(used)) == before:
            break
    if not kept:
        return None
    function.body = _pruned(function.body, kept) or [ast.Pass()]
    function.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(function)) + "\n"


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for _, block in _blocks(statement):
            yield from _statements(block)


def _blocks(statement: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name, value in ast.iter_fields(statement):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield name, value


def _head(statement: ast.stmt) -> ast.AST:
    """A statement without its blocks."""
    if isinstance(statement, ast.If | ast.While):
        return statement.test
    if isinstance(statement, ast.For):
        return ast.Tuple([statement.target, statement.iter], ast.Load())
    if isinstance(statement, ast.With):
        return ast.Tuple([i.context_expr for i in statement.items], ast.Load())
    return ast.Pass() if isinstance(statement, ast.Try) else statement


def _is_wanted(statement: ast.stmt, kernel: str, used: set[str], kept: set[int]) -> bool:
    inside = [s for _, block in _blocks(statement) for s in block]
    if inside:
        if any(id(s) in kept for s in inside):
            return True
        leaves = isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Raise | ast.Return)
        return leaves and not used.isdisjoint(names_in(_head(statement)))
    if any(_names_kernel(n, kernel) for n in ast.walk(statement)):
        return True
    if isinstance(statement, ast.Assert):
        return not used.isdisjoint(names_in(statement))
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return any(not used.isdisjoint(names_in(t)) for t in targets)
    return isinstance(statement, ast.FunctionDef) and statement.name in used


def _names_kernel(node: ast.AST, kernel: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == kernel) or (
        isinstance(node, ast.Attribute) and node.attr == kernel
    )


def _pruned(body: Sequence[ast.stmt], kept: set[int]) -> list[ast.stmt]:
    left = []
    for statement in body:
        if id(statement) not in kept:
            continue
        for name, block in list(_blocks(statement)):
            pruned = _pruned(block, kept)
            if not pruned and name == "body":
                pruned = [s for s in block if isinstance(s, ast.Raise | ast.Return)] or [ast.Pass()]
            setattr(statement, name, pruned)
        left.append(statement)
    return left


@dataclass(slots=True)
class _Block:
    """A statement of C++: its text up to its block, the block, and what stands behind it up to the `;`."""

    head: str
    inside: list[_Block] = field(default_factory=list)
    tail: str = ""
    block: bool = False
    kept: bool = False

    @property
    def words(self) -> set[str]:
        return set(WORD.findall(_COMMENT.sub(" ", f"{self.head} {self.tail}")))


def _cpp(text: str, kernel: str) -> str | None:
    opened = text.find("{")
    closed = text.rfind("}")
    if opened < 0 or closed < opened:
        return None
    body = _parsed(text[opened + 1 : closed])
    if body is None:
        return None
    everything = [b for top in body for b in _all(top)]
    used: set[str] = set()
    while True:
        before = sum(b.kept for b in everything), len(used)
        for statement in reversed(everything):
            if not statement.kept and _is_wanted_cpp(statement, kernel, used):
                statement.kept = True
                used |= statement.words - {kernel}
        if (sum(b.kept for b in everything), len(used)) == before:
            break
    if not any(b.kept for b in body):
        return None
    return f"{text[: opened + 1]}\n{''.join(_written(b) for b in body if b.kept)}}}\n"


def _parsed(text: str) -> list[_Block] | None:
    """The statements of a body, blocks within parentheses (of lambdas) too; None where brackets do not match."""
    top: list[_Block] = []
    open_blocks: list[tuple[list[_Block], int]] = []
    current, depth, start = top, 0, 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
        elif mark == "{":
            block = _Block(text[start : token.start()], block=True)
            current.append(block)
            open_blocks.append((current, depth))
            current, depth, start = block.inside, 0, token.end()
        elif mark == "}":
            if not open_blocks:
                return None
            if text[start : token.start()].strip():
                current.append(_Block(text[start : token.start()]))
            current, depth = open_blocks.pop()
            start = token.end()
        elif mark == ";" and depth <= 0:
            rest = text[start : token.end()]
            if (
                current
                and current[-1].block
                and not current[-1].tail
                and rest.lstrip()[:1] in (")", ";", ",")
            ):
                current[-1].tail = rest
            else:
                current.append(_Block(rest))
            start, depth = token.end(), 0
    if open_blocks:
        return None
    if text[start:].strip():
        current.append(_Block(text[start:]))
    return top


def _all(block: _Block) -> Iterator[_Block]:
    yield block
    for inner in block.inside:
        yield from _all(inner)


def _is_wanted_cpp(statement: _Block, kernel: str, used: set[str]) -> bool:
    words = statement.words
    if kernel in words or any(inner.kept for inner in statement.inside):
        return True
    if statement.block:
        leaves = any(_LEAVES.search(inner.head) for inner in statement.inside)
        return leaves and statement.head.lstrip().startswith("if") and not used.isdisjoint(words)
    head = _COMMENT.sub(" ", statement.head)
    if "<<<" in head:
        return False  # it launches another kernel
    if _CHECK.match(head) or _LEAVES.search(head):
        return not used.isdisjoint(words) and (bool(_CHECK.match(head)) or head.lstrip().startswith("if"))
    match = _GIVES.search(head.split("=", 1)[0] + "=" if "=" in head else head)
    return match is not None and match[1] in used


def _written(block: _Block) -> str:
    if not block.block:
        return f"{block.head.strip()}\n"
    inside = [b for b in block.inside if b.kept or (_LEAVES.search(b.head) and not b.block)]
    return f"{block.head.strip()} {{\n{''.join(map(_written, inside))}}}{block.tail.strip()}\n"
