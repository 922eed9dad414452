"""Sums by atomics in many spellings: added up over the grid they agree on the emulated device."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.program import LaunchSpec
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from rewrite.assists.test_gate import PATIENT, program
from rewrite.assists.workloads import workload

_HEAD = "__global__ void add_up(const TYPE* x, const TYPE* y, SUM* out, int n) {"
_TAIL = "}\n\nvoid run(const TYPE* x, const TYPE* y, SUM* out, int n) {\n    LAUNCH\n}\n"
_ONE = "add_up<<<(n + 127) / 128, 128>>>(x, y, out, n);"
_AT = "\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def spelled(body: str, kind: str = "float", total: str = "float", launch: str = _ONE, above: str = "") -> str:
    text = above + _HEAD + body + _TAIL.replace("LAUNCH", launch)
    return text.replace("TYPE", kind).replace("SUM", total)


SPELLINGS = {
    "guarded": spelled(_AT + "    if (i < n) {\n        atomicAdd(out, x[i]);\n    }\n"),
    "without braces": spelled(_AT + "    if (i < n) atomicAdd(&out[0], x[i] * y[i]);\n"),
    "early return": spelled(_AT + "    if (i >= n) return;\n    float d = x[i] - y[i];\n    atomicAdd(out, d * d);\n"),
    "two conditions": spelled(
        _AT + "    if (i < n) {\n        float v = x[i];\n        if (v > 0.0f) atomicAdd(out, v);\n    }\n"
    ),
    "leaves for some": spelled(
        _AT + "    if (i >= n) return;\n    if (x[i] < y[i]) return;\n    atomicAdd(out + 0, fabsf(x[i]));\n"
    ),
    "a block by name": spelled(
        "\n    const int at = threadIdx.x + blockDim.x * blockIdx.x;\n"
        "    if (at < n) { atomicAdd(out, 2.0f * x[at]); }\n",
        launch="int blocks = (n + SIZE - 1) / SIZE;\n    add_up<<<blocks, SIZE>>>(x, y, out, n);",
        above="#define SIZE 64\n",
    ),
    "unsigned index": spelled(
        "\n    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) atomicAdd(out, sqrtf(fabsf(y[i])));\n"
    ),
    "64-bit index": spelled(
        "\n    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) atomicAdd(out, x[i]);\n"
    ),
    "counted": spelled(_AT + "    if (i < n && x[i] == y[i]) atomicAdd(out, 1);\n", "int", "int").replace(
        "i < n && x[i] == y[i]) atomicAdd(out, 1);", "i < n) {\n        if (x[i] == y[i]) { atomicAdd(out, 1); }\n    }"
    ),
    "double": spelled(_AT + "    if (i < n) {\n        double v = x[i];\n        atomicAdd(out, v * y[i]);\n    }\n",
                      "double", "double"),
    "a sum of its own": spelled(
        _AT + "    if (i < n) {\n        float s = 0.0f;\n        for (int k = 0; k < 3; k++) s += x[i] * k;\n"
        "        atomicAdd(out, s);\n    }\n"
    ),
}  # fmt: skip
REFUSED = {
    "what it read is used": (
        spelled(_AT + "    if (i < n) { float old = atomicAdd(out, x[i]); }\n"),
        "one atomic",
    ),
    "two sums": (
        spelled(_AT + "    if (i < n) { atomicAdd(out, x[i]); atomicAdd(out + 1, y[i]); }\n"),
        "one atomic",
    ),
    "another store": (
        spelled(_AT + "    if (i < n) { out[1 + i] = x[i]; atomicAdd(out, x[i]); }\n"),
        "beside",
    ),
    "a barrier": (
        spelled(_AT + "    __syncthreads();\n    if (i < n) atomicAdd(out, x[i]);\n"),
        "work together",
    ),
    "part of a warp": (
        spelled(_AT + "    if (i < n) atomicAdd(out, x[i]);\n", launch=_ONE.replace("128", "100")),
        "whole warps",
    ),
    "a block that is told nowhere": (
        spelled(_AT + "    if (i < n) atomicAdd(out, x[i]);\n", launch=_ONE.replace(", 128>", ", n>")),
        "whole warps",
    ),
}


def rewritten(code: str) -> object:
    kernel = read(code.encode(), Language.CUDA).kernel("add_up")
    assist = all_assists()["sum_over_grid"]
    assert kernel is not None
    anchors = [a for a in anchors_of(kernel) if a.pattern == assist.pattern]
    return assist.rewrite(kernel, anchors[0] if anchors else anchors_of(kernel)[0])


@pytest.mark.long
@pytest.mark.parametrize("code", SPELLINGS.values(), ids=SPELLINGS)
def test_a_sum_over_the_grid_is_the_sum(code: str) -> None:
    made = rewritten(code)
    assert isinstance(made, Candidate), made
    kind = "float64" if "const double" in code else "int32" if "const int*" in code else "float32"
    load = workload(
        "add_up", "n = [1, 300]", 'grid = ["ceil_div(n, 64)"]\nblock = [64]', f"x: input {kind} [n]",
        f"y: input {kind} [n]", f"out: inout {kind} [8]", "n: int32 = n",
    )  # fmt: skip
    few = LaunchSpec(("2",), load.launch.block)
    verdict = judge(
        program(Language.CUDA, code, "add_up"),
        program(Language.CUDA, made.apply(code.encode()).decode(), "add_up", few),
        load,
        device="emulated",
        options=PATIENT,
    )
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason


@pytest.mark.parametrize(("code", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_sum_that_cannot_wait_is_left_alone(code: str, reason: str) -> None:
    assert reason in getattr(rewritten(code), "reason", "")
