"""Births: the first instruction that made a NaN, an infinity or another lost value is named with its line, thread and
operands.
"""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.emulated.launch import Checks

WATCH = Checks(births=True)


def births(statement: str, x: np.ndarray, kind: str = "float", head: str = ""):
    source = f"""
{head}
__global__ void kernel({kind}* out, const {kind}* x) {{
    int i = threadIdx.x;
    {kind} v = x[i];
    {statement} // here
    out[i] = v;
}}
"""
    done = launch(source, {"out": np.zeros_like(x), "x": x}, 1, len(x), checks=WATCH)
    assert done.faults == ()
    return done.result.births, line_of(source, "here")


def values(*numbers: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(numbers, dtype)


BROADCAST = "const float4 q = *(const float4*)x; v *= q.x * q.z + q.y * q.w;"


@pytest.mark.parametrize(
    ("statement", "x", "what", "thread", "expression"),
    [
        ("v = v / (v - v);", values(1, 2), "infinity", 0, "1 / 0"),
        ("v = v / x[1];", values(0, 0), "NaN", 0, "0 / 0"),
        ("v = sqrtf(v);", values(4, 9, -1, 1), "NaN", 2, "sqrt(-1)"),
        ("v = v * 3e38f;", values(1, 1, 2), "infinity", 2, "2 * 3e+38"),
        ("v = fmaf(v, v, -v);", values(1, 2e19), "infinity", 1, "2e+19 * 2e+19 + -2e+19"),
        ("v = __int_as_float(0x7f800000) - v * __int_as_float(0x7f800000);", values(1), "NaN", 0, None),
        ("if (i > 1) v = rsqrtf(v - 3.0f);", values(0, 1, 3), "infinity", 2, "rsqrt(0)"),
        (BROADCAST, values(1, 2e38, 3, 0), "infinity", 1, "2e+38 * 3"),
        ("v = v * v;", values(0, 1, 1e-25), "underflow", 2, "1e-25 * 1e-25"),
        ("v = fmaf(v, v, x[0]);", values(0, 1e-20), "underflow", 1, "1e-20 * 1e-20 + 0"),
        ("v = (float)(int)v;", values(-7, 3e9), "saturation", 1, "s32(3e+09)"),
        ("v = (float)(unsigned)v;", values(7.5, -7), "saturation", 1, "u32(-7)"),
    ],
)
def test_a_birth_is_named_with_its_line_thread_and_operands(statement, x, what, thread, expression):
    fates, line = births(statement, x)
    first = next(birth for birth in fates if birth.what == what)
    assert (first.line, first.thread, first.block) == (line, (thread, 0, 0), (0, 0, 0))
    if expression is not None:
        assert first.expression == expression


def test_operands_are_those_before_the_instruction():
    fates, line = births("v += v; v *= v; ", values(1e30))
    assert [(b.what, b.line, b.operands) for b in fates] == [
        ("infinity", line, (float(np.float32(2e30)),) * 2)
    ]


def test_doubles_and_halves_are_looked_at():
    fates, line = births("v = v / x[1];", values(1, 0, dtype=np.float64), "double")
    assert [(b.what, b.line, b.expression) for b in fates] == [
        ("NaN", line, "0 / 0"),
        ("infinity", line, "1 / 0"),
    ]
    head = "#include <cuda_fp16.h>"
    x = values(60000, 300, 2, dtype=np.float16)
    fates, line = births("v = __hmul(v, x[1]);", x, "__half", head)
    assert (fates[0].what, fates[0].thread, fates[0].operands) == ("infinity", (0, 0, 0), (60000.0, 300.0))


@pytest.mark.parametrize(
    "statement", ["v = v + 1.0f;", "v = v * 2.0f; v = fminf(v, 3.0f);", "if (v > 5.0f) v = v / 0.0f;"]
)
def test_nothing_is_born_of_what_stays_finite_or_came_from_memory(statement):
    assert births(statement, values(1, 2, 3))[0] == ()
    assert births("v = v * 1.0f;", values(np.nan, np.inf))[0] == ()


@pytest.mark.parametrize(
    "statement", ["v = v - x[0];", "v = rintf(v) * 0.0f;", "v = v * v + 1.0f;", "v = (float)(int)v;"]
)
def test_what_is_exact_or_rounded_off_beside_something_larger_is_no_underflow(statement):
    assert births(statement, values(1e-25, 0, 1e-25))[0] == ()


def test_doubles_underflow_further_below():
    x = values(1e-200, dtype=np.float64)
    assert births("v = v * 1e-20;", x, "double")[0] == ()
    assert [b.what for b in births("v = v * v;", x, "double")[0]] == ["underflow"]


def test_who_does_not_ask_is_told_nothing():
    source = "__global__ void kernel(float* out) { out[0] = out[0] / out[0]; }"
    assert launch(source, {"out": values(0)}).result.births == ()
