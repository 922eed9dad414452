"""`tl.dot` as Triton compiles it, pipelined, on the emulated device against NumPy in float64."""

from dataclasses import replace

import numpy as np
import pytest

from gate.emulated.cuda_source import launch
from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.program import Program
from longer import first_now

RNG = np.random.default_rng(21)
ARCHES = ("sm_80", "sm_90")

MATMUL = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), OUT)
    for start in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=i[:, None] < M)
        y = tl.load(b + (start + k)[:, None] * N + j[None, :], mask=j[None, :] < N)
        total = tl.dot(x, y, total, out_dtype=OUT)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))
"""

KINDS = {
    # Triton's type: element, type of the sum, relative error of the whole result.
    "fp16": ("f16", "fp32", 1e-6),
    "bf16": ("bf16", "fp32", 1e-6),
    "fp32": ("tf32", "fp32", 1e-6),
    "fp8e5": ("e5m2", "fp32", 1e-6),
    "fp8e4nv": ("e4m3", "fp32", 1e-6),
    "i8": ("s8", "i32", 0),
    "fp64": ("f64", "fp64", 1e-14),
}
SUMS = {"fp32": np.float32, "i32": np.int32, "fp64": np.float64}


def compiled(source: str, arch: str, stages: int, arguments: dict[str, str], **constants: object) -> Image:
    unit = Unit(
        tuple(constants.items()),
        num_stages=stages,
        arguments=tuple(arguments.items()),
        divisible=tuple(arguments),
    )
    return compile_program(Program("triton", source, "kernel"), arch, [unit])[unit]


def cells(kind: str, shape: tuple[int, int]) -> np.ndarray:
    """Random finite values of a type, as memory holds them."""
    if kind in ("e5m2", "e4m3"):
        return RNG.integers(0, 0x70, shape).astype(np.uint8) | (RNG.integers(0, 2, shape) << 7).astype(
            np.uint8
        )
    if kind == "s8":
        return RNG.integers(-128, 128, shape).astype(np.int8)
    values = RNG.normal(size=shape)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "tf32": np.float32, "f64": np.float64}[kind])


def multiply(source: str, arch: str, kind: str, extent: tuple[int, int, int], stages: int = 3):
    """The launch, and what it should give."""
    element, out, _ = KINDS[kind]
    m, n, k = extent
    block = {"BM": 64, "BN": 64, "BK": 32}
    types = {"a": f"*{kind}", "b": f"*{kind}", "c": f"*{out}", "M": "i32", "N": "i32", "K": "i32"}
    text = source.replace("OUT: tl.constexpr", f"OUT: tl.constexpr = tl.{SUMS[out].__name__}")
    code = compiled(text, arch, stages, types, **block)
    x, y = cells(element, (m, k)), cells(element, (k, n))
    arguments = {
        "a": x, "b": y, "c": np.zeros((m, n), SUMS[out]), "M": np.int32(m), "N": np.int32(n), "K": np.int32(k),
    }  # fmt: skip
    done = launch(code, arguments, (-(-m // 64), -(-n // 64)), code.block_threads, arch=arch)
    opened = [ELEMENTS[element].open(v.view(ELEMENTS[element].cell)) for v in (x, y)]
    return done, opened[0] @ opened[1]


@pytest.mark.parametrize("arch", first_now(ARCHES))
@pytest.mark.parametrize("kind", KINDS)
def test_a_pipelined_product(kind, arch):
    if (arch, kind) == ("sm_80", "fp8e4nv"):
        pytest.skip("Triton has no fp8e4nv before sm_89")
    done, expected = multiply(MATMUL, arch, kind, (96, 80, 160))
    assert done.faults == ()
    error = np.abs(done.arrays["c"] - expected).max() / np.abs(expected).max()
    assert error <= KINDS[kind][2]


@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp32"])
def test_a_product_whose_first_factor_is_in_registers(kind):
    doubled = MATMUL.replace("tl.dot(x, y,", "tl.dot(x + x, y,")
    done, half = multiply(doubled, "sm_90", kind, (96, 80, 160))
    assert done.faults == ()
    assert np.abs(done.arrays["c"] - 2 * half).max() / np.abs(half).max() <= 2 * KINDS[kind][2]


LAYOUTS = """
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, BM: tl.constexpr, BN: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, K)
    if TA:
        x = tl.trans(tl.load(a + k[:, None] * BM + i[None, :]))
    else:
        x = tl.load(a + i[:, None] * K + k[None, :])
    if TB:
        y = tl.trans(tl.load(b + j[:, None] * K + k[None, :]))
    else:
        y = tl.load(b + k[:, None] * BN + j[None, :])
    tl.store(c + i[:, None] * BN + j[None, :], tl.dot(x, y))
