"""What is proved of a kernel that a workload launches: once, or in a sequence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.workload import Workload
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status
from kernel_lineage.rewrite.proving.prove import prove_file
from kernel_lineage.workloads.programs import ProgramError

TEMPLATE = """\
template <typename T, int SIZE>
__global__ void k(const T* in, T* out, int n) {
    int i = blockIdx.x * SIZE + threadIdx.x;
    GUARD out[i] = in[i];
}

void launch(float* out, const float* in, int n) {
    k<float, 128><<<(n + 127) / 128, 128>>>(in, out, n);
}
"""
LAUNCH = {
    "kernel": "k",
    "arguments": ["in", "out", "n"],
    "template_arguments": ["float", "128"],
    "grid": ["ceil_div(n, 128)"],
    "block": [128],
}


def workload_of(*launches: dict[str, object]) -> Workload:
    buffers = [
        {"name": name, "kind": kind, "dtype": "float32", "shape": ["n"]}
        for name, kind in (("out", "output"), ("in", "input"))
    ]
    return Workload.model_validate(
        {
            "kernel": "k",
            "language": "cuda",
            "dims": {"n": [128]},
            "args": [*buffers, {"name": "n", "kind": "scalar", "dtype": "int32", "value": "n"}],
            "launches": list(launches),
        }
    )


@pytest.mark.parametrize(("guard", "status"), [("if (i < n)", Status.PROVED), ("", Status.REFUTED)])
def test_a_template_that_is_launched_once_is_proved_as_any_kernel(
    tmp_path: Path, guard: str, status: Status
) -> None:
    path = tmp_path / "k.cu"
    path.write_text(TEMPLATE.replace("GUARD", guard))
    obligations = prove_file(path, "k", workload_of(LAUNCH))
    bounds = {o.root: o.status for o in obligations if o.kind is Kind.IN_BOUNDS}
    assert bounds == {"in": status, "out": status}


SEQUENCE = """\
__global__ void halve(float* half, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) half[i] = 0.5f * in[i];
}

__global__ void add(float* out, const float* left, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    GUARD out[i] += left[i];
}
"""
GRID = {"grid": ["ceil_div(n, 128)"], "block": [128]}
HALVE = {"kernel": "halve", "arguments": ["part", "in", "n"], **GRID}
ADD = {"kernel": "add", "arguments": ["out", "part", "at", "n"], **GRID}


def sequence_of(*launches: dict[str, object], kernel: str = "add") -> Workload:
    buffers = [
        {"name": "out", "kind": "output", "dtype": "float32", "shape": ["n"]},
        {"name": "in", "kind": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "at", "kind": "input", "dtype": "int32", "shape": ["n"], "values": "integers(0, n)"},
        {"name": "part", "kind": "scratch", "dtype": "float32", "shape": ["n"]},
    ]
    numbers = [{"name": "n", "kind": "scalar", "dtype": "int32", "value": "n"}]
    return Workload.model_validate(
        {
            "kernel": kernel,
            "language": "cuda",
            "dims": {"n": [256, 384]},
            "args": [*buffers, *numbers],
            "launches": [{"memset": "out"}, *launches],
        }
    )


def in_sequence(tmp_path: Path, guard: str, workload: Workload, kernel: str) -> tuple[Obligation, ...]:
    path = tmp_path / "k.cu"
    path.write_text(SEQUENCE.replace("GUARD", guard))
    return prove_file(path, kernel, workload)


@pytest.mark.parametrize(
    ("guard", "status"), [("if (i < n)", Status.PROVED), ("if (i <= n)", Status.REFUTED)]
)
def test_a_kernel_is_proved_where_a_sequence_launches_it(tmp_path: Path, guard: str, status: Status) -> None:
    obligations = in_sequence(tmp_path, guard, sequence_of(HALVE, ADD), "add")
    bounds = {o.root: o for o in obligations if o.kind is Kind.IN_BOUNDS}
    assert {root: o.status for root, o in bounds.items()} == {"out": status, "left": status}
    if status is Status.REFUTED:
        assert bounds["left"].confirmed == "interpreter", "by running the sequence"
        assert {o.line for o in bounds.values()} == {8}
    assert Kind.WRITTEN not in {o.kind for o in obligations}, "the memset may have written the rest"
    assert Kind.WRITTEN_ONCE in {o.kind for o in obligations}


def test_of_several_launches_of_a_kernel_the_worst_counts(tmp_path: Path) -> None:
    short = {**ADD, "arguments": ["out", "part", "at", {"value": "n + 1", "dtype": "int32"}]}
    bounds = {
        o.root: o.status
        for o in in_sequence(tmp_path, "if (i < n)", sequence_of(HALVE, ADD, short, ADD), "add")
        if o.kind is Kind.IN_BOUNDS
    }
    assert bounds == {"out": Status.REFUTED, "left": Status.REFUTED}


def test_of_a_sequence_by_its_name_all_kernels_are_proved(tmp_path: Path) -> None:
    obligations = in_sequence(tmp_path, "if (i < n)", sequence_of(HALVE, ADD, kernel="run"), "run")
    assert {o.line for o in obligations if o.kind is Kind.IN_BOUNDS} == {3, 8}


def test_an_index_that_an_earlier_launch_leaves_is_run_as_the_sequence_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        """\
__global__ void number(int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) at[i] = n - 1 - i;
}
__global__ void take(float* out, const float* in, const int* at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[at[i]];
}
"""
    )
    workload = sequence_of(
        {"kernel": "number", "arguments": ["part", "n"], **GRID},
        {"kernel": "take", "arguments": ["out", "in", "part", "n"], **GRID},
        kernel="take",
    )
    args = tuple(a.model_copy(update={"dtype": "int32"}) if a.name == "part" else a for a in workload.args)
    obligations = prove_file(path, "take", workload.model_copy(update={"args": args}))
    bounds = {o.expression: o.status for o in obligations if o.kind is Kind.IN_BOUNDS and o.root == "in"}
    assert Status.REFUTED not in bounds.values(), "no run shows it"


@pytest.mark.parametrize(
    ("launches", "kernel", "why"),
    [
        (
            ({**ADD, "arguments": ["out", {"buffer": "part", "offset": 4}, "at", "n"]},),
            "add",
            "nothing is proved of `add`, argument 2 of whose launch points into the middle of a buffer",
        ),
        ((HALVE,), "add", "the workload launches halve, and no `add`"),
    ],
    ids=["a part of a buffer", "another kernel"],
)
def test_what_cannot_be_asked_about_is_said(
    tmp_path: Path, launches: tuple[dict[str, object], ...], kernel: str, why: str
) -> None:
    with pytest.raises(ProgramError, match=why):
        in_sequence(tmp_path, "if (i < n)", sequence_of(*launches, kernel="halve"), kernel)
