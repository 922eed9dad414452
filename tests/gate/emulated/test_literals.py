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
    .reg .b32 %r<4>; .reg .b16 %h<4>; .reg .b64 %d<2>;
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
