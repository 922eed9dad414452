"""Vector loads and stores are made in parts of four bytes: the address need no longer be aligned for the whole."""

from __future__ import annotations

import re

from kernel_lineage.kernels.cuda_text import blank_literals, closing
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, seen_in
from kernel_lineage.rewrite.simplifications.model import Simplification

_VECTOR = r"(?:u?(?:int|long|longlong)|float|double)[234]"
_POINTER = rf"\s*(?:const\s+)?({_VECTOR})\s*(?:const\s*)?\*\s*"
_CAST = rf"(?:reinterpret_cast\s*<{_POINTER}>|\({_POINTER}\))\s*"
_REACHED = re.compile(rf"\*\s*{_CAST}|\*\s*\(\s*{_CAST}|{_CAST}")
_NAMED = re.compile(
    rf"(?:const\s+)?({_VECTOR})\s*\*\s*(?:const\s+)?(?:__restrict__\s+)?(\w+)\s*=\s*(?=reinterpret_cast\b|\()"
)
_PLACE = re.compile(r"&?\s*[A-Za-z_]\w*(?:\s*(?:\.|->)\s*\w+)*")
_ASSIGNED = re.compile(r"\s*=(?!=)\s*")
_NEEDS = """\
template <typename V>
__device__ V in_parts(const void* from) {
    V value;
    for (int k = 0; k < sizeof(V) / 4; k++) {
        reinterpret_cast<unsigned*>(&value)[k] = static_cast<const unsigned*>(from)[k];
    }
    return value;
}

template <typename V>
__device__ void in_parts(void* to, V value) {
    for (int k = 0; k < sizeof(V) / 4; k++) {
        static_cast<unsigned*>(to)[k] = reinterpret_cast<const unsigned*>(&value)[k];
    }
}

"""


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    data = kernel.source.data.decode("utf-8", "replace") if kernel.source is not None else ""
    return () if seen_in(data, r"\bin_parts\b") else functions_rewritten(kernel, _in_parts, _NEEDS)


def _in_parts(text: str) -> str:
    if not text.isascii():
        return text
    return _without_casts(_without_names(text))


def _without_names(text: str) -> str:
    """Pointers to vectors that are only indexed become addresses of their bytes."""
    for kind, name in _NAMED.findall(_masked(text)):
        uses = rf"\b{name}\b(?!\s*\[)"
        if len(re.findall(uses, _masked(text))) != 1:
            continue
        done = 0
        while place := re.compile(rf"\b{name}\s*(?=\[)").search(_masked(text), done):
            end = closing(_masked(text).encode(), place.end())
            if end is None:
                break
            index = text[place.end() + 1 : end]
            before, after = text[: place.start()], text[end + 1 :]
            new, after = _access(kind, f"{name} + sizeof({kind}) * ({index})", after)
            text, done = before + new + after, len(before) + len("in_parts")
        declared = _declared(text, kind, name)
        text = declared if declared is not None else text
    return text


def _declared(text: str, kind: str, name: str) -> str | None:
    """`float4* name = reinterpret_cast<float4*>(p)` as `char* name = (char*)(p)`."""
    pattern = re.compile(
        rf"(const\s+)?{kind}\s*\*\s*(?:const\s+)?(?:__restrict__\s+)?{name}\s*=\s*{_CAST}(?=\()"
    )
    match = pattern.search(_masked(text))
    if match is None:
        return None
    const = match[1] or ""
    return text[: match.start()] + f"{const}char* {name} = ({const}char*)" + text[match.end() :]


def _without_casts(text: str) -> str:
    """Accesses through an address that is taken as one of a vector, on the spot."""
    done = 0
    while match := _REACHED.search(_masked(text), done):
        done = match.end()
        kind = next(group for group in match.groups() if group)
        end = _end_of_place(text, match.end())
        if end is None:
            continue
        address, after = text[match.end() : end], text[end:]
        head = match[0]
        if not head.startswith("*"):
            # Only what is indexed is accessed here.
            opening = re.match(r"\s*\[", after)
            close = closing(_masked(text).encode(), end + opening.end() - 1) if opening else None
            if opening is None or close is None:
                continue
            index = text[end + opening.end() : close]
            address, after = f"(char*)({address}) + sizeof({kind}) * ({index})", text[close + 1 :]
        elif re.match(r"\*\s*\(\s*(?:reinterpret_cast|\()", head) and head.count("(") > head.count(")"):
            inner = re.match(r"\s*\)", after)
            if inner is None:
                continue
            after = after[inner.end() :]
        elif re.match(r"\s*\[", after):
            continue
        new, after = _access(kind, _bare(address), after)
        text = text[: match.start()] + new + after
        done = match.start() + len("in_parts")
    return text


def _access(kind: str, address: str, after: str) -> tuple[str, str]:
    """The text of an access, and what follows it: a store takes its value along."""
    stored = _ASSIGNED.match(_masked(after))
    if stored is None:
        return f"in_parts<{kind}>({address})", after
    end = _masked(after).find(";", stored.end())
    if end < 0:
        return f"in_parts<{kind}>({address})", after
    return f"in_parts<{kind}>({address}, {after[stored.end() : end]})", after[end:]


def _end_of_place(text: str, start: int) -> int | None:
    """Where the operand of a cast ends: a bracket, or a name with its members and indices."""
    masked = _masked(text)
    if masked[start : start + 1] == "(":
        end = closing(masked.encode(), start)
        return None if end is None else end + 1
    match = _PLACE.match(masked, start)
    if match is None:
        return None
    end = match.end()
    while masked[end : end + 1] in ("[", "("):
        close = closing(masked.encode(), end)
        if close is None:
            return None
        end = close + 1
    return end


def _bare(address: str) -> str:
    """Without the brackets around the whole of it."""
    whole = address.startswith("(") and closing(_masked(address).encode(), 0) == len(address) - 1
    return address[1:-1] if whole else address


def _masked(text: str) -> str:
    return blank_literals(text.encode()).decode("latin-1")


SIMPLIFICATION = Simplification(
    title="vector loads and stores made in parts of four bytes",
    weakens="vectorised_access",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
