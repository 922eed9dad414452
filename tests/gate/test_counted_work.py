"""Work counted on small shapes: what is read, written and computed, and when that says anything of large shapes."""

import pytest

from gate.corpus import entries
from gate.programs import affine, workload
from gate.timed_device import TimedEmulated, timed_verdict
from kernel_gate.building import build_program
from kernel_gate.cases import plan
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.emulated.float_operations import per_thread, per_warp
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.counted_work import counted_work, fit, value_of
from kernel_gate.verdict import Outcome

SUMS = """__global__ void affine(float *y, const float *x, int n) {
    __shared__ float kept[64];
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) {
        kept[threadIdx.x] = x[i] + x[i];
        y[i] = kept[threadIdx.x] * x[i];
    }
}
"""
HALF = "__global__ void affine(float *y, const float *x, int n) { ACT }".replace(
    "ACT", "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i / 2];"
)


def counted(program: Program, asked=None):
    asked = asked or workload()
    cases = plan(asked, 1)
    built = build_program(program, asked, [case.dims for case in cases], arch=EMULATED_ARCH)
    return counted_work(built, asked, cases)


@pytest.mark.parametrize(
    ("program", "flops"), [(affine(), {"C*N": 2}), (Program("cuda", SUMS, "affine"), {"C*N": 2})]
)
def test_every_byte_counts_once_and_a_fused_multiply_add_is_two(program, flops):
    work = counted(program)
    assert work["terms"] == {"read_bytes": {"C*N": 4}, "written_bytes": {"C*N": 4}, "flops": flops}
    assert work["at"]["flops"] == value_of(flops, work["at"]["dims"])
    assert work["shapes"] > 4


def test_what_is_no_sum_of_products_of_dims_is_not_carried_over():
    work = counted(Program("cuda", HALF, "affine"))
    assert "read_bytes" not in work["terms"]
    assert work["terms"]["written_bytes"] == {"C*N": 4}
    assert work["terms"]["flops"] == {}


def test_too_few_shapes_say_nothing_of_others():
    one = workload(**{"N = [1, 3]\nC = [32, 70]": "N = [3]\nC = [70]"})
    program = affine()
    built = build_program(program, one, [{"N": 3, "C": 70}], arch=EMULATED_ARCH)
    work = counted_work(built, one, plan(one, 1, hidden=False))
    assert (work["terms"], work["at"]["read_bytes"]) == ({}, 840)


def test_a_sum_is_believed_only_when_every_count_agrees():
    points = [({"N": n, "C": c}, 8 * n * c + 4 * n + 16) for n in (1, 2, 3) for c in (5, 7)]
    assert fit(points) == {"C*N": 8, "N": 4, "1": 16}
    assert fit([*points[:-1], (points[-1][0], points[-1][1] + 1)]) is None
    assert fit(points[:4]) is None
    assert fit([({"N": 3, "C": c}, 8 * c) for c in range(1, 9)]) is None


@pytest.mark.parametrize(
    ("opcode", "thread", "warp"),
    [
        ("fma.rn.f32", 2, 0),
        ("add.f16x2", 2, 0),
        ("add.s32", 0, 0),
        ("setp.lt.f32", 0, 0),
        ("max.f32", 0, 0),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 0, 4096),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", 0, 65536),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 0, 0),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", 0, 0),
    ],
)
def test_operations_of_instructions(opcode, thread, warp):
    assert (per_thread(opcode), per_warp(opcode)) == (thread, warp)


@pytest.mark.long
def test_a_kernel_that_skips_at_the_timed_shape_what_it_reads_elsewhere_is_implausible_without_declared_work():
    entry = next(e for e in entries() if e.name == "23_less_than_must_be_moved")
    declared = entry.request("cheat").workload
    # Its outputs are wrong at the timed shape as well, where infinities show them first: callers have none.
    finite = tuple(
        a.model_copy(update={"values": "uniform(-1.0, 1.0)"}) if a.kind == "input" else a
        for a in declared.args
    )
    undeclared = declared.model_copy(
        update={"work": type(declared.work)(), "profile_dims": ({"n": 4096},), "args": finite}
    )
    cheat, baseline = (
        Program(
            "cuda", entry.program(w).source.replace("1000000", "4000").replace("2000", "3"), "steps", name=w
        )
        for w in ("cheat", "baseline")
    )
    slow_memory = TimedEmulated(peak_bytes_per_second=2 * 10**9)
    v = timed_verdict(baseline, cheat, undeclared, slow_memory)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.IMPLAUSIBLE_SPEED), v.reason
    shape = v.stage("profile").details["shapes"][0]
    assert (shape["bytes_from"], shape["bytes_declared"]) == ("counted", 64 * 4096)
