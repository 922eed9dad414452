"""Some of the seeded bugs of `benchmarks/seeded_bugs.py`: right kernels pass, wrong ones are found with a line."""

import pytest

from benchmarks.seeded_bugs import Seeded, kernel_of, request_of, result_of
from benchmarks.seeded_cases import KERNELS, SeededKernel
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.mutants.registry import mutants_of

BY_NAME = {seeded.name: seeded for seeded in KERNELS}
OPTIONS = GateOptions(hidden=False)


def judged(seeded: SeededKernel, mutant: Mutant | None) -> Seeded:
    request = request_of(seeded, mutant.source if mutant else None)
    workload = request.workload.model_copy(update={"folder": request.folder})
    programs = request.baseline, request.candidate
    return result_of(seeded, mutant, judge(*programs, workload, device="emulated", options=OPTIONS))


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["matmul.cu:matmul_double_buffered", "neighbours.cu:histogram", "blocks.py:softmax"]
)
def test_a_right_kernel_raises_no_alarm(name: str):
    row = judged(BY_NAME[name], None)
    assert row.fate == "survived", row.reason


@pytest.mark.parametrize(
    ("name", "kind", "by", "distance"),
    [
        ("matmul.cu:matmul_double_buffered", "buffer_reused_early", "race", "near"),
        ("matmul.cu:matmul_double_buffered", "dropped_barrier", "race", "near"),
        ("transpose.cu:transpose_padded", "dropped_guard", "bounds", "same"),
        ("transpose.cu:transpose_padded", "swapped_index", "value", "same"),
        ("transpose.cu:transpose_swizzled", "wrong_swizzle", "value", "same"),
        ("reductions.cu:tree_sum", "off_by_one_bound", "bounds", "same"),
        ("reductions.cu:tree_sum", "missing_tail", "value", "same"),
        ("reductions.cu:tree_sum", "uninitialised_accumulator", "value", "same"),
        ("reductions.cu:tree_sum", "wrong_stride", "bounds", "same"),
        ("blocks.py:softmax", "zero_output", "value", "same"),
    ],
)
def test_a_seeded_bug_is_found_and_a_line_is_named(name: str, kind: str, by: str, distance: str):
    seeded = BY_NAME[name]
    mutant = next(m for m in mutants_of(kernel_of(seeded)) if m.kind == kind)
    row = judged(seeded, mutant)
    assert (row.fate, row.by, row.distance) == ("found", by, distance), row.reason
    assert row.named
