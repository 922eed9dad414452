"""TMA, mbarriers and wgmma together, as Triton compiles tensor descriptors for sm_90; and what is missing in them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from gate.emulated.test_triton_dot import cells, compiled
from kernel_gate.devices.image import Image

MATMUL = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = a_tiles.load([i, start])
        y = b_tiles.load([start, j])
        total = tl.dot(x, y, total)
    c_tiles.store([i, j], total.to(tl.float16))
"""
TYPES = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}


def multiply(code: Image, m: int, n: int, k: int):
    x, y = cells("f16", (m, k)), cells("f16", (k, n))
    arguments = {
        "a": x, "b": y, "c": np.full((m, n), 7, np.float16), "M": np.int32(m), "N": np.int32(n), "K": np.int32(k),
    }  # fmt: skip
    done = launch(code, arguments, (-(-m // 64), -(-n // 64)), code.block_threads, arch="sm_90")
    return done, x.astype(np.float64) @ y.astype(np.float64)


@pytest.fixture(scope="module")
def code() -> Image:
    kernel = compiled(MATMUL, "sm_90", 3, TYPES, BM=64, BN=64, BK=64)
    assert kernel.scratch_bytes and "cp.async.bulk.tensor.2d" in kernel.ptx and "wgmma" in kernel.ptx
    return kernel


@pytest.mark.parametrize("extent", [(128, 128, 256), (96, 72, 200), (64, 64, 64)])
def test_a_product_of_tiles_that_may_reach_over_the_edge(code, extent):
    done, expected = multiply(code, *extent)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], expected, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("width", [16, 32])
def test_narrow_tiles_have_narrow_swizzles(width):
    code = compiled(MATMUL, "sm_90", 2, TYPES, BM=64, BN=64, BK=width)
    done, expected = multiply(code, 64, 64, 96)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["c"], expected, rtol=2e-3, atol=2e-2)


def lines_of(source: str, words: str) -> set[int]:
    return {n for n, line in enumerate(source.splitlines(), 1) if words in line}


@pytest.mark.parametrize(
    ("wait", "instead", "words", "place"),
    [
        (r"mbarrier\.try_wait.*\n.*bra\.uni waitLoop;", "", "may still be writing it", "tl.dot"),
        (
            r"wgmma\.wait_group\.sync\.aligned 1;",
            "wgmma.wait_group.sync.aligned 7;",
            "may still be at work",
            ".load(",
        ),
        (
            r"wgmma\.wait_group\.sync\.aligned 0;",
            "wgmma.wait_group.sync.aligned 7;",
            "race on registers",
            "total.to",
        ),
    ],
    ids=["wait of an mbarrier", "stage used again too early", "wait of the last product"],
)
def test_what_nothing_waits_for_is_a_race_at_its_line(code, wait, instead, words, place):
    broken, count = re.subn(wait, instead, code.ptx)
    assert count == 1
    done, _ = multiply(replace(code, ptx=broken), 64, 64, 512)
    lines = {f.line for f in done.faults if f.kind == "race" and words in f.message}
    assert lines & lines_of(MATMUL, place)


def test_bytes_that_never_come_are_a_deadlock(code):
    broken = code.ptx.replace("], 16384;", "], 16400;")
    assert broken != code.ptx
    done, _ = multiply(replace(code, ptx=broken), 64, 64, 128)
    assert [f.kind for f in done.faults] == ["barrier"]
    assert "16 bytes are missing" in done.faults[0].message


def test_a_swizzle_that_the_box_does_not_fit_stops_the_copy(code):
    done, _ = multiply(replace(code, ptx=code.ptx.replace("], 0x3;", "], 0x1;")), 64, 64, 64)
    assert done.faults[0].kind == "trap"
    assert "swizzle" in done.faults[0].message


def test_another_swizzle_than_the_products_gives_wrong_values(code):
    done, expected = multiply(replace(code, ptx=code.ptx.replace("], 0x3;", "], 0x0;", 1)), 64, 64, 64)
    assert np.abs(done.arrays["c"] - expected).max() > 1


def test_a_map_larger_than_its_buffer_is_out_of_bounds(code):
    m, n, k = 64, 64, 128
    arguments = {
        "a": cells("f16", (m - 1, k)), "b": cells("f16", (k, n)), "c": np.zeros((m, n), np.float16),
        "M": np.int32(m), "N": np.int32(n), "K": np.int32(k),
    }  # fmt: skip
    done = launch(code, arguments, (1, 1), code.block_threads, arch="sm_90")
    assert [(f.kind, f.buffer) for f in done.faults] == [("out_of_bounds", "a")]
    assert done.faults[0].line in lines_of(MATMUL, "a_tiles.load")
