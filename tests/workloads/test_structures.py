"""Host functions that take a structure of buffers: what of it is an argument, and changes that need less of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, MemsetStep, Program, Scratch
from kernel_gate.reasons import Reason
from kernel_gate.workload import Workload, parse_workload
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import State, draft_for
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from merged_kernels import FUSED, LEAST, MAIN, WORKLOAD


def program(folder: Path, text: str, workload: Workload | None = None, name: str = "lowered") -> Program:
    return program_from_file(
        folder / "lowered.cu", name, workload or parse_workload(WORKLOAD), data=text.encode(), root=folder
    )


def code_of(folder: Path, after: str) -> Reason:
    before = program(folder, LEAST + MAIN)
    options = GateOptions(check_seconds=5)
    return judge(
        before, program(folder, after), parse_workload(WORKLOAD), device="emulated", options=options
    ).code


def test_a_buffer_that_callers_allocate_is_the_program_s_own(tmp_path: Path):
    before = program(tmp_path, LEAST + MAIN)
    assert before.scratch == (Scratch("least_0", "float32", ("rows",)),)
    assert program(tmp_path, FUSED + MAIN).scratch == ()


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "", Reason.NOT_PROFILED),
        ("    least[threadIdx.x] = own;\n    __syncthreads();", "    least[threadIdx.x] = own;", Reason.RACE),
        ("float own = INFINITY", "float own = 0.0f", Reason.WRONG_VALUE),
    ],
    ids=["right", "barrier", "neutral"],
)
def test_kernels_that_a_function_merges(tmp_path: Path, old: str, new: str, code: Reason):
    assert code_of(tmp_path, FUSED.replace(old, new) + MAIN) is code


LAST = """
struct Room { float* least; unsigned* ticket; };
__global__ void last_takes(const float* x, float* out, float* least, unsigned* ticket, int rows, int cols) {
    __shared__ bool last;
    float own = INFINITY;
    for (int c = threadIdx.x; c < cols; c += 32) own = fminf(own, fabsf(x[blockIdx.x * cols + c]));
    for (int o = 16; o > 0; o /= 2) own = fminf(own, __shfl_xor_sync(0xffffffff, own, o));
    if (threadIdx.x == 0) {
        least[blockIdx.x] = own;
        __threadfence();
        last = DRAWN == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    for (int i = threadIdx.x; i < rows * cols; i += 32) out[i] = x[i] - __ldcg(&least[i / cols]);
}
void lowered(const float* x, float* out, int rows, int cols, Room* room) {
    last_takes<<<rows, 32>>>(x, out, room->least, room->ticket, rows, cols);
}
"""
LAST_MAIN = MAIN.replace(
    "    lowered(", "    cudaMalloc(&room.ticket, 4);\n    cudaMemset(room.ticket, 0, 4);\n    lowered("
).replace("cols, room)", "cols, &room)")


@pytest.mark.long
@pytest.mark.parametrize(
    ("drawn", "code"),
    [
        ("atomicInc(ticket, gridDim.x - 1)", Reason.NOT_PROFILED),
        ("atomicAdd(ticket, 1u)", Reason.NOT_WRITTEN),
    ],
)
def test_what_callers_clear_once_is_judged_by_two_calls(tmp_path: Path, drawn: str, code: Reason):
    text = LAST.replace("DRAWN", drawn) + LAST_MAIN
    after = program(tmp_path, text)
    assert [type(step) is MemsetStep for step in after.steps] == [True, True, False, False]
    first, second = (step.arguments for step in after.steps if isinstance(step, LaunchStep))
    assert second[:2] == ("x", "out") and {"x", "out"}.isdisjoint(first)
    assert after.name == "lowered.cu, called twice"
    workload = parse_workload(WORKLOAD.replace('"out"\n', '"out"\nnoalias = true\n'))
    before = program(tmp_path, LEAST + MAIN)
    verdict = judge(before, after, workload, device="emulated", options=GateOptions(check_seconds=5))
    assert verdict.code is code, verdict.reason


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("ticket, 0, 4", "ticket, 1, 4", "which others use"),
        ("room.ticket, 0, 4", "room.ticket + 1, 0, 4", "which others use"),
        ("ticket, 0, 4", "ticket, 0, asked()", "nothing tells how many are cleared"),
    ],
)
def test_other_contents_than_zeros_from_the_start_are_not_taken_for_them(
    tmp_path: Path, old: str, new: str, why: str
):
    with pytest.raises(ProgramError) as error:
        program(tmp_path, LAST.replace("DRAWN", "atomicAdd(ticket, 1u)") + LAST_MAIN.replace(old, new))
    assert why in str(error.value)


def test_an_earlier_call_updates_another_buffer(tmp_path: Path):
    workload = parse_workload(WORKLOAD.replace('kind = "output"', 'kind = "inout"'))
    after = program(tmp_path, LAST.replace("DRAWN", "atomicAdd(ticket, 1u)") + LAST_MAIN, workload)
    assert [step.arguments[1] == "out" for step in after.steps if isinstance(step, LaunchStep)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "cudaMalloc(&room.least",
            "allocate(&room.least",
            "which others use or allocate",
        ),
        (
            "    lowered(",
            "    cudaMemcpy(room.least, x, rows, cudaMemcpyDeviceToDevice);\n    lowered(",
            "which others use",
        ),
        (
            "rows * sizeof(float));\n    lowered",
            "asked() * sizeof(float));\n    lowered",
            "which others use or allocate",
        ),
        (
            "rows * sizeof(float));\n    lowered",
            "more * sizeof(float));\n    lowered",
            "are not told over the workload",
        ),
    ],
)
def test_a_buffer_of_which_nothing_is_told_is_not_guessed(tmp_path: Path, old: str, new: str, why: str):
    with pytest.raises(ProgramError) as error:
        program(tmp_path, LEAST + MAIN.replace(old, new).replace("cols = 300;", "cols = 300, more = 64;"))
    assert why in str(error.value)


def test_a_draft_leaves_workspaces_out_and_keeps_what_others_read(tmp_path: Path):
    read_back = (
        "    float first;\n    cudaMemcpy(&first, room.least, 4, cudaMemcpyDeviceToHost);\n    cudaFree("
    )
    for text, names in (
        (MAIN, ["x", "out", "rows", "cols"]),
        (MAIN.replace("    cudaFree(", read_back), ["x", "out", "rows", "cols", "room_least"]),
    ):
        (tmp_path / "lowered.cu").write_text(LEAST + text)
        draft = draft_for(State(tmp_path), "lowered.cu", "lowered")
        assert isinstance(draft, Draft), draft.reason
        workload = draft.workload()
        assert [a.name for a in workload.args] == names
    least = workload.argument("room_least")
    assert least is not None and (least.kind, least.shape) == ("output", ("rows",))
    other = FUSED.replace("float* least = nullptr; ", "") + MAIN.replace("&room.least", "&room.unused")
    with pytest.raises(ProgramError, match="nothing gives `room_least`"):
        program(tmp_path, other.replace("room.least", "room.unused"), workload)
