"""Approximate intrinsics in place of the exact functions."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import BOTH, seen, seen_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "fast_math"

_CUDA = (
    "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__sinf", "__cosf", "__tanf", "__sincosf",
    "__tanhf", "__powf",
    "__fdividef", "__frcp_rn", "__frsqrt_rn", "__saturatef", "rsqrtf", "exp2f", "h2exp", "hexp", "h2rsqrt", "hrsqrt",
    "h2log", "hlog", "hrcp", "h2rcp",
)  # fmt: skip
_PTX = ("ex2.approx", "lg2.approx", "rsqrt.approx", "rcp.approx", "tanh.approx", "sin.approx", "cos.approx")
_TRITON = (
    "rsqrt", "exp2", "fast_expf", "fast_logf", "fast_sinf", "fast_cosf", "fast_tanhf", "fast_dividef", "fdiv",
    "fast_powf", "div_rn_ftz",
)  # fmt: skip


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CUDA):
            plain = call.name.removeprefix("__")
            yield seen(ID, call.node, f"{call.name} is a fast approximation", function=plain)
        for unit in syntax.units:
            for code, node in unit.assembly:
                for instruction in _PTX:
                    if instruction in code:
                        yield seen(
                            ID, node, "inline PTX uses an approximate instruction", function=instruction
                        )
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls(*_TRITON):
            said = f"{triton_call.qualified} is a fast path"
            yield seen_in(ID, triton_unit, triton_call.node, said, function=triton_call.name)


MECHANISM = Mechanism(
    id=ID,
    title="Fast math",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Uses the special function units' approximations instead of longer exact sequences.",
    looks_for="`__expf`, `__fdividef`, `rsqrtf`, approximate PTX; Triton's `exp2`, `rsqrt` and `fast_*`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        validity(
            "dtype(x) in (float32, float16, bfloat16)",
            "data types",
            "The approximations have single precision at most.",
        ),
        profit('profile.bound == "compute"', "pipeline", "Memory-bound kernels hide the cost."),
    ),
)
