"""Sizes of C++ types, and constants that a struct declares, such as `x128::size`, as a file's text defines them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.code.types import type_bytes

_DEPTH = 6
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*(\w+)\s*\)")
_STRUCT = re.compile(
    r"(?:template\s*<\s*(?:class|typename)\s+(\w+)\s*>\s*)?struct\s+(?:alignas\s*\(\s*\d+\s*\)\s*)?(\w+)\s*\{"
)
_MEMBER = re.compile(r"\bstatic\s+constexpr\s+(?:const\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*([^;]+);")
_ALIAS = (
    r"typedef\s+([\w ]+?(?:<\s*\w+\s*>)?)\s+{name}\s*;|using\s+{name}\s*=\s*([\w ]+?(?:<\s*\w+\s*>)?)\s*;"
)


def alias(word: str, text: str) -> str:
    """What a type's name stands for at the end of its aliases; the last definition of each counts."""
    for _ in range(_DEPTH):
        found = re.findall(_ALIAS.format(name=re.escape(word)), text) if re.fullmatch(r"\w+", word) else []
        if not found:
            return word
        word = next(filter(None, found[-1])).strip()
    return word


def with_sizes(expression: str, text: str) -> str:
    """An expression in which `sizeof` of a type, or of an alias of one, is its bytes where these are known."""

    def size(match: re.Match[str]) -> str:
        return str(type_bytes(alias(match[1], text)) or match[0])

    return _SIZEOF.sub(size, expression)


def struct_constants(text: str) -> dict[str, str]:
    """Constants of structs by the name that launch expressions have for them: `x128size` for `x128::size`.

    `Packed<float>::size` is `Packed_floatsize`.
    """
    structs = {name: (parameter, dict(_members(text, end))) for parameter, name, end in _structs(text)}
    if not structs:
        return {}
    found: dict[str, str] = {}
    for match in re.finditer(r"typedef\s+(\w+)\s*(?:<\s*(\w+)\s*>)?\s+(\w+)\s*;", text):
        found.update(_qualified(match[3], match[1], match[2] or "", structs, text))
    for match in re.finditer(r"using\s+(\w+)\s*=\s*(\w+)\s*(?:<\s*(\w+)\s*>)?\s*;", text):
        found.update(_qualified(match[1], match[2], match[3] or "", structs, text))
    for struct, argument in re.findall(r"\b(\w+)\s*<\s*(\w+)\s*>\s*::", text):
        found.update(_qualified(f"{struct}_{argument}", struct, argument, structs, text))
    for name, (parameter, _) in structs.items():
        if not parameter:
            found.update(_qualified(name, name, "", structs, text))
    return found


def alias_sizes(text: str) -> dict[str, str]:
    """Bytes of each alias of a type, by the name that launch expressions have for `sizeof` of it: `sizeof_floatX`."""
    names = re.findall(r"typedef\s+[\w ]+?\s+(\w+)\s*;", text) + re.findall(r"using\s+(\w+)\s*=", text)
    known = {name: type_bytes(alias(name, text)) for name in names}
    return {f"sizeof_{name}": str(size) for name, size in known.items() if size is not None}


def _structs(text: str) -> Iterator[tuple[str, str, int]]:
    for match in _STRUCT.finditer(text):
        yield match[1] or "", match[2], match.end()


def _members(text: str, start: int) -> Iterator[tuple[str, str]]:
    depth, at = 1, start
    while at < len(text) and depth:
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
    for match in _MEMBER.finditer(text, start, at):
        yield match[1], match[2].strip()


def _qualified(
    name: str, struct: str, argument: str, structs: dict[str, tuple[str, dict[str, str]]], text: str
) -> Iterator[tuple[str, str]]:
    parameter, members = structs.get(struct, ("", {}))
    for member, value in members.items():
        given = re.sub(rf"\b{parameter}\b", argument, value) if parameter else value
        yield f"{name}{member}", with_sizes(given, text)
