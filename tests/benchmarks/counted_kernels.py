"""Kernels whose sectors and wavefronts are counted on both devices: one way to reach memory each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_COUNT = 1 << 14
_THREADS = 256
_HEAD = """extern "C" __global__ void kernel({kind}* out, const {kind}* x) {{
    int i = blockIdx.x * {threads} + threadIdx.x;
"""


@dataclass(frozen=True)
class CountedKernel:
    """One kernel and its launch."""

    name: str
    source: str
    arguments: dict[str, Any]
    """In order; arrays are buffers."""
    grid: tuple[int, ...] = (_COUNT // _THREADS,)
    block: tuple[int, ...] = (_THREADS,)


def _of_global(
    name: str, body: str, kind: str = "float", item: int = 4, elements: int = _COUNT
) -> CountedKernel:
    """A kernel over `x` and `out`, whose index is `i`; `item`: bytes of one element."""
    source = _HEAD.format(kind=kind, threads=_THREADS) + f"    {body}\n}}\n"
    cells = np.zeros(elements * item // 4 + 64, np.float32)
    return CountedKernel(name, source, {"out": cells, "x": cells.copy()})


def _of_shared(
    name: str, declared: str, write: str, read: str, kind: str = "float", item: int = 4
) -> CountedKernel:
    """A kernel that writes `tile` at one place and reads it at another; `t` is the thread."""
    body = (
        f"__shared__ __align__(16) {declared}; int t = threadIdx.x;\n"
        f"    {kind} v = x[i]; {write} = v; __syncthreads(); out[i] = {read};"
    )
    return _of_global(name, body, kind, item)


def _of_tiles(name: str, pitch: int, swizzled: bool = False) -> CountedKernel:
    """A transpose through shared memory in tiles of 32 by 32."""
    source = f"""
__device__ int place(int row, int column) {{ return row * {pitch} + (column{" ^ row" if swizzled else ""}); }}
extern "C" __global__ void kernel(float* out, const float* x, int n) {{
    __shared__ float tile[32 * {pitch}];
    int t = threadIdx.x, u = threadIdx.y, c = blockIdx.x * 32 + t, r = blockIdx.y * 32 + u;
    for (int k = 0; k < 32; k += 8) tile[place(u + k, t)] = x[(r + k) * n + c];
    __syncthreads();
    c = blockIdx.y * 32 + t, r = blockIdx.x * 32 + u;
    for (int k = 0; k < 32; k += 8) out[(r + k) * n + c] = tile[place(t, u + k)];
}}
"""
    cells = np.zeros((128, 128), np.float32)
    arguments = {"out": cells, "x": cells.copy(), "n": np.int32(128)}
    return CountedKernel(name, source, arguments, (4, 4), (32, 8))


def _of_global_memory() -> Iterator[CountedKernel]:
    yield _of_global("coalesced", "out[i] = x[i];")
    for stride in (2, 8, 32):
        yield _of_global(f"stride {stride}", f"out[i] = x[i * {stride}];", elements=_COUNT * stride)
    yield _of_global("store stride 4", "out[i * 4] = x[i];", elements=4 * _COUNT)
    yield _of_global("one element off", "out[i] = x[i + 1];")
    yield _of_global("2 floats a thread", "out[i] = x[i];", "float2", 8)
    yield _of_global("4 floats a thread", "out[i] = x[i];", "float4", 16)
    yield _of_global("4 floats, 16 bytes off", "out[i] = x[i + 1];", "float4", 16)
    yield _of_global("structs of 12 bytes", "out[i] = x[i];", "float3", 12)
    yield _of_global("bytes", "out[i] = x[i];", "unsigned char", 1)
    yield _of_global("halves", "out[i] = x[i];", "unsigned short", 2)
    yield _of_global("doubles", "out[i] = x[i];", "double", 8)
    yield _of_global("one word for a warp", "out[i] = x[i / 32];")
    yield _of_global("16 bytes for a warp", "out[i] = x[i / 32];", "float4", 16)
    yield _of_global("scattered", f"out[i] = x[i * 37 % {_COUNT}];")
    yield _of_global("20 lanes of 32", "if (threadIdx.x % 32 < 20) out[i] = x[i];")
    yield _of_global("every other lane", "if (threadIdx.x % 2) out[i] = x[i];")
    yield _of_global("3-point stencil", f"out[i] = x[max(i - 1, 0)] + x[i] + x[min(i + 1, {_COUNT - 1})];")
    yield _of_global("column of a matrix", "out[(i % 128) * 128 + i / 128] = x[i];")
    yield _of_global("atomics, one word each", "atomicAdd(out + i, x[i]);")
    yield _of_global("atomics, 8 words", "atomicAdd(out + i % 8, x[i]);")


def _of_shared_memory() -> Iterator[CountedKernel]:
    for stride in (1, 2, 4, 8, 32):
        size = 32 * stride * (_THREADS // 32)
        place = f"t / 32 * {32 * stride} + t % 32 * {stride}"
        yield _of_shared(
            f"shared, stride {stride}", f"float tile[{size}]", f"tile[{place}]", f"tile[{place}]"
        )
    yield _of_shared("shared, one word for all", "float tile[256]", "tile[t]", "tile[7]")
    yield _of_shared("shared, reversed", "float tile[256]", "tile[t]", "tile[255 - t]")
    yield _of_shared("shared, 8 bytes", "float2 tile[256]", "tile[t]", "tile[t ^ 1]", "float2", 8)
    yield _of_shared("shared, 16 bytes", "float4 tile[256]", "tile[t]", "tile[t ^ 1]", "float4", 16)
    yield _of_shared(
        "shared, 16 bytes, stride 2", "float4 tile[512]", "tile[2 * t]", "tile[2 * t]", "float4", 16
    )
    yield _of_shared(
        "shared, doubles, stride 2", "double tile[512]", "tile[2 * t]", "tile[2 * t]", "double", 8
    )
    yield _of_shared("shared, bytes", "unsigned char tile[256]", "tile[t]", "tile[t ^ 5]", "unsigned char", 1)
    yield _of_tiles("transpose, tile of 32", 32)
    yield _of_tiles("transpose, tile of 33", 33)
    yield _of_tiles("transpose, swizzled", 32, swizzled=True)


def _of_warps() -> Iterator[CountedKernel]:
    butterfly = "for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k);"
    yield _of_global("shuffle, no shared memory", f"float v = x[i]; {butterfly} out[i] = v;")
    reduce = (
        f"__shared__ float part[8]; float v = x[i]; {butterfly}\n"
        "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v; __syncthreads();\n"
        "    if (threadIdx.x < 8) out[blockIdx.x * 8 + threadIdx.x] = part[threadIdx.x];"
    )
    yield _of_global("block sum", reduce)
    histogram = (
        "__shared__ int bins[256]; bins[threadIdx.x] = 0; __syncthreads();\n"
        "    atomicAdd(bins + (x[i] + i) % 256, 1); __syncthreads(); out[i] = bins[threadIdx.x];"
    )
    yield _of_global("histogram, atomics in shared memory", histogram, "int")
    for nbytes, vector in ((4, 1), (16, 4)):
        copy = (
            f"__shared__ __align__(16) float tile[{256 * vector}];\n"
            f"    unsigned to = __cvta_generic_to_shared(tile + threadIdx.x * {vector});\n"
            f'    asm volatile("cp.async.ca.shared.global [%0], [%1], {nbytes};" :: "r"(to), "l"(x + i * {vector}));\n'
            '    asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads();\n'
            "    out[i] = tile[threadIdx.x];"
        )
        yield _of_global(f"cp.async of {nbytes} bytes", copy, elements=_COUNT * vector)
    for pitch in (32, 40):
        rows = (
            f"__shared__ __align__(16) unsigned short tile[8][32 * {pitch}];\n"
            "    int w = threadIdx.x / 32, l = threadIdx.x % 32;\n"
            f"    for (int k = l; k < 32 * {pitch}; k += 32) tile[w][k] = k; __syncwarp();\n"
            f"    unsigned at = __cvta_generic_to_shared(&tile[w][l * {pitch}]), a, b, c, d;\n"
            '    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"\n'
            '        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");\n'
            "    out[i] = a ^ b ^ c ^ d ^ x[i];"
        )
        yield _of_global(f"ldmatrix, rows of {2 * pitch} bytes", rows, "int")


def kernels() -> list[CountedKernel]:
    """All of them."""
    return [*_of_global_memory(), *_of_shared_memory(), *_of_warps()]
