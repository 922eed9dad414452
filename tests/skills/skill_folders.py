"""Small skills for tests, and folders of them."""

from pathlib import Path

from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.card import (
    AnchorRule,
    Category,
    Condition,
    ConditionKind,
    Evidence,
    NothingToSay,
    Origin,
    Risk,
    SizeEffect,
    Skill,
)
from kernel_lineage.skills.skill_file import write_skill

APPLIES = """__global__ void f(float* y, const float* x, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) { y[i + blockIdx.x * C] = x[i + blockIdx.x * C]; }
}
"""
AFTER = """__global__ void f(float4* y, const float4* x, int C) {
    for (int i = threadIdx.x; i < C / 4; i += blockDim.x) { y[i + blockIdx.x * C / 4] = x[i + blockIdx.x * C / 4]; }
}
"""
CASES = {
    "cases/applies/01.before.cu": APPLIES,
    "cases/applies/01.after.cu": AFTER,
    "cases/refuses/01.cu": "// facts: C = 770\n" + APPLIES,
}


def condition(expr: str, kind: str = "validity", category: str = "shape") -> Condition:
    return Condition(
        kind=ConditionKind(kind),
        category=Category(category),
        expr=expr,
        reason="Otherwise it is wrong.",
        origin=Origin.AUTHOR,
    )


def a_skill(skill_id: str = "a-skill", *, conditions: tuple[Condition, ...] | None = None, **fields) -> Skill:
    return Skill(
        **{
            "id": skill_id,
            "title": "A skill",
            "summary": "Does something.",
            "mechanism": "vectorised_access",
            "languages": (Language.CUDA,),
            "anchor": AnchorRule(pattern="scalar_row_access"),
            "conditions": (condition("C % 4 == 0"),) if conditions is None else conditions,
            "nothing_to_say": (NothingToSay(category=Category.PIPELINE, reason="No barrier."),),
            "effect": "Not measured yet.",
            "risk": (Risk(what="C = 770: the last 2 columns are not written", evidence="probe"),),
            "carrier": "Write it so.",
            "licence": "Apache-2.0",
            "builtin": False,
            "description": "Does something. Use when needed.",
            **fields,
        }
    )


def evidence(device: str = "NVIDIA H200", **fields) -> Evidence:
    return Evidence(
        **{
            "kernel": "rmsnorm.cu:rmsnorm_forward",
            "outcome": "accepted",
            "reason": "faster on every profiled shape",
            "device": device,
            "date": "2026-01-31",
            "held_out": True,
            "sizes": (SizeEffect(dims={"N": 8192, "C": 4096}, speedup=1.28, low=1.26, high=1.3),),
            "command": "klineage gate a.cu b.cu",
            **fields,
        }
    )


def write(library: Path, skill: Skill) -> Path:
    return write_skill(library, skill, CASES)
