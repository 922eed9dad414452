"""docs/emulated-device-reference.md says what is so: gaps are gaps, detectors are there, figures are the results'."""

import json
import re
from pathlib import Path

import pytest

from kernel_gate.emulated.coverage import cover
from kernel_gate.emulated.launch import Limits
from kernel_gate.emulated.registry import builders
from kernel_gate.reasons import FAULT_REASONS

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
PTX = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel() {{
    .reg .f32 f<9>; .reg .b32 r<9>; .reg .b64 rd<9>; .reg .b16 h<9>; .reg .b8 b<9>; .reg .pred p<9>;
    {};
    ret;
}}
"""
PAGE = (Path(__file__).parents[2] / "docs" / "emulated-device-reference.md").read_text("utf-8")
GAPS = (
    "tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [rd1, {f1, f2}]",
    "tld4.r.2d.v4.f32.f32 {f1, f2, f3, f4}, [rd1, {f1, f2}]",
    "txq.width.b32 r1, [rd1]",
    "istypep.texref p1, rd1",
    "suld.b.1d.b32.trap r1, [rd1, {r2}]",
    "sust.b.1d.b32.trap [rd1, {r2}], r1",
    "sured.b.add.1d.u32.trap [rd1, {r2}], r1",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [r1], r2, [r3]",
    "red.async.relaxed.cluster.global.mbarrier::complete_tx::bytes.shared::cluster.inc.u32 [r1], r2, [r3]",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r1], [rd1], r2, [r3], h1",
    "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r1], [rd1, {r2}], [r3], h1",  # noqa: E501
    "cp.async.bulk.tensor.3d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [rd1, {r2, r2, r2}], [r3], {h1}",  # noqa: E501
    "multimem.ld_reduce.global.add.f32 f1, [rd1]",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1, f2, f3, f4}, {r1, r2}, {r3, r4}, {f1, f2, f3, f4}, r1, 0",  # noqa: E501
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {f1, f2, f3, f4}, rd1, rd2, r1, 0, 1, 1, 1, 0, 0",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [r1], [r2]",
    "ld.global.b128 {rd1, rd2}, [rd1]",
    "add.f32.f16 f1, h1, f2",
    "fma.rn.f32.f16 f1, h1, h2, f2",
    "cvt.rn.satfinite.e2m1x2.f32 b1, f1, f2",
    "cvt.rn.satfinite.e2m3x2.f32 h1, f1, f2",
    "cvt.rz.satfinite.ue8m0x2.f32 h1, f1, f2",
    "vmad.s32.s32.u32 r1, r2, r3, r4",
)
"""Instructions of the page's table of what is not executed."""
OF_A_GPU = {"illegal_address", "device_lost", "out_of_memory", "cooperative"}


@pytest.mark.parametrize("instruction", GAPS)
def test_what_is_said_not_to_be_executed_is_not(instruction):
    (covered,) = cover(PTX.format(instruction), "kernel")
    assert dict(covered.unsupported) == {instruction.split(" ")[0]: 1}


def test_every_fault_of_the_device_is_described():
    rows = dict(re.findall(r"^\| `(\w+)` \| \[([\w-]+)\]\(reason-codes\.md#\2\) \|", PAGE, re.MULTILINE))
    assert rows == {kind: str(reason) for kind, reason in FAULT_REASONS.items() if kind not in OF_A_GPU}


def test_every_opcode_is_on_the_page():
    assert [name for name in builders() if f"`{name}`" not in PAGE and name != "klineage"] == []


def test_the_limits_are_those_of_a_launch():
    limits = Limits()
    assert f"A launch may take {limits.seconds:.0f} s by default" in PAGE
    assert f"{limits.steps:,} basic blocks in one wave and {limits.wave_threads:,} threads" in PAGE


def test_the_figures_are_those_of_the_results():
    opcodes = json.loads((RESULTS / "opcodes_h200.json").read_text())["rows"]
    same = sum(row["different"] == 0 for row in opcodes)
    assert f"| {len(opcodes)} | {same} |" in PAGE
    for name, words in (("llmc", "kernels of llm.c"), ("triton", "compiled Triton kernels")):
        last = (RESULTS / f"{name}_agreement.md").read_text().splitlines()[-1]
        agree, _, count = last.split(" ")[:3]
        assert f"| {words} against float64 | {count} | {agree} have the same result |" in PAGE
    tensors = json.loads((RESULTS / "tensor_cores_h200.json").read_text())["rows"]
    assert (
        f"| {len(tensors)} | {sum(row['of_bound'] <= 1 for row in tensors)} within the stated bounds |"
        in PAGE
    )
    seeded = (RESULTS / "seeded_bugs.md").read_text()
    for row in ("a changed line is named", "the changed line"):
        share = next(line for line in seeded.splitlines() if f"{row} |" in line).split("(")[1].split(")")[0]
        assert share in PAGE
