"""The floats that stand in a kernel's code, however its compiler writes them."""

import pytest

from kernel_gate.emulated.guards import constants
from kernel_gate.emulated.program import decode
from kernel_gate.emulated.ptx.parser import parse

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 out)
{{
    .reg .b32 %r<5>; .reg .b16 %h<4>; .reg .b64 %d<4>; .reg .pred %p<2>;
    ld.param.u64 %d1, [out];
    {move};
    mov.b32 %r1, 7;
    st.global.b32 [%d1], %r1;
    ret;
}}
"""


@pytest.mark.parametrize(
    ("move", "value"),
    [
        ("mov.b32 %r2, 1232348160", 1e6),
        ("mov.b32 %r2, -915135488", -1e6),
        ("mov.f32 %r2, 0f49742400", 1e6),
        ("mov.b16 %h2, 28898", 10000.0),
        ("mov.b16 %h2, -3870", -10000.0),
    ],
)
def test_a_float_is_seen_in_the_bits_that_are_moved(move: str, value: float):
    assert constants(decode(parse(PTX.format(move=move)), "kernel")).others == {value}


@pytest.mark.parametrize(
    "move",
    [
        "mov.b32 %r2, 0",
        "mov.b32 %r2, -1",
        "mov.b32 %r2, 2146435072",
        "mov.b32 %r2, -1640531527",
        "mov.b16 %h2, 64",
    ],
)
def test_integers_infinities_and_bits_with_many_digits_are_none(move: str):
    assert constants(decode(parse(PTX.format(move=move)), "kernel")).others == set()


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("mov.b32 %r2, 1150964219; add.f32 %r3, %r2, %r2", 1234.5619),
        ("mov.b64 %d2, 4653144502051863213; add.f64 %d3, %d2, %d2", 1234.5678),
        ("mov.b16 %h2, 25810; add.f16 %h3, %h2, %h2", 1234.0),
        ("mov.b16 %h2, 17562; add.bf16 %h3, %h2, %h2", 1232.0),
        ("mov.b32 %r2, 1691509970; add.f16x2 %r3, %r2, %r2", 1234.0),
        ("mov.b32 %r2, 1150967218; mov.u32 %r3, %r2; max.f32 %r4, %r3, %r3", 1234.928),
        ("mov.b32 %r2, 1150967218; mov.b32 %r3, %r2", None),
        ("add.s32 %r3, %r2, -1150967218", 1234.928),
        ("add.s32 %r3, %r2, 100000", None),
    ],
)
def test_what_float_instructions_read_is_a_float_of_their_type_with_all_its_digits(
    code: str, value: float | None
):
    others = constants(decode(parse(PTX.format(move=code)), "kernel")).others
    assert sorted(others) == pytest.approx([] if value is None else [value], rel=1e-7)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("setp.gt.s32 %p1, %r2, 1150967218", 1234.928),
        ("setp.gt.u64 %p1, %d2, 4653144502051863213", 1234.5678),
        ("max.s32 %r3, %r2, -1060529766", -6.3),
        ("setp.gt.s32 %p1, %r2, 1000000", None),
        ("setp.gt.s32 %p1, %r2, 2139095040", None),
    ],
)
def test_bits_of_a_float_that_are_compared_as_an_integer_are_compared_with(code: str, value: float | None):
    compared = constants(decode(parse(PTX.format(move=code)), "kernel")).compared
    assert sorted(compared) == pytest.approx([] if value is None else [value], rel=1e-6)


@pytest.mark.parametrize(("number", "whole"), [(0x7F800000, set()), (-8388608, set()), (4096, {4096})])
def test_the_bits_of_an_infinity_are_no_whole_number_near_which_data_lie(
    number: int, whole: set[int]
) -> None:
    code = f"setp.gt.s32 %p1, %r1, {number};"
    assert constants(decode(parse(PTX.format(move=code)), "kernel")).whole == whole
