"""Fields of structures that are passed by value lie where C++ puts them."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.devices.signature import with_structures
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.workload import WorkloadError, parse_workload


def _bytes(declared: list[int], *values: np.generic) -> list[bytes] | None:
    arguments = with_structures(declared, list(values))
    return None if arguments is None else [b"".join(word.tobytes() for word in words) for words in arguments]


def test_fields_are_aligned_and_the_end_is_padded() -> None:
    pointer, count, factor = np.uint64(0x1122334455667788), np.int32(7), np.float32(0.5)
    (packed,) = _bytes([24], count, pointer, factor) or ()
    assert packed == count.tobytes() + bytes(4) + pointer.tobytes() + factor.tobytes() + bytes(4)


def test_what_follows_a_padded_structure_is_not_taken_into_it() -> None:
    pointer, count, n = np.uint64(1), np.int32(7), np.int32(9)
    assert _bytes([16, 4], pointer, count, n) == [pointer.tobytes() + count.tobytes() + bytes(4), n.tobytes()]
    assert _bytes([16], pointer, count, n) == [pointer.tobytes() + count.tobytes() + n.tobytes()]


def test_values_that_do_not_fit_are_refused() -> None:
    pointer, count = np.uint64(1), np.int32(7)
    assert _bytes([12], pointer, count) is None
    assert _bytes([16, 4], pointer, count) is None
    assert _bytes([24, 24], pointer, count, pointer) is None


def test_fields_go_where_all_parameters_are_filled() -> None:
    small, wide = np.int32(7), np.int64(9)
    # The second small number would fit at the end of the first structure, too; the second one would lack it.
    assert _bytes([16, 16], wide, small, small, wide) == [
        wide.tobytes() + small.tobytes() + bytes(4),
        small.tobytes() + bytes(4) + wide.tobytes(),
    ]
    assert _bytes([16, 8], wide, small, np.int32(1), wide) is not None


KERNEL = """
struct Parts { float *out; const float *rows[3]; int n; unsigned char row_of[8]; };
__global__ void scaled(Parts parts, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < parts.n) parts.out[i] = parts.rows[parts.row_of[i % 8]][i] * by;
}
"""
WORKLOAD = """
kernel = "scaled"
language = "cuda"
[dims]
n = [40]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "first"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "last"
kind = "input"
dtype = "float32"
shape = ["n"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[[args]]
name = "by"
kind = "scalar"
dtype = "float32"
value = 3.0
[[launches]]
kernel = "scaled"
arguments = [GIVEN, "by"]
grid = ["ceil_div(n, 32)"]
block = [32]
"""
VALUES = """{ fields = ["out", "first", "last", "n", { value = "2", dtype = "uint8" }], \
at = [0, 8, 24, 32, 39], bytes = 48, align = 8 }"""


def test_a_structure_has_its_fields_where_the_workload_says() -> None:
    workload = parse_workload(WORKLOAD.replace("GIVEN", VALUES))
    program = Program("cuda", KERNEL, "scaled")
    device = EmulatedDevice()
    inputs = make_inputs(workload, Case({"n": 40}, 7))
    loaded = LoadedProgram(
        device, build_program(program, workload, [{"n": 40}], arch=EMULATED_ARCH), workload
    )
    with loaded.execution({"n": 40}) as execution:
        done = execution.run(inputs, 0)
    assert done.faults == ()
    rows = np.where(np.arange(40) % 8 == 3, inputs["last"], inputs["first"])
    assert np.array_equal(done.outputs["out"], rows * np.float32(3))


@pytest.mark.parametrize(
    ("gone", "there", "why"),
    [
        ("bytes = 48", "bytes = 36", "multiple of `align`"),
        ("8, 24, 32, 39]", "8, 24, 32]", "need as many places"),
        ("32, 39]", "32, 48]", "more than every place"),
        ('"n", {', '"m", {', "`m` of scaled is not among the args"),
    ],
)
def test_a_structure_that_is_none_is_refused(gone: str, there: str, why: str) -> None:
    with pytest.raises(WorkloadError, match=why):
        parse_workload(WORKLOAD.replace("GIVEN", VALUES.replace(gone, there)))


def test_fields_that_overlap_are_refused() -> None:
    workload = parse_workload(WORKLOAD.replace("GIVEN", VALUES.replace("8, 24,", "4, 24,")))
    with pytest.raises(LaunchError, match="first does not fit into its structure of 48 bytes"):
        bind(workload, Program("cuda", KERNEL, "scaled"), {"n": 40})
