"""A tool is started only where it could find something."""

from dataclasses import replace

import pytest

from gate.programs import affine
from kernel_gate.build.compile import compile_program
from kernel_gate.sanitizer.choice import not_understood, nothing_to_watch

WRITE = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
STAGED = "__shared__ float s[64]; s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[63 - threadIdx.x];"
SHUFFLED = "if (i < n) y[i] = __shfl_xor_sync(~0u, x[i], 1);"
DYNAMIC = "extern __shared__ float s[]; s[threadIdx.x] = x[i]; y[i] = s[threadIdx.x];"


@pytest.mark.parametrize(
    ("body", "idle"),
    [
        (WRITE, {"racecheck", "synccheck"}),
        (STAGED, set()),
        (SHUFFLED, {"racecheck"}),
        (DYNAMIC, {"synccheck"}),
    ],
    ids=["neither", "shared memory and a barrier", "a shuffle", "dynamic shared memory"],
)
def test_what_is_started_follows_from_the_code(body, idle):
    images = compile_program(affine(WRITE, body), "sm_90").values()
    assert set(nothing_to_watch(images)) == idle
    assert nothing_to_watch([replace(image, ptx="") for image in images]) == {}


@pytest.mark.parametrize(
    ("instruction", "tools"),
    [
        ("bar.arrive 1, 64", {"racecheck"}),
        ("barrier.cta.arrive 1, 64", {"racecheck"}),
        ("bar.sync 1, 64", set()),
        ("barrier.cluster.arrive", set()),
        ("cp.async.ca.shared.global [0], [0], 4, 0", {"memcheck"}),
        ("cp.async.cg.shared.global.L2::128B [0], [0], 16, %%tid.x", {"memcheck"}),
        ("cp.async.ca.shared.global [0], [0], 4", set()),
        ("tensormap.replace.tile.rank.shared::cta.b1024.b32 [0], 1", {"initcheck"}),
        ("cp.async.cg.shared.global [0], [0], 16, 16", set()),
    ],
)
def test_arrivals_at_a_named_barrier_and_copies_of_a_part_are_not_understood(instruction, tools):
    images = compile_program(affine(WRITE, f'asm volatile("{instruction};"); {WRITE}'), "sm_90").values()
    assert set(not_understood(images)) == tools
