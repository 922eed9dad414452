"""The outline of a CUDA C++ file: its functions, types and variables at the level of declarations, with their extents.

Broken code is normal: a `__global__` inside of a block means that the block before it was never closed, so the block
ends there and the outline goes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from kernel_lineage.kernels.cuda_brackets import SCOPE, block_ends
from kernel_lineage.kernels.cuda_text import Text, closing, closing_angle, trim

_TOKEN = re.compile(rb"[{};#]|\b__global__\b")
"""What structures a file at the level of declarations."""
_NOT_A_NAME = frozenset(
    b"__launch_bounds__ __cluster_dims__ __block_size__ __maxnreg__ __attribute__ __align__ __declspec alignas decltype"
    b" noexcept requires explicit if while for switch return sizeof".split()
)
_GROUP_NAME = re.compile(
    rb"(~?\b[A-Za-z_]\w*|\boperator\s*[^\s\w(]{1,3}|\boperator\s*\(\s*\))(?:\s*<[^<>;{}()]*>)?\s*\Z"
)
_AFTER_PARAMETERS = re.compile(
    rb"\s*(?:(?:const|noexcept|override|final|mutable|volatile|&&?)\s*)*(?:->[^;{}]*|:(?!:).*|requires\b.*)?\Z",
    re.DOTALL,
)
_TYPE_HEAD = re.compile(rb"\b(struct|class|union|enum)\b")
_WORD_OF_TYPE = re.compile(rb"\s*(?:(?P<name>[A-Za-z_]\w*)\s*(?P<arguments>\()?|(?P<attribute>\[(?=\[)))")
_ASSIGNED = re.compile(rb"(?<![=!<>])=(?!=)")
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_GOES_ON = re.compile(rb"\s*[,{]")
_LONGEST_DECLARATOR = 1000
"""Bytes behind the body of a type in which its `;` is looked for."""
_HEAD_OF_KERNEL = re.compile(
    rb"(?:template\s*<[^;{}]*>\s*(?:requires[^;{}]*)?)?(?:\b(?:static|inline|extern|constexpr|__forceinline__|friend)\b\s*"
    rb"|\b[A-Z_][A-Z0-9_]*\b(?:\s*\([^;{}]*\))?\s*)*\Z"
)


_C = '"C"'
"""The scope of an `extern "C"` block, among the names of namespaces."""


class What(StrEnum):
    """What a declaration declares."""

    FUNCTION = "function"
    TYPE = "type"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration outside of functions and types."""

    what: What
    name: str
    start: int
    """Where its first token starts: template head, attribute, qualifier."""
    end: int
    head_end: int
    """Where the head before the body ends; equal to `end` when there is no body."""
    parameters: tuple[int, int]
    """The range between a function's parentheses."""
    name_at: tuple[int, int]
    namespace: str = ""
    closed: bool = True
    extern_c: bool = False
    """Whether it stands in an `extern "C"` block."""

    @property
    def defined(self) -> bool:
        """Whether it has a body."""
        return self.head_end < self.end


def outline(text: Text) -> tuple[Declaration, ...]:
    """The declarations of a file in order, those in namespaces and `extern "C"` blocks too."""
    code = text.code
    ends = block_ends(text)
    declarations: list[Declaration] = []
    scopes: list[str] = []
    start, position, kernel_seen = 0, 0, False
    while match := _TOKEN.search(code, position):
        token, at = match.group(), match.start()
        position = match.end()
        if token == b"__global__":
            if kernel_seen:  # the declaration before never ended
                start = at
            start, kernel_seen = _kernel_start(code, start, at), True
        elif token == b"#":
            continue
        elif token == b";":
            _add(declarations, _bodiless(text, start, at, scopes), scopes)
            start, kernel_seen = position, False
        elif token == b"}":
            if scopes:
                scopes.pop()
            start, kernel_seen = position, False
        else:
            head = _without_marks(code[start:at]).strip()
            scope = SCOPE.fullmatch(head)
            if scope:
                scopes.append(
                    _C if scope.group(1) is None else scope.group(1).strip().decode("utf-8", "replace")
                )
                start, kernel_seen = position, False
                continue
            end, closed = ends.get(at, (position, False))
            declaration = _with_body(text, start, at, end, closed, scopes)
            position = end
            if declaration is None or _initialises_members(code, declaration, end):
                if not closed:
                    start = position
                continue  # an initialiser or a lambda: the declaration goes on behind it
            if declaration.what is What.TYPE:
                semicolon = code.find(b";", end, end + _LONGEST_DECLARATOR)
                line = code[end:semicolon] if semicolon >= 0 else b"{"
                if b"{" not in line and b"}" not in line and b"#" not in line and b"__global__" not in line:
                    position = semicolon + 1
                    declaration = replace(declaration, end=position)
            declarations.append(replace(declaration, extern_c=_C in scopes) if scopes else declaration)
            start, kernel_seen = position, False
    return tuple(declarations)


def _initialises_members(code: bytes, declaration: Declaration, end: int) -> bool:
    """Whether a block is that of a member in a constructor's list, `: value{1}, other{2} {}`, and not the body."""
    behind = code[declaration.parameters[1] : declaration.head_end].replace(b"::", b"")
    return declaration.what is What.FUNCTION and b":" in behind and _GOES_ON.match(code, end) is not None


