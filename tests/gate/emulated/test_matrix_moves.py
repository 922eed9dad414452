"""`ldmatrix`, `stmatrix`, `movmatrix`: 8 × 8 matrices between shared memory and registers."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch, line_of
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.emulated.launch import Checks
from kernel_gate.emulated.schedule import Mode, Schedule
from kernel_gate.program import Program

HEAD = """
extern "C" __global__ void kernel(const unsigned short* x, unsigned* fragments, unsigned short* y) {
    __shared__ alignas(16) unsigned short s[256];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) s[i] = x[i];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s) + lane * 16, r[4] = {0, 0, 0, 0};
"""
TAIL = """
    for (int i = 0; i < 4; i++) fragments[i * 32 + lane] = r[i];
    __syncthreads();
    for (int i = lane; i < 256; i += 32) y[i] = s[i];
}
"""
LISTS = {1: "{%0}", 2: "{%0, %1}", 4: "{%0, %1, %2, %3}"}


def ldmatrix(count: int, transposed: bool) -> str:
    out = ", ".join(f'"=r"(r[{i}])' for i in range(count))
    trans = ".trans" if transposed else ""
    return (
        f'asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {LISTS[count]}, [%{count}];" '
        f': {out} : "r"(at));  // load\n'
    )


def run(body: str, arch: str = "sm_90", checks: Checks | None = None):
    x = np.arange(256, dtype=np.uint16)
    arguments = {"x": x, "fragments": np.zeros((4, 32), np.uint32), "y": np.zeros(256, np.uint16)}
    code = compile_nvrtc(Program("cuda", HEAD + body + TAIL, "kernel"), arch)
    done = launch(code, arguments, 1, 32, checks=checks)
    return done, x.reshape(4, 8, 8)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_load(count, transposed):
    done, matrices = run(ldmatrix(count, transposed))
    assert done.faults == ()
    got = done.arrays["fragments"][:count].view(np.uint16).reshape(count, 8, 8)
    np.testing.assert_array_equal(
        got, matrices.transpose(0, 2, 1)[:count] if transposed else matrices[:count]
    )


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_store_undoes_a_load(count, transposed):
    trans, n = ".trans" if transposed else "", count
    words = ", ".join(f"%{i + 1}" for i in range(n))
    registers = ", ".join(f'"r"(r[{i}])' for i in range(n))
    store = (
        "__syncthreads(); for (int i = lane; i < 256; i += 32) s[i] = 0xFFFF; __syncthreads();\n"
        f'asm volatile("stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%0], {{{words}}};" '
        f':: "r"(at), {registers} : "memory");'
    )
    done, matrices = run(ldmatrix(count, transposed) + store)
    assert done.faults == ()
    got = done.arrays["y"].reshape(4, 8, 8)
    np.testing.assert_array_equal(got[:count], matrices[:count])
    assert (got[count:] == 0xFFFF).all()


MOVES = {
    "stmatrix": 'asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at), "r"(r[0]));',
    "movmatrix": 'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[1]) : "r"(r[0]));',
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("move", MOVES)
def test_lanes_come_together_in_any_order_of_warps(move: str, mode: Mode):
    checks = Checks(races=False, uninitialised=False, schedule=Schedule(mode, 3))
    done, _ = run(f"__syncthreads();\n{MOVES[move]}\n__syncthreads();", checks=checks)
    assert done.faults == ()


def test_a_transpose_in_registers():
    move = 'asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[1]) : "r"(r[0]));'
    done, matrices = run(ldmatrix(1, False) + move)
    got = done.arrays["fragments"][1].view(np.uint16).reshape(8, 8)
    np.testing.assert_array_equal(got, matrices[0].T)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("+ lane * 16", "+ lane * 16 + 16"), "out_of_bounds"),
        (("+ lane * 16", "+ lane * 16 + 8 * (lane == 3)"), "misaligned"),
        (("i < 256; i += 32) s[i] = x", "i < 200; i += 32) s[i] = x"), "uninitialised"),
    ],
)
def test_bad_rows_are_found_at_the_load(change, kind):
    source = HEAD + ldmatrix(4, False) + TAIL
    arguments = {
        "x": np.arange(256, dtype=np.uint16),
        "fragments": np.zeros((4, 32), np.uint32),
        "y": np.zeros(256, np.uint16),
    }
    changed = source.replace(*change)
    assert changed != source
    done = launch(compile_nvrtc(Program("cuda", changed, "kernel"), "sm_90"), arguments, 1, 32)
    fault = next(f for f in done.faults if f.kind == kind)
    assert fault.line == line_of(source, "load")
