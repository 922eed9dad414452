"""Copies into shared memory that run while the threads compute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "async_copy"

_CALLS = ("memcpy_async", "__pipeline_memcpy_async", "cp_async_bulk", "cp_async", "make_pipeline")
_DESCRIPTORS = (
    "make_tensor_descriptor",
    "_experimental_descriptor_load",
    "_experimental_make_tensor_descriptor",
)


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CALLS):
            yield seen(ID, call.node, f"{call.qualified} copies in the background")
        for unit in syntax.units:
            for code, node in unit.assembly:
                if "cp.async" in code:
                    yield seen(ID, node, "inline PTX copies in the background")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls("range"):
            stages = triton_call.keyword("num_stages")
            if (
                triton_call.of_language
                and stages is not None
                and not (isinstance(stages, ast.Constant) and stages.value == 1)
            ):
                yield seen_in(ID, triton_unit, triton_call.node, "the loop's loads are pipelined")
        for triton_unit, triton_call in python.calls(*_DESCRIPTORS):
            yield seen_in(ID, triton_unit, triton_call.node, f"{triton_call.qualified} moves tiles by TMA")


MECHANISM = Mechanism(
    id=ID,
    title="Asynchronous copy",
    direction=Direction.LATENCY_HIDING,
    summary="Starts the next tile's copy into shared memory before the present one is used, past the registers.",
    looks_for="`memcpy_async`, pipelines, `cp.async` in inline PTX; in Triton staged loops and tensor descriptors.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition(
            "device.compute_capability >= (8, 0)", "validity", "hardware", "`cp.async` came with Ampere."
        ),
        TypicalCondition("align(x) >= 16", "validity", "layout", "A 16-byte copy needs both ends aligned."),
        TypicalCondition(
            "launch.shared_bytes <= device.shared_bytes_per_block",
            "validity",
            "hardware",
            "Each stage takes room.",
        ),
    ),
    present=(
        cuda("""
            __global__ void stage(float* out, const float* inp) {
                __shared__ float tile[256];
                __pipeline_memcpy_async(&tile[threadIdx.x], &inp[blockIdx.x * 256 + threadIdx.x], sizeof(float));
                __pipeline_commit();
                __pipeline_wait_prior(0);
                __syncthreads();
                out[threadIdx.x] = tile[255 - threadIdx.x];
            }
            """),
        cuda(r"""
            __device__ void fetch(unsigned at, const float* from) {
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" :: "r"(at), "l"(from));
            }
            __global__ void stage(float* out, const float* inp, unsigned at) { fetch(at, inp); out[0] = 1.0f; }
            """),
        triton("""
            @triton.jit
            def total(X, Y, n, BLOCK: tl.constexpr):
                acc = 0.0
                for start in tl.range(0, n, BLOCK, num_stages=3):
                    acc += tl.sum(tl.load(X + start + tl.arange(0, BLOCK)), 0)
                tl.store(Y, acc)
            """),
    ),
    absent=(
        cuda("""
            __global__ void stage(float* out, const float* inp) {
                __shared__ float tile[256];
                tile[threadIdx.x] = inp[blockIdx.x * 256 + threadIdx.x];  // not cp.async
                __syncthreads();
                out[threadIdx.x] = tile[255 - threadIdx.x];
            }
            """),
        triton("""
            @triton.jit
            def total(X, Y, n, BLOCK: tl.constexpr):
                acc = 0.0
                for start in tl.range(0, n, BLOCK):
                    acc += tl.sum(tl.load(X + start + tl.arange(0, BLOCK)), 0)
                tl.store(Y, acc)
            """),
    ),
)
