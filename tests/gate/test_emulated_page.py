"""docs/emulated-device.md says what is so: gaps are gaps, detectors are all there, figures are those of the results."""

import json
from pathlib import Path

import pytest

from kernel_gate.emulated.coverage import cover
from kernel_gate.emulated.detectors import DETECTORS
from kernel_gate.emulated.gaps import GAPS
from kernel_gate.emulated.registry import builders
from kernel_gate.reasons import FAULT_REASONS
from kernel_gate.reporting.emulated_page import render

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
OF_A_GPU = {"illegal_address", "device_lost", "out_of_memory"}


@pytest.mark.parametrize("instruction", [example for gap in GAPS for example in gap.examples])
def test_what_is_said_not_to_be_executed_is_not(instruction):
    (covered,) = cover(PTX.format(instruction), "kernel")
    assert dict(covered.unsupported) == {instruction.split(" ")[0]: 1}


def test_every_fault_of_the_device_is_described():
    assert {detector.kind for detector in DETECTORS} == set(FAULT_REASONS) - OF_A_GPU


def test_every_opcode_is_on_the_page():
    page = render()
    assert [name for name in builders() if f"`{name}`" not in page and name != "klineage"] == []


def test_the_figures_are_those_of_the_results():
    page = render()
    opcodes = json.loads((RESULTS / "opcodes_h200.json").read_text())["rows"]
    same = sum(row["different"] == 0 for row in opcodes)
    assert f"| {len(opcodes)} | {same} |" in page
    for name, words in (("llmc", "kernels of llm.c"), ("triton", "compiled Triton kernels")):
        last = (RESULTS / f"{name}_agreement.md").read_text().splitlines()[-1]
        agree, _, count = last.split(" ")[:3]
        assert f"| {words} against float64 | {count} | {agree} have the same result |" in page
    tensors = json.loads((RESULTS / "tensor_cores_h200.json").read_text())["rows"]
    assert (
        f"| {len(tensors)} | {sum(row['of_bound'] <= 1 for row in tensors)} within the stated bounds |"
        in page
    )
    seeded = (RESULTS / "seeded_bugs.md").read_text()
    for row in ("a changed line is named", "the changed line"):
        share = next(line for line in seeded.splitlines() if f"{row} |" in line).split("(")[1].split(")")[0]
        assert share in page
