"""Compiled Triton kernels: predicated vector access, cache policies, shuffles, shared memory, atomics."""

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.program import Program

HEADER = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
RNG = np.random.default_rng(5)


def compiled(
    body: str, arguments: dict[str, str], divisible: tuple[str, ...] = (), **constants: int
) -> Image:
    """The image of one kernel called `kernel`; constants are its `tl.constexpr` parameters."""
    unit = Unit(tuple(constants.items()), arguments=tuple(arguments.items()), divisible=divisible)
    return compile_program(Program("triton", HEADER + body.lstrip(), "kernel"), "sm_80", [unit])[unit]


def bf16(values: np.ndarray) -> np.ndarray:
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("divisible", [(), ("x", "y", "out", "n")])
def test_masked_addition_with_and_without_vectors(divisible):
    code = compiled(
        """
def kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
""",
        {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"},
        divisible,
        BLOCK=512,
    )
    assert (".v4." in code.ptx) == bool(divisible)
    n = 2000
    x, y = (RNG.normal(size=n).astype(np.float32) for _ in range(2))
    done = launch(
        code, {"x": x, "y": y, "out": np.full(n, np.nan, np.float32), "n": np.int32(n)}, 4, code.block_threads
    )
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], x + y)


def test_rmsnorm_in_bf16_with_a_loop_and_an_eviction_policy():
    code = compiled(
        """
def kernel(x, w, out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
        total += v * v
    scale = tl.rsqrt(tl.sum(total, 0) / n + eps)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(out + row * n + i, (v * scale * tl.load(w + i, mask=i < n)).to(tl.bfloat16), mask=i < n)
""",
        {"x": "*bf16", "w": "*fp32", "out": "*bf16", "n": "i32", "eps": "fp32"},
        BLOCK=256,
    )
    x, w = bf16(RNG.normal(size=(3, 700))), RNG.normal(size=700).astype(np.float32)
    arguments = {"x": x, "w": w, "out": np.zeros_like(x), "n": np.int32(700), "eps": np.float32(1e-6)}
    done = launch(code, arguments, 3, code.block_threads)
    values = wide(x).astype(np.float64)
    expected = values / np.sqrt((values**2).mean(1, keepdims=True) + 1e-6) * w
    assert done.faults == ()
    np.testing.assert_allclose(wide(done.arrays["out"]), expected, rtol=2**-7, atol=2**-7)


def test_softmax_through_shared_memory():
    code = compiled(
        """
def kernel(x, out, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)
""",
        {"x": "*fp32", "out": "*fp32", "n": "i32"},
        BLOCK=1024,
    )
    x = RNG.normal(size=(5, 781)).astype(np.float32) * 5
    done = launch(code, {"x": x, "out": np.full_like(x, np.nan), "n": np.int32(781)}, 5, code.block_threads)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_transpose_of_halves_through_matrix_loads():
    code = compiled(
        """
def kernel(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n))
    tl.store(out + j[:, None] * m + i[None, :], tl.trans(tile), mask=(j[:, None] < n) & (i[None, :] < m))
""",
        {"x": "*fp16", "out": "*fp16", "m": "i32", "n": "i32"},
        BM=64,
        BN=32,
    )
    x = RNG.normal(size=(100, 70)).astype(np.float16)
    arguments = {"x": x, "out": np.zeros((70, 100), np.float16), "m": np.int32(100), "n": np.int32(70)}
    done = launch(code, arguments, (2, 3), code.block_threads)
    assert done.faults == ()
    np.testing.assert_array_equal(done.arrays["out"], x.T)


def test_atomic_sum_and_maximum():
    code = compiled(
        """
def kernel(x, total, most, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(total, tl.sum(v, 0))
    tl.atomic_max(most + i % 7, v, mask=i < n)
""",
        {"x": "*fp32", "total": "*fp32", "most": "*fp32", "n": "i32"},
        BLOCK=256,
    )
    x = RNG.normal(size=1000).astype(np.float32)
    arguments = {
        "x": x,
        "total": np.zeros(1, np.float32),
        "most": np.full(7, -9, np.float32),
        "n": np.int32(1000),
    }
    done = launch(code, arguments, 4, code.block_threads)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["total"][0], x.astype(np.float64).sum(), rtol=1e-4)
    np.testing.assert_array_equal(done.arrays["most"], [x[k::7].max() for k in range(7)])


def test_a_missing_mask_is_found_at_its_line():
    body = """
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v, mask=i < n)
"""
    code = compiled(body, {"x": "*fp32", "out": "*fp32", "n": "i32"}, BLOCK=256)
    x = np.ones(1000, np.float32)
    done = launch(code, {"x": x, "out": x * 0, "n": np.int32(1000)}, 4, code.block_threads)
    line = next(n for n, text in enumerate((HEADER + body.lstrip()).splitlines(), 1) if "tl.load" in text)
    assert [(f.kind, f.line, f.buffer, f.element) for f in done.faults] == [
        ("out_of_bounds", line, "x", 1000)
    ]
