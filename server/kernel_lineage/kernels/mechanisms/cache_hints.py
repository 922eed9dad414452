"""Loads and stores that say how long their data will be needed."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "cache_hints"

_CALLS = (
    "__ldcs", "__ldcg", "__ldca", "__ldlu", "__ldcv", "__stcs", "__stcg", "__stwb", "__stwt",
    "load128cs", "load128cg", "store128cs", "store128cg",
    "__prefetch_global_l1", "__prefetch_global_l2",
)  # fmt: skip
_PTX = (
    "ld.global.cs",
    "ld.global.cg",
    "ld.global.nc",
    "ld.global.lu",
    "st.global.cs",
    "st.global.cg",
    "L2::",
    "L1::",
)


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CALLS):
            yield seen(ID, call.node, f"{call.name} gives a cache hint")
        for unit in syntax.units:
            for code, node in unit.assembly:
                if any(mark in code for mark in _PTX):
                    yield seen(ID, node, "inline PTX gives a cache hint")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls("load", "store"):
            for name in ("eviction_policy", "cache_modifier"):
                if triton_call.of_language and triton_call.keyword(name) is not None:
                    yield seen_in(ID, triton_unit, triton_call.node, f"{triton_call.qualified} gives {name}")


MECHANISM = Mechanism(
    id=ID,
    title="Cache hints",
    direction=Direction.MEMORY_ACCESS,
    summary="Marks data that is read or written once as streaming, so that it does not push out what is reused.",
    looks_for="`__ldcs`, `__stcs` and the like, inline PTX with a cache operator, `eviction_policy`, `cache_modifier`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition(
            'profile.bound == "bandwidth"', "profit", "pipeline", "Only where the caches are contended."
        ),
        TypicalCondition(
            "device.compute_capability >= (3, 2)", "validity", "hardware", "The intrinsics need it."
        ),
    ),
    present=(
        cuda("""
            __global__ void scale(float* out, const float* inp, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) { __stcs(out + i, 2.0f * __ldcs(inp + i)); }
            }
            """),
        triton("""
            @triton.jit
            def scale(X, Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(X + offs, mask=offs < n, eviction_policy="evict_first")
                tl.store(Y + offs, 2 * x, mask=offs < n)
            """),
    ),
    absent=(
        cuda("""
            __global__ void scale(float* out, const float* inp, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;  // try __ldcs(inp + i)
                if (i < n) { out[i] = 2.0f * __ldg(inp + i); }
            }
            """),
        triton("""
            @triton.jit
            def scale(X, Y, n, BLOCK: tl.constexpr):
                eviction_policy = 1
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(Y + offs, tl.load(X + offs, mask=offs < n) * eviction_policy, mask=offs < n)
            """),
    ),
)
