"""The lines of C++ text that stay when no option is given but those that the text defines itself."""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from kernel_gate.files.reading import read_file
from kernel_lineage.workloads.headers import HEADERS, INCLUDING, Headers

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b\s*(.*)", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
_DEEPEST = 200
"""Headers within headers, as many as compilers take."""
_DEFINED = re.compile(r"defined\s*\(?\s*(\w+)\s*\)?")


def active_text(text: str, given: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text without the branches of `#if` that are not taken, by the macros that are given and that it defines.

    A branch of which nothing is known is taken to be off, as an option that nobody gave.
    """
    defined = dict(given)
    kept: list[str] = []
    levels: list[tuple[bool, bool]] = []
    """For each open conditional: whether its current branch stays, and whether one of its branches did."""
    for line in _lines(text):
        directive = _DIRECTIVE.match(line)
        on = all(taken for taken, _ in levels)
        if directive is None:
            if on:
                kept.append(line)
            continue
        word, rest = directive[1], re.split(r"//|/\*", directive[2].replace("\\\n", " "))[0].strip()
        if word in ("if", "ifdef", "ifndef"):
            holds = (rest in defined) != (word == "ifndef") if word != "if" else _holds(rest, defined)
            levels.append((holds, holds))
        elif word == "elif" and levels:
            taken = not levels[-1][1] and _holds(rest, defined)
            levels[-1] = (taken, levels[-1][1] or taken)
        elif word == "else" and levels:
            levels[-1] = (not levels[-1][1], True)
        elif word == "endif" and levels:
            levels.pop()
        elif on and word == "define":
            kept.append(line)
            name = re.split(r"\W", rest, maxsplit=1)[0]
            defined[name] = rest[len(name) :].strip()
        elif on:
            defined.pop(rest, None)
    return "\n".join(kept)


def _lines(text: str) -> Iterator[str]:
    """The lines, a directive with those that continue it."""
    begun = ""
    for line in text.splitlines():
        begun = f"{begun}\n{line}" if begun else line
        if not (begun.lstrip().startswith("#") and line.endswith("\\")):
            yield begun
            begun = ""
    if begun:
        yield begun


def _holds(condition: str, defined: Mapping[str, str]) -> bool:
    """Whether a condition is true; one that asks for a macro of which the text tells no number is not."""
    known = _DEFINED.sub(lambda m: "1" if m[1] in defined else "0", condition)
    return bool(_number(known, defined))


def _number(text: str, defined: Mapping[str, str], left: int = 8) -> int | None:
    """What a condition, or a macro's text, comes to; None where that is not known."""
    python = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
    python = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", python)
    try:
        return _evaluated(ast.parse(python.strip(), mode="eval").body, defined, left) if left else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # nested beyond what a person writes
        return None


def _evaluated(node: ast.expr, defined: Mapping[str, str], left: int) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.Name):
        # Where a macro is looked up, those that its text names are known by now as well.
        return _number(defined[node.id], defined, left - 1) if node.id in defined else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _evaluated(node.operand, defined, left)
        return None if value is None else int(not value)
    if isinstance(node, ast.BoolOp):
        values = [_evaluated(part, defined, left) for part in node.values]
        decides = isinstance(node.op, ast.Or)
        if any(v is not None and bool(v) == decides for v in values):
            return int(decides)
        return None if None in values else int(not decides)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sides = [_evaluated(side, defined, left) for side in (node.left, node.comparators[0])]
        compare = _COMPARED.get(type(node.ops[0]))
        if compare is not None and sides[0] is not None and sides[1] is not None:
            return int(compare(sides[0], sides[1]))
    return None


_COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def with_headers(path: Path, root: Path, data: bytes | None = None, also: Iterable[Path] = ()) -> str:
    """A file's text with the headers that it includes by `"…"` in their places, each once, none from outside `root`.

    Files of `also` follow, with those of their headers that are not there yet.
    """
    seen: set[Path] = set()
    headers = Headers(root.resolve())
    first = _included(path.resolve(), headers, data, seen)
    return "\n".join((first, *(_included(p.resolve(), headers, None, seen) for p in also)))


def _included(path: Path, headers: Headers, data: bytes | None, seen: set[Path], depth: int = 0) -> str:
    seen.add(path)
    try:
        text = (read_file(path, within=headers.root) if data is None else data).decode("utf-8", "replace")
    except OSError:
        return ""

    def header(match: re.Match[str]) -> str:
        there = headers.at(path.parent, match[1])
        if there is None or there in seen or depth >= _DEEPEST:
            return ""
        return _included(there, headers, None, seen, depth + 1)

    return _INCLUDE.sub(header, text)


def standing_before(path: Path, root: Path) -> tuple[str, ...]:
    """The headers that stand before this one in the first file that includes it, relative to its folder.

    A header may count on them: all are one text to the compiler. The file that includes it is looked for in the
    header's own folder and in those above it, up to `root`. Nothing for a file that is no header.
    """
    if path.suffix not in HEADERS or not path.is_relative_to(root):
        return ()
    for folder in (path.parent, *path.parent.parents):
        for beside in sorted(folder.iterdir()):
            if beside.suffix in INCLUDING and beside != path and (found := _before(beside, path)):
                return found
        if folder == root:
            break
    return ()


def _before(including: Path, path: Path) -> tuple[str, ...]:
    try:
        text = read_file(including).decode("utf-8", "replace")
    except OSError:
        return ()
    named = [(including.parent / header).resolve() for header in _INCLUDE.findall(text)]
    earlier = named[: named.index(path)] if path in named else []
    return tuple(os.path.relpath(header, path.parent) for header in earlier)
