"""Which C++ a program is compiled as."""

from __future__ import annotations

import pytest

from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.build.standard import standard_of
from kernel_gate.program import Program

CONCEPT = """\
template <class T> concept Small = sizeof(T) <= 4;
template <Small T> __global__ void k(T* x) { x[0] = 1; }
"""
PLAIN = (
    '// a concept X = what it requires (this)\n__global__ void k(char* x) { x[0] = "concept Y = 1"[0]; }\n'
)


@pytest.mark.parametrize(
    ("source", "flags", "standard"),
    [(CONCEPT, (), ["--std=c++20"]), (CONCEPT, ("-std=c++17",), []), (PLAIN, (), [])],
    ids=["a concept", "a standard of the program's own", "words in comments and literals"],
)
def test_what_came_with_a_standard_asks_for_it(
    source: str, flags: tuple[str, ...], standard: list[str]
) -> None:
    assert standard_of(Program("cuda", source, "k", flags=flags)) == standard


def test_a_concept_compiles() -> None:
    program = Program("cuda", CONCEPT, "k", template_arguments=("float",))
    assert ".entry" in compile_nvrtc(program, "sm_80").ptx
