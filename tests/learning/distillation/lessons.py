"""Lessons of our own for the tests of distillation and admission."""

from __future__ import annotations

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.distillation.lesson import Lesson, Source
from kernel_lineage.skills.card import Category, Condition, ConditionKind, Evidence, Origin
from kernel_lineage.skills.library import library

BEFORE = """\
__global__ void gain(float* dst, const float* src, float factor, int OC) {
    const float* row = src + blockIdx.x * OC;
    float* to = dst + blockIdx.x * OC;
    for (int i = threadIdx.x; i < OC; i += blockDim.x) {
        to[i] = factor * row[i];
    }
}
"""
AFTER = """\
__global__ void gain(float* dst, const float* src, float factor, int OC) {
    const float4* row = reinterpret_cast<const float4*>(src + blockIdx.x * OC);
    float4* to = reinterpret_cast<float4*>(dst + blockIdx.x * OC);
    for (int i = threadIdx.x; i < OC / 4; i += blockDim.x) {
        float4 v = row[i];
        to[i] = make_float4(factor * v.x, factor * v.y, factor * v.z, factor * v.w);
    }
}
"""
CARDS = library().skills


def kernel(text: str) -> Kernel:
    return read(text.encode(), Language.CUDA).kernels[0]


def condition(
    expr: str, origin: Origin = Origin.PROBE, kind: ConditionKind = ConditionKind.VALIDITY
) -> Condition:
    return Condition(
        kind=kind, category=Category.SHAPE, expr=expr, reason="", origin=origin, evidence=f"seen of {expr}"
    )


def lesson(
    name: str = "1→2", *, mechanisms: tuple[str, ...] = ("vectorised_access",), **fields: object
) -> Lesson:
    values: dict[str, object] = {
        "lineage": "gain",
        "before": kernel(BEFORE),
        "after": kernel(AFTER),
        "source": Source(
            "https://example.org/kernels", "MIT", "gain.cu", ("1111111", "2222222"), ("A. Author",)
        ),
        "evidence": evidence(),
    }
    return Lesson(name, mechanisms=mechanisms, **{**values, **fields})  # type: ignore[arg-type]


def evidence(outcome: str = "accepted") -> Evidence:
    return Evidence(
        kernel="gain",
        outcome=outcome,
        reason="said",
        device="some GPU",
        date="2026-01-01",
        held_out=False,
        command="klineage replay",
    )
