"""`#if` decided as a compiler for a recent GPU decides it: names that the files do not define are not defined."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.code.cuda.conditions import Conditions
from kernel_lineage.kernels.cuda_text import Macro

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\\\n]|\\\r?\n|\\.)*)", re.MULTILINE)
_COMPILER = {"__CUDA_ARCH__": 900, "__CUDACC__": 1, "__NVCC__": 1, "__CUDA_ARCH_LIST__": 900, "__cplusplus": 201703,
             "CUDART_VERSION": 12040, "CUDA_VERSION": 12040, "__CUDACC_VER_MAJOR__": 12, "__CUDACC_VER_MINOR__": 4,
             "__NVCOMPILER_CUDA_ARCH__": 0}  # fmt: skip
"""What nvcc defines, for compute capability 9.0."""


def chosen_branches(text: str, macros: Mapping[str, Macro]) -> str:
    """The text with every directive, and every branch that is not taken, blank; of the same length."""

    def macro(name: str) -> str | int | None:
        defined = macros.get(name)
        if defined is not None:
            return defined.body if defined.parameters is None else 0
        return _COMPILER.get(name) or None

    conditions = Conditions(macro, unknown=0)
    kept: list[str] = []
    taken: list[tuple[bool, bool]] = []
    position = 0
    for match in _DIRECTIVE.finditer(text):
        piece = text[position : match.start()]
        kept.append(piece if all(on for on, _ in taken) else _blanked(piece))
        position = match.end()
        word, rest = match[1], match[2]
        kept.append(_blanked(match.group()))
        match word:
            case "if" | "ifdef" | "ifndef":
                on = _holds(word, rest, conditions)
                taken.append((on, on))
            case "elif" | "else" if taken:
                before = taken[-1][1]
                on = not before and (word == "else" or _holds("if", rest, conditions))
                taken[-1] = (on, before or on)
            case "endif" if taken:
                taken.pop()
    piece = text[position:]
    kept.append(piece if all(on for on, _ in taken) else _blanked(piece))
    return "".join(kept)


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _holds(word: str, rest: str, conditions: Conditions) -> bool:
    if word in ("ifdef", "ifndef"):
        name = re.match(r"\s*(\w+)", rest)
        return (name is not None and conditions.is_defined(name[1])) == (word == "ifdef")
    return conditions.holds(re.sub(r"/\*.*?\*/|//.*", " ", rest.replace("\\\n", " ")))
