"""States whose element type is an option of the build, taken as the option for float32 has them.

    #if defined(ENABLE_BF16)
    typedef __nv_bfloat16 floatX;
    #else
    typedef float floatX;
    #endif

An older state of the same kernel is often in float32 only: with the float32 build both are one computation. The lines
stay where they are, so that what is said of a line is true of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_lineage.learning.replay.states import StateOf
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import State

_SUFFIXES = (".cu", ".cuh", ".h")
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b.*")
_TYPEDEF = re.compile(
    r"(?P<head>[ \t]*(?:typedef[ \t]+|using[ \t]+(?P<first>\w+)[ \t]*=[ \t]*))"
    r"(?P<type>float|half|__half|nv_bfloat16|__nv_bfloat16)(?P<tail>[ \t]*(?P<last>\w*)[ \t]*;.*)",
    re.DOTALL,
)


def as_float32(text: str) -> tuple[str, tuple[str, ...]]:
    """A text with each type that is float32 in one branch of a conditional as it is there in all of its branches.

    Gives the text and the names of those types; none when there are none.
    """
    lines = text.splitlines(keepends=True)
    names: dict[str, None] = {}
    for branches in _conditionals(lines):
        matches = [(n, m) for n in branches if (m := _TYPEDEF.match(lines[n])) is not None]
        kinds: dict[str, set[str]] = {}
        for _, match in matches:
            kinds.setdefault(_name(match), set()).add(match["type"])
        for n, match in matches:
            if "float" in kinds[_name(match)] and len(kinds[_name(match)]) > 1:
                lines[n] = f"{match['head']}float{match['tail']}"
                names[_name(match)] = None
    return "".join(lines), tuple(names)


def _name(match: re.Match[str]) -> str:
    return match["first"] or match["last"]


def _conditionals(lines: list[str]) -> Iterator[list[int]]:
    """The lines in the branches of each conditional, without those of conditionals within."""
    open_: list[list[int]] = []
    for n, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            if open_:
                open_[-1].append(n)
        elif directive[1].startswith("if"):
            open_.append([])
        elif directive[1] == "endif" and open_:
            yield open_.pop()


def with_float32(state: StateOf) -> tuple[StateOf, tuple[str, ...]]:
    """A state with its private files changed to the float32 build, and the types that this changed."""
    names: dict[str, None] = {}
    for path in sorted(state.tree.files):
        if not path.endswith(_SUFFIXES):
            continue
        file = state.root / path
        text, changed = as_float32(file.read_bytes().decode("utf-8", "surrogateescape"))
        if changed:
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
            names |= dict.fromkeys(changed)
    return replace(state, state=State(state.root), kept=None), tuple(names)


_FLOATS = ("float16", "bfloat16", "float32")


def in_float32(draft: Draft) -> Draft:
    """A Triton launch as callers with float32 tensors make it: launchers allocate as inputs are, or in float32."""
    arguments = tuple(
        replace(a, dtype="float32") if a.kind != "scalar" and a.dtype in _FLOATS else a
        for a in draft.arguments
    )
    constexpr = {
        name: "tl.float32" if text.startswith("tl.") and text[3:] in _FLOATS else text
        for name, text in draft.constexpr.items()
    }
    return replace(draft, arguments=arguments, constexpr=constexpr)
