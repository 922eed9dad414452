"""Structures that are given by value, where a change gives their fields other types."""

from pathlib import Path

import pytest

from kernel_gate.program import LaunchStep, Structure
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.program_errors import ProgramError
from kernel_lineage.workloads.programs import program_from_file

CODE = """#include <cuda_runtime.h>
struct Grid { long long rows, cols; float by; };
__global__ void scaled(float* out, const float* x, Grid g) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < g.rows * g.cols) out[i] = g.by * x[i];
}
void run(float* out, const float* x, int rows, int cols) {
    Grid g{rows, cols, 2.0f};
    scaled<<<(rows * cols + 127) / 128, 128>>>(out, x, g);
}
int main() {
    float *a, *b; int rows = 300, cols = 70;
    cudaMalloc(&a, rows * cols * sizeof(float)); cudaMalloc(&b, rows * cols * sizeof(float));
    run(a, b, rows, cols);
}
"""


def _structure(tmp_path: Path, fields: str) -> Structure:
    """What the launch after a change gives for the structure; before it, each field is an argument."""
    path = tmp_path / "scaled.cu"
    path.write_text(CODE)
    workload = draft_of(kernel_of(path, "scaled"), path).workload()
    text = CODE.replace("long long rows, cols; float by;", fields)
    program = program_from_file(path, "scaled", workload, data=text.encode(), changed_from=CODE.encode())
    (step,) = [s for s in program.steps or workload.steps if isinstance(s, LaunchStep)]
    (structure,) = [o for o in step.arguments if isinstance(o, Structure)]
    return structure


@pytest.mark.parametrize(
    ("fields", "offsets", "nbytes"),
    [
        ("int rows, cols; float by;", [0, 4, 8], 12),
        ("float by; long long cols, rows;", [0, 8, 16], 24),
        ("int rows; long long cols; float by;", [0, 8, 16], 24),
    ],
    ids=["narrower", "in another order", "mixed"],
)
def test_fields_lie_where_the_changed_structure_has_them(
    tmp_path: Path, fields: str, offsets: list[int], nbytes: int
) -> None:
    structure = _structure(tmp_path, fields)
    assert [at for at, _ in structure.fields] == offsets
    assert structure.nbytes == nbytes


def test_a_field_that_is_new_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="other fields than before"):
        _structure(tmp_path, "long long rows, cols, more; float by;")


@pytest.mark.parametrize(
    ("kind", "why"), [("half2", "its field `by` is no number"), ("float3", "other fields than before")]
)
def test_a_field_that_becomes_a_vector_is_told(tmp_path: Path, kind: str, why: str) -> None:
    with pytest.raises(ProgramError, match=why):
        _structure(tmp_path, f"long long rows, cols; {kind} by;")
