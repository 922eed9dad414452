"""Parameters and template parameters of CUDA C++ functions, as written and with what their types tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kernel_lineage.code.types import DTYPES, vector_of
from kernel_lineage.kernels.cuda_text import Text, closing_angle, one_line, split, trim
from kernel_lineage.kernels.cuda_text import text_of as layers
from kernel_lineage.kernels.source import Parameter, SourceFile, Span, TemplateParameter

_RESTRICT = re.compile(r"\b(?:__restrict__|__restrict|restrict)\b")
_QUALIFIERS = re.compile(
    r"\b(?:const|volatile|typename|__restrict__|__restrict|restrict|__grid_constant__)\b|(?:::|\bcuda::)?\bstd::"
)
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)\Z")
_GROUPED_NAME = re.compile(rb"\(\s*[*&]\s*([A-Za-z_]\w*)\s*\)")
_KEYWORDS = frozenset(["bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"])
"""Words of C++ that end a type; `half` may be the name of a number as well."""
_DEFAULT = re.compile(rb"(?<![=!<>])=(?!=)")
_TYPEDEF = re.compile(
    rb"\btypedef\s+([\w\s:<>,*()]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([\w\s:<>,*()]+?)\s*;"
)


def type_meanings(text: Text) -> dict[str, set[str]]:
    """Names that the file gives to types, with these: `typedef float floatX;`; several where branches of `#if` do."""
    meanings: dict[str, set[str]] = {}
    for match in _TYPEDEF.finditer(text.code):
        name, target = (match[2], match[1]) if match[2] else (match[3], match[4])
        meanings.setdefault(name.decode(), set()).add(" ".join(target.decode("utf-8", "replace").split()))
    for macro in text.macros:
        if macro.parameters is None and (macro.body in DTYPES or vector_of(macro.body)):
            meanings.setdefault(macro.name, set()).add(macro.body)
    return meanings


def of_one_meaning(meanings: Mapping[str, set[str]]) -> dict[str, str]:
    """The names that have one meaning: of the others the text does not say which one is meant."""
    return {name: next(iter(types)) for name, types in meanings.items() if len(types) == 1}


def aliases_of(source: SourceFile) -> Mapping[str, str]:
    """Other names of types → the types, of a file's names that have one meaning; kept with the file."""
    kept = source.derived.get("type aliases")
    if not isinstance(kept, dict):
        kept = source.derived["type aliases"] = of_one_meaning(type_meanings(layers(source.data)))
    return kept


def meant_type(written: str, aliases: Mapping[str, str]) -> str:
    """A type by its own name, without qualifiers and `std::`: `uint64_t` for `const u64` of `using u64 = uint64_t`."""
    base = " ".join(_QUALIFIERS.sub(" ", written).split())
    for _ in range(8):
        if base in DTYPES or base not in aliases:
            break
        base = " ".join(_QUALIFIERS.sub(" ", aliases[base]).split())
    return base


def dtype_of(written: str, aliases: Mapping[str, str]) -> str | None:
    """NumPy's name for the element type of a written type, or None when the text does not tell."""
    return DTYPES.get(meant_type(written.replace("*", " ").replace("&", " ").split("[")[0], aliases))


def parameters(text: Text, extent: tuple[int, int], aliases: Mapping[str, str]) -> tuple[Parameter, ...]:
    """The parameters in a range between parentheses."""
    first, last = extent
    written = _formals(text.code[first:last], text.data[first:last], frozenset(aliases.items()))
    return tuple(
        Parameter(
            f.name,
            f.type,
            text.span(first + start, first + end),
            f.dtype,
            f.pointer,
            f.const,
            f.restrict,
            False,
            f.default,
        )
        for start, end, f in written
    )


@lru_cache(maxsize=8192)
def _formals(
    code: bytes, data: bytes, aliases: frozenset[tuple[str, str]]
) -> tuple[tuple[int, int, Parameter], ...]:
    """The parameters of a written list without its parentheses, each with its place in the list and no span yet.

    `code` is `data` without comments and literals.
    """
    formals: list[tuple[int, int, Parameter]] = []
    meanings = dict(aliases)
    for a, b in split(code, 0, len(code)):
        start, end = trim(code, a, b)
        if start == end or code[start:end] == b"void":
            continue
        equals = _default_at(code, start, end)
        declared = trim(code, start, end if equals is None else equals)[1]
        name, written = _name_and_type(code[start:declared], data[start:declared])
        formal = Parameter(
            name=name or f"unnamed_{len(formals)}",
            type=written,
            span=Span(0, 0, 0, 0),
            dtype=dtype_of(written, meanings),
            pointer="*" in written or "[" in written,
            const=re.search(r"\bconst\b", written.split("*")[0]) is not None,
            restrict=_RESTRICT.search(written) is not None,
            default=None if equals is None else one_line(data[equals + 1 : end]),
        )
        formals.append((start, end, formal))
    return tuple(formals)


def _default_at(code: bytes, start: int, end: int) -> int | None:
    match = _DEFAULT.search(code, start, end)
    return match.start() if match else None


def _name_and_type(head: bytes, raw: bytes) -> tuple[str, str]:
    grouped = _GROUPED_NAME.search(head)
    match = grouped or _NAME.search(head)
    if match is None:
        return "", one_line(raw)
    name = match.group(1).decode()
    before = head[: match.start(1)].strip()
    only_qualifiers = not _QUALIFIERS.sub(" ", before.decode("utf-8", "replace")).strip()
    of_a_type = name in _KEYWORDS or name == "__restrict__" or before.endswith(b"::")
    if not grouped and (only_qualifiers or of_a_type):
        return "", one_line(raw)  # a type without a name
    return name, one_line(raw[: match.start(1)] + raw[match.end(1) :])


def template_parameters(text: Text, start: int, end: int) -> tuple[TemplateParameter, ...]:
    """The template parameters of the declaration whose head is [start, end)."""
    formals: list[TemplateParameter] = []
    position = start
    while match := re.compile(rb"\s*template\s*(?=<)").match(text.code, position):
        close = closing_angle(text.code, match.end(), end)
        if close is None:
            break
        for a, b in _angle_parts(text.code, match.end() + 1, close):
            parameter = _template_parameter(text, a, b)
            if parameter:
                formals.append(parameter)
        position = close + 1
    return tuple(formals)


def _angle_parts(code: bytes, start: int, end: int) -> list[tuple[int, int]]:
    return [trim(code, a, b) for a, b in split(code, start, end)]


def _template_parameter(text: Text, start: int, end: int) -> TemplateParameter | None:
    equals = _default_at(text.code, start, end)
    default = None if equals is None else one_line(text.data[equals + 1 : end])
    written = one_line(text.data[start : end if equals is None else equals])
    if (pointed := re.fullmatch(r"(.+\(\s*[*&]\s*)([A-Za-z_]\w*)(\s*\)\s*\(.*\))", written)) is not None:
        return TemplateParameter(pointed[2], pointed[1] + pointed[3], default)
    match = re.match(r"(.*?)(\.\.\.\s*)?\b([A-Za-z_]\w*)\Z", written)
    if not match:
        return None
    of_type, pack, name = match.group(1).strip(), match.group(2) or "", match.group(3)
    if not of_type:
        return None
    kind = (
        None if re.fullmatch(r"(?:typename|class|template\s*<.*>\s*(?:typename|class))", of_type) else of_type
    )
    return TemplateParameter(name + ("..." if pack else ""), kind, default)
