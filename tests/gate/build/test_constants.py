"""Sizes that are compiled into CUDA C++."""

from __future__ import annotations

import pytest

from kernel_gate.build.constants import with_constants
from kernel_gate.build.errors import BuildError
from kernel_gate.program import Program


def sized(source: str, includes: dict[str, str] | None = None, **constants: int) -> Program:
    program = Program("cuda", source, "k", includes=includes or {})
    return with_constants(program, constants)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define N 1024\n", "#define N 96\n"),
        ("# define  N (1 << 10)  // rows\nint a;", "# define  N 96  // rows\nint a;"),
        ("#define N 1024 /* of\nrows */\n", "#define N 96 /* of\nrows */\n"),
        ("constexpr int N = 4 * 256;", "constexpr int N = 96;"),
        ("static const unsigned M = 3, N = 1024, K = N;", "static const unsigned M = 3, N = 96, K = N;"),
        ("#define NN 7\n#define N 1024\n#define M N\n", "#define NN 7\n#define N 96\n#define M N\n"),
    ],
)
def test_a_macro_or_constant_has_another_value(source: str, expected: str) -> None:
    assert sized(source, N=96).source == expected


def test_a_constant_of_a_header_has_another_value() -> None:
    program = sized('#include "sizes.h"\n', {"sizes.h": "#define N 1024\n"}, N=96)
    assert program.includes == {"sizes.h": "#define N 96\n"}


@pytest.mark.parametrize("source", ["int n;", "#define N(x) x\n", "#define N 1\n#undef N\n#define N 2\n"])
def test_a_name_that_is_not_defined_once_is_an_error(source: str) -> None:
    with pytest.raises(BuildError, match="`N` is not defined once"):
        sized(source, N=96)