"""


@pytest.mark.parametrize("turned", [(False, False), (True, True)])
@pytest.mark.parametrize(
    "extent",
    [
        pytest.param(extent, marks=pytest.mark.long) if extent[1] > 32 else extent
        for extent in ((64, 16, 16), (64, 32, 32), (64, 64, 64), (128, 128, 64), (64, 256, 128))
    ],
)
def test_every_swizzle_of_a_warpgroups_tiles(extent, turned):
    """Rows of 32, 64 and 128 bytes and more, contiguous along K or along M and N."""
    m, n, k = extent
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
    code = compiled(LAYOUTS, "sm_90", 1, types, BM=m, BN=n, K=k, TA=turned[0], TB=turned[1])
    assert "wgmma.mma_async" in code.ptx
    x, y = cells("f16", (m, k)), cells("f16", (k, n))
    arguments = {
        "a": x.T.copy() if turned[0] else x,
        "b": y.T.copy() if turned[1] else y,
        "c": np.zeros((m, n), np.float32),
    }
    done = launch(code, arguments, 1, code.block_threads, arch="sm_90")
    assert done.faults == ()
    np.testing.assert_allclose(
        done.arrays["c"], x.astype(np.float64) @ y.astype(np.float64), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize(
    ("wait", "allowed", "operation", "marker"),
    [
        ("cp.async.wait_group \t2;", "cp.async.wait_group \t9;", "cp.async", "tl.dot"),
        (
            "wgmma.wait_group.sync.aligned 0;",
            "wgmma.wait_group.sync.aligned 7;",
            "wgmma.mma_async",
            "tl.store",
        ),
    ],
)
def test_a_dropped_wait_is_a_race_at_the_use(wait, allowed, operation, marker):
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    source = MATMUL.replace("OUT: tl.constexpr", "OUT: tl.constexpr = tl.float32")
    code = compiled(source, "sm_90", 3, types, BM=64, BN=64, BK=32)
    assert wait in code.ptx
    n = 128
    arguments = {
        "a": cells("f16", (n, n)), "b": cells("f16", (n, n)), "c": np.zeros((n, n), np.float32),
        "M": np.int32(n), "N": np.int32(n), "K": np.int32(n),
    }  # fmt: skip
    broken = replace(code, ptx=code.ptx.replace(wait, allowed))
    done = launch(broken, arguments, (2, 2), code.block_threads, arch="sm_90")
    lines = {f.line for f in done.faults if f.kind == "race" and operation in f.message}
    assert any(marker in source.splitlines()[line - 1] for line in lines if line)


ATTENTION = """
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, out, L, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, L, BN):
        j = start + tl.arange(0, BN)
        keys = tl.load(k + j[None, :] * D + d[:, None])
        scores = tl.dot(x, keys) * scale
        higher = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        old = tl.exp(most - higher)
        total = total * old + tl.sum(weights, 1)
        values = tl.load(v + j[:, None] * D + d[None, :])
        sums = tl.dot(weights.to(tl.float16), values, sums * old[:, None])
        most = higher
    tl.store(out + i[:, None] * D + d[None, :], sums / total[:, None])
"""


@pytest.mark.parametrize("arch", ARCHES)
def test_attention_with_a_running_softmax(arch):
    length, width = 128, 64
    types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "L": "i32", "scale": "fp32"}
    code = compiled(ATTENTION, arch, 2, types, BM=64, BN=32, D=width)
    q, k, v = (cells("f16", (length, width)) for _ in range(3))
    arguments = {
        "q": q, "k": k, "v": v, "out": np.zeros((length, width), np.float32),
        "L": np.int32(length), "scale": np.float32(0.125),
    }  # fmt: skip
    done = launch(code, arguments, length // 64, code.block_threads, arch=arch)
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    assert done.faults == ()
    np.testing.assert_allclose(done.arrays["out"], expected, atol=2e-3)
