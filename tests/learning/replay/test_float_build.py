"""States whose element type is an option of the build: what is changed for the float32 build, and what is not."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.float_build import as_float32, in_float32
from kernel_lineage.workloads.model import Draft, DraftArgument

BRANCHES = """\
#define ENABLE_BF16
#if defined(ENABLE_BF16)
typedef __nv_bfloat16 floatX;
#elif defined(ENABLE_FP16)
typedef half floatX;
#else
typedef float floatX;
#endif
"""


def test_every_branch_of_the_option_becomes_float_and_the_lines_stay():
    text, names = as_float32(BRANCHES)
    assert names == ("floatX",)
    assert [line for line in text.splitlines() if "typedef" in line] == ["typedef float floatX;"] * 3
    assert len(text.splitlines()) == len(BRANCHES.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("typedef __nv_bfloat16 floatX;\n", id="no option"),
        pytest.param(
            "#if A\ntypedef half storage;\n#else\ntypedef __nv_bfloat16 storage;\n#endif\n", id="no float"
        ),
        pytest.param("#if A\ntypedef half low;\n#else\ntypedef float high;\n#endif\n", id="two types"),
        pytest.param(
            "#if A\ntypedef double real;\n#else\ntypedef float real;\n#endif\n",
            id="double",
        ),
    ],
)
def test_a_type_that_is_no_option_stays(text):
    assert as_float32(text) == (text, ())


def test_an_option_within_another_condition_and_an_alias_are_seen():
    text = "#ifdef A\n#if B\nusing real = __half;\n#else\nusing real = float;\n#endif\n#endif\n"
    changed, names = as_float32(text)
    assert names == ("real",)
    assert changed.count("using real = float;") == 2


def test_a_triton_launch_of_a_caller_with_float32_tensors():
    arguments = (
        DraftArgument("x", "input", "bfloat16", ("n",)),
        DraftArgument("ids", "input", "int64", ("n",), "integers(0, n)"),
        DraftArgument("eps", "scalar", "float32", value="1e-06"),
    )
    constexpr = {"TYPE": "tl.bfloat16", "INDEX": "tl.int32", "MODE": "'bfloat16'", "BLOCK": "n"}
    half = Draft("k", Language.TRITON, "a.py", {"n": 4}, {"n": 4}, arguments, ("1",), constexpr=constexpr)
    single = in_float32(half)
    assert [a.dtype for a in single.arguments] == ["float32", "int64", "float32"]
    assert single.constexpr == {**constexpr, "TYPE": "tl.float32"}
