"""Triton programs are built a process for some images each, as far as the device that runs them needs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.build.triton_build import _failure, compile_triton
from kernel_gate.build.unit import Unit
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

pytest.importorskip("triton")

FILL = """
import triton
import triton.language as tl

@triton.jit
def fill(out, BLOCK: tl.constexpr):
    window = tl.make_block_ptr(out, (BLOCK,), (1,), (0,), (BLOCK,), (0,))
    tl.store(window, tl.full((BLOCK,), BLOCK, tl.float32))
"""
PLAIN = FILL.replace(
    FILL[FILL.index("    window") :],
    "    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), BLOCK, tl.float32))\n",
)


def _unit(block: int) -> Unit:
    return Unit(constexpr=(("BLOCK", block),), arguments=(("out", "*fp32"),))


def test_every_image_is_the_one_that_was_asked_for_and_stops_at_ptx():
    units = [_unit(block) for block in (32, 64, 128)]
    images = compile_program(Program("triton", PLAIN, "fill"), "sm_90", units)
    assert list(images) == units
    for unit, stored in zip(
        units, (0x42000000, 0x42800000, 0x43000000), strict=True
    ):  # 32, 64 and 128 as float32
        assert f"0f{stored:08X}" in images[unit].ptx or str(stored) in images[unit].ptx
        assert images[unit].cubin is None


def test_a_gpu_gets_what_the_assembler_makes():
    image = compile_program(Program("triton", PLAIN, "fill"), "sm_90", [_unit(32)], want_cubin=True)[
        _unit(32)
    ]
    assert image.cubin is not None and image.cubin[:4] == b"\x7fELF"


def test_block_pointers_build_or_the_message_says_with_which_triton():
    program = Program("triton", FILL, "fill", name="fill.py")
    try:
        assert ".entry fill" in compile_program(program, "sm_90", [_unit(32)])[_unit(32)].ptx
    except BuildError as error:
        assert "pip install 'triton<3.9'" in str(error)
    message = str(_failure(program, 7, "Block pointers have been removed in favor of descriptors"))
    assert message.startswith("fill.py:7: Block pointers") and message.endswith("pip install 'triton<3.9'")


def test_a_program_that_needs_scratch_of_a_profiler_is_not_supported(monkeypatch, tmp_path):
    import triton

    compiled = SimpleNamespace(metadata=SimpleNamespace(profile_scratch_size=64))
    monkeypatch.setattr(triton, "compile", lambda *_arguments, **_named: compiled)
    with pytest.raises(BuildError, match="profile scratch memory") as raised:
        compile_triton(Program("triton", PLAIN, "fill"), [_unit(32)], "sm_90", tmp_path, want_cubin=False)
    assert raised.value.code is Reason.UNSUPPORTED_PROGRAM