def _kernel_start(code: bytes, start: int, at: int) -> int:
    """Where the declaration with the `__global__` at `at` begins; what stands before may be left over broken code."""
    head = code[start:at]
    stripped = _without_marks(head)
    if _HEAD_OF_KERNEL.match(stripped.lstrip()):
        return start
    for template in reversed(list(_TEMPLATE.finditer(stripped))):
        if _HEAD_OF_KERNEL.match(stripped, template.start()):
            return start + template.start()
    line = head.rfind(b"\n") + 1
    return start + line if _HEAD_OF_KERNEL.match(stripped[line:].lstrip()) else at


def _without_marks(code: bytes) -> bytes:
    return code.replace(b"#", b" ")


def _add(declarations: list[Declaration], declaration: Declaration | None, scopes: list[str]) -> None:
    if declaration is not None:
        declarations.append(replace(declaration, extern_c=_C in scopes) if scopes else declaration)


def _bodiless(text: Text, start: int, end: int, scopes: list[str]) -> Declaration | None:
    code = _without_marks(text.code[start:end])
    first, last = trim(code, 0, len(code))
    if first == last:
        return None
    name = re.search(rb"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:[=({].*)?\Z", code, re.DOTALL)
    at = (start + name.start(1), start + name.end(1)) if name else (start, start)
    written = name.group(1).decode() if name else ""
    return Declaration(
        What.OTHER, written, start + first, end + 1, end + 1, (end, end), at, _namespace(scopes)
    )


def _namespace(scopes: list[str]) -> str:
    return "::".join(s for s in scopes if s and s != _C)


def _with_body(
    text: Text, start: int, opening: int, end: int, closed: bool, scopes: list[str]
) -> Declaration | None:
    head = _head(_without_marks(text.code[start:opening]))
    if head is None:
        return None
    return Declaration(
        head.what,
        head.name,
        start + head.first,
        end,
        opening,
        (start + head.parameters[0], start + head.parameters[1]),
        (start + head.name_at[0], start + head.name_at[1]),
        _namespace(scopes),
        closed,
    )


@dataclass(frozen=True, slots=True)
class _Head:
    """What the text before a body declares; its places count from where that text begins."""

    what: What
    name: str
    first: int
    parameters: tuple[int, int]
    name_at: tuple[int, int]


@lru_cache(maxsize=8192)
def _head(code: bytes) -> _Head | None:
    """What a head declares: a function or a type; None for any other."""
    first, last = trim(code, 0, len(code))
    bare = skip_templates(code, first)
    kind = _TYPE_HEAD.search(code, bare, last)
    function = parameters_at(code, bare, last, begins_as_type=kind is not None and kind.start() == bare)
    if function:
        at, formals = function
        return _Head(What.FUNCTION, code[at[0] : at[1]].decode("utf-8", "replace"), first, formals, at)
    if kind and b"=" not in code[bare : kind.start()] and b"(" not in code[bare : kind.start()]:
        at, behind = _name_of_type(code, kind.end(), last)
        if not _ASSIGNED.search(code, behind, last):
            name = code[at[0] : at[1]].decode("utf-8", "replace")
            return _Head(What.TYPE, name, first, (len(code), len(code)), at)
    return None


def _name_of_type(code: bytes, start: int, end: int) -> tuple[tuple[int, int], int]:
    """The name behind a `struct`, empty for one without, and where the head goes on: its bases or its arguments.

    Attributes and macros stand before the name: `alignas(sizeof(T) * N)`, `ALIGN(16)`, `[[maybe_unused]]`.
    """
    at, position = (start, start), start
    while (word := _WORD_OF_TYPE.match(code, position, end)) and word["name"] != b"final":
        position = word.end()
        if word["arguments"] or word["attribute"]:
            close = closing(code, position - 1, end)
            position = end if close is None else close + 1
        elif word["name"] not in (b"class", b"struct"):
            at = word.span("name")
    return at, position


def skip_templates(code: bytes, position: int) -> int:
    """Where a declaration goes on behind the brackets of its templates."""
    while match := re.compile(rb"\s*template\s*(?=<)").match(code, position):
        close = closing_angle(code, match.end())
        if close is None:
            break
        position = close + 1
    return position


def parameters_at(
    code: bytes, start: int, end: int, *, begins_as_type: bool = False
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The ranges of the name and of the parameters (without parentheses) of the function head in [start, end).

    Behind those of one that `begins_as_type` no other name stands: `struct ALIGN(16) Pair` is none.
    """
    groups: list[tuple[tuple[int, int], int, int]] = []
    position = start
    while (opening := code.find(b"(", position, end)) >= 0:
        close = closing(code, opening, end)
        if close is None:
            return None
        if b"=" in code[position:opening] and b"operator" not in code[position:opening]:
            return None  # a variable with an initialiser
        name = _GROUP_NAME.search(code, position, opening)
        if name and name.group(1).replace(b" ", b"") == b"operator()":
            name = None
        if name is None and re.search(rb"\boperator\s*\Z", code[position:opening]):
            position = close + 1  # the first pair of `operator()()` belongs to the name
            continue
        if name and name.group(1) not in _NOT_A_NAME:
            groups.append((name.span(1), opening + 1, close))
        position = close + 1
    if not groups:
        return None
    is_kernel = b"__global__" in code[start:end]
    if not is_kernel:
        for name_at, left, right in groups:
            if _AFTER_PARAMETERS.match(code[right + 1 : end]):
                return name_at, (left, right)
    if begins_as_type:
        return None
    name_at, left, right = groups[-1]
    return name_at, (left, right)
