"""Triton programs are built a process for some images each, as far as the device that runs them needs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from gate.described import DESCRIBED, DESCRIBED_WORKLOAD
from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError
from kernel_gate.build.triton_build import _failure, compile_triton, load
from kernel_gate.build.unit import Unit, extent_name
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.workload import WorkloadError, parse_workload

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


def test_loading_leaves_no_import_to_each_compilation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "triton.compiler.code_generator", None)
    with pytest.raises(ImportError):
        load()


def test_the_key_of_a_cache_that_nobody_shares_needs_no_digest_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
):
    import triton
    from triton.runtime import cache

    monkeypatch.setattr(cache, "triton_key", cache.triton_key)
    load()
    assert cache.triton_key() == triton.__version__


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


def test_descriptors_of_the_host_are_made_on_the_device():
    program = Program("triton", DESCRIBED, "add_one", name="add_one.py")
    workload = parse_workload(DESCRIBED_WORKLOAD)
    options = GateOptions(seed=7, callers_seconds=0)
    verdict = judge(program, program, workload, device="emulated", options=options)
    check = verdict.stage("check")
    assert check is not None and check.status == "pass", verdict.reason
    text = DESCRIBED.replace("[tl.program_id(0), row, 0]) + ONE", "[tl.program_id(0), 0, 0]) + ONE")
    wrong = Program("triton", text, "add_one", name="wrong.py")
    verdict = judge(program, wrong, workload, device="emulated", options=options)
    assert verdict.code is Reason.WRONG_VALUE
    assert "written on line 8" in verdict.reason


def test_what_does_not_build_with_descriptors_is_named_by_its_own_line():
    text = DESCRIBED.replace("row, 0]) + ONE", "row]) + ONE")
    program = Program("triton", text, "add_one", name="add_one.py")
    unit = Unit(
        constexpr=(("ROWS", 8),),
        arguments=(("out", "*fp32"), *_extents("out"), ("x", "*fp32"), *_extents("x"), ("N", "i32")),
        descriptors=(("out", (1, 8, 16)), ("x", (1, 8, 16))),
    )
    with pytest.raises(BuildError, match=r"add_one\.py:8: expected 3 offsets, but got 2"):
        compile_program(program, "sm_90", [unit])


def _extents(name: str) -> list[tuple[str, str]]:
    return [(extent_name(name, axis), "i32") for axis in range(3)]


def test_a_block_has_as_many_axes_as_its_buffer():
    with pytest.raises(WorkloadError, match="as many axes as the shape"):
        parse_workload(DESCRIBED_WORKLOAD.replace('[1, "ROWS", 16]', '["ROWS", 16]'))
