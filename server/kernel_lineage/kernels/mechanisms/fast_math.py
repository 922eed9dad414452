"""Approximate intrinsics in place of the exact functions."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

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


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CUDA:
            plain = call.name.removeprefix("__")
            yield seen(call.node, f"{call.name} is a fast approximation", function=plain)
    for instruction, node in in_assembly(unit, *_PTX):
        yield seen(node, "inline PTX uses an approximate instruction", function=instruction[0])


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called(*_TRITON):
        yield seen_in(unit, call.node, f"{call.qualified} is a fast path", function=call.name)


MECHANISM = Mechanism(
    title="Fast math",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Uses the special function units' approximations instead of longer exact sequences.",
    looks_for="`__expf`, `__fdividef`, `rsqrtf`, approximate PTX; Triton's `exp2`, `rsqrt` and `fast_*`.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity(
            "dtype(x) in (float32, float16, bfloat16)",
            "data types",
            "The approximations have single precision at most.",
        ),
        profit('profile.bound == "compute"', "pipeline", "Memory-bound kernels hide the cost."),
    ),
)
