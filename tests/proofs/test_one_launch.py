"""Which workloads are about one launch of one kernel, and so can be proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.workload import Workload
from kernel_lineage.proofs.obligations.obligation import Kind, Status
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


@pytest.mark.parametrize(
    "launches",
    [
        (LAUNCH, LAUNCH),
        ({"memset": "out"}, LAUNCH),
        ({**LAUNCH, "arguments": [{"buffer": "in", "offset": 4}, "out", "n"]},),
    ],
    ids=["two launches", "a memset before it", "a part of a buffer"],
)
def test_what_is_more_than_one_plain_launch_is_not_proved(
    tmp_path: Path, launches: tuple[dict[str, object], ...]
) -> None:
    path = tmp_path / "k.cu"
    path.write_text(TEMPLATE.replace("GUARD", "if (i < n)"))
    with pytest.raises(ProgramError, match="about one launch of one kernel"):
        prove_file(path, "k", workload_of(*launches))
