"""Where threads that parted meet again, however compilers lay the code out."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.program import decode
from kernel_gate.emulated.ptx.parser import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [k_param_0];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  mov.u32 %r5, %r1;
"""
SUM = """  shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;
  add.s32 %r5, %r5, %r6;
  st.global.u32 [%rd1], %r5;
"""
BEHIND = f"""{HEAD}  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra RARE;
MEET:
{SUM}  ret;
RARE:
  add.s32 %r5, %r5, 100;
  bra.uni MEET;
}}
"""
"""Even threads take code that stands behind the end."""
LOOPS = f"""{HEAD}  and.b32 %r3, %r1, 3;
LOOP:
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra MEET;
  and.b32 %r2, %r3, 1;
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra RARE;
NEXT:
  sub.s32 %r3, %r3, 1;
  bra.uni LOOP;
MEET:
{SUM}  ret;
RARE:
  add.s32 %r5, %r5, 100;
  bra.uni NEXT;
}}
"""
"""Threads leave a loop after different rounds, of which the even ones take code behind the end."""


@pytest.mark.parametrize(
    ("text", "own"),
    [(BEHIND, lambda i: i + 100 * (i % 2 == 0)), (LOOPS, lambda i: i + 100 * (i % 4 >= 2))],
    ids=["a branch", "a loop"],
)
def test_threads_meet_where_code_behind_the_end_leads_them(text, own) -> None:
    device = EmulatedDevice("sm_80")
    buffer = device.allocate(32 * 4, "y", 4)
    kernel = device.load(Image("k", text))
    result = kernel.launch((1, 1, 1), (32, 1, 1), 0, [buffer])
    assert not result.faults, result.faults
    expected = [own(i) + own(i ^ 1) for i in range(32)]
    assert buffer.read().view(np.int32).tolist() == expected


def test_a_layout_that_leads_forward_keeps_its_order() -> None:
    forward = BEHIND.replace("RARE:\n  add.s32 %r5, %r5, 100;\n  bra.uni MEET;\n", "").replace(
        "MEET:\n", "RARE:\n  add.s32 %r5, %r5, 100;\n"
    )
    assert decode(parse(forward), "k").order is None
    assert decode(parse(BEHIND), "k").order is not None
