"""What assertions, clamps, branches and `#if` of a fix say of the code before it."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.launch_names import launch_names
from kernel_lineage.learning.preconditions.changes import CodeChange
from kernel_lineage.learning.preconditions.readers import preconditions

CUDA = """__device__ float root(float v) { return sqrtf(v); }
template <bool Masked>
__global__ void fold(float* out, const float* weights, float least, int causal, const float* bias) {
    __shared__ float3 kept[64];
    int t = threadIdx.x;
    BODY
}
"""
TRITON = """import triton
import triton.language as tl

@triton.jit
def fold(out_ptr, w_ptr, least, groups: tl.constexpr, causal: tl.constexpr):
    at = tl.arange(0, 64)
    BODY
"""


def learned(language, before, after, elsewhere=()):
    template = CUDA if language is Language.CUDA else TRITON
    old, new = (
        read(template.replace("BODY", text).encode(), language).kernel("fold") for text in (before, after)
    )
    change = CodeChange(old, new, launch_names(new, {}), elsewhere)
    return [needed.expr for needed in preconditions(change)]


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        (
            "out[t] = logf(weights[t]);",
            "float w = weights[t]; assert(w > 0.f); out[t] = logf(w);",
            ["range(weights) > 0"],
        ),
        (
            "kept[t] = ((const float3*)weights)[t]; out[t] = 1.f / kept[t].x;",
            "kept[t] = weights[t]; assert(0.5f <= kept[t] && t < 64); out[t] = 1.f / kept[t].x;",
            ["range(weights) >= 0.5"],
        ),
        (
            "out[t] = root(weights[t]);",
            "out[t] = root(fmaxf(weights[t], least));",
            ["range(weights) >= least"],
        ),
        (
            "out[t] = weights[t];",
            "out[t] = fminf((float)__ldg(&weights[t]), 65504.0f);",
            ["range(weights) <= 65504.0"],
        ),
        # An accumulation, a value that is worked out, an assertion that stood there, one on a thread.
        ("out[t] = weights[t];", "float m = 0.f; m = fmaxf(m, out[t]); out[t] = m;", []),
        ("out[t] = weights[t];", "out[t] = fmaxf(weights[t] * 2.f, 0.f);", []),
        ("assert(weights[t] > 0); out[t] = 1.f;", "float w = weights[t]; assert(w > 0); out[t] = w;", []),
        ("out[t] = weights[t];", "assert(t < 64); out[t] = weights[t];", []),
    ],
)
def test_limits_of_values_in_cuda(before, after, conditions):
    assert learned(Language.CUDA, before, after) == conditions


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        ("tl.log(w)", "tl.log(tl.maximum(w, least))", ["range(w_ptr) >= least"]),
        ("tl.log(w)", "tl.log(tl.clamp(w, 1e-6, 2.0))", ["range(w_ptr) >= 1e-06", "range(w_ptr) <= 2.0"]),
        ("tl.log(w)", "tl.log(tl.maximum(tl.sum(w), least))", []),
    ],
)
def test_limits_of_values_in_triton(before, after, conditions):
    bodies = (
        f"w = tl.load(w_ptr + at).to(tl.float32)\n    tl.store(out_ptr + at, {value})"
        for value in (before, after)
    )
    assert learned(Language.TRITON, *bodies) == conditions


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        ("out[t] *= weights[t];", "if (Masked) { out[t] *= weights[t]; }", ["Masked"]),
        (
            "out[t] *= weights[t];",
            "if (causal == 2) out[t] = 0.f; else out[t] *= weights[t];",
            ["causal != 2"],
        ),
        ("out[t] = weights[t];", "out[t] = causal > 1 ? weights[t] : least;", ["causal > 1"]),
        # Both ways stood there, the condition did, or it speaks of a thread or of whether there is an argument.
        ("out[t] = weights[t]; out[t] = least;", "if (Masked) out[t] = weights[t]; else out[t] = least;", []),
        (
            "if (Masked) out[t] = weights[t]; else out[t] = least;",
            "if (Masked) out[t] = 2; else out[t] = least;",
            [],
        ),
        ("if (!Masked) return; out[t] = weights[t];", "if (Masked) { out[t] = weights[t]; }", []),
        ("out[t] *= weights[t];", "if (t == 0) out[t] *= weights[t];", []),
        ("out[t] += bias[t];", "if (bias) out[t] += bias[t];", []),
    ],
)
def test_branches_around_code_in_cuda(before, after, conditions):
    assert learned(Language.CUDA, before, after) == conditions


@pytest.mark.parametrize(
    ("before", "after", "conditions"),
    [
        (
            "tl.store(out_ptr + at // groups, 0.0)",
            "tl.store(out_ptr + tl.where(groups == 1, at * 64, at // groups), 0.0)",
            ["groups != 1"],
        ),
        (
            "tl.store(out_ptr + at, 0.0)",
            "if causal:\n        tl.store(out_ptr + at, 0.0)",
            ["causal"],
        ),
        (
            "if not causal:\n        x = 1\n    else:\n        tl.store(out_ptr + at, 0.0)",
            "if not causal:\n        x = 2\n    else:\n        tl.store(out_ptr + at, 0.0)",
            [],
        ),
    ],
)
def test_branches_around_code_in_triton(before, after, conditions):
    assert learned(Language.TRITON, before, after) == conditions


HEADER = """#pragma once
inline __device__ float scaled(float v) {
    CODE
}
"""


@pytest.mark.parametrize(
    ("code", "conditions"),
    [
        (
            "#if defined(CUDART_VERSION) && CUDART_VERSION < 12040\n slow(v);\n#else\n rsqrtf(v);\n#endif",
            ["toolchain.cuda >= (12, 4)"],
        ),
        (
            (
                "#if __CUDACC_VER_MAJOR__ > 11 || \\\n  (__CUDACC_VER_MAJOR__ == 11 && __CUDACC_VER_MINOR__ > 7)\n"
                " return fresh(v);\n#else\n return rsqrtf(v);\n#endif"
            ),
            ["toolchain.cuda <= (11, 7)"],
        ),
        (
            "#if __CUDA_ARCH__ >= 800\n return rsqrtf(v);\n#else\n return other(v);\n#endif",
            ["device.compute_capability >= (8, 0)"],
        ),
        # Both ways are new, neither is, it is no version, or the versions are not cut in two.
        ("#if CUDA_VERSION < 12000\n return one(v);\n#else\n return two(v);\n#endif", []),
        ("#if CUDA_VERSION < 12000\n return rsqrtf(v);\n#else\n return v;\n#endif", []),
        ("#if FAST\n return one(v);\n#else\n return rsqrtf(v);\n#endif", []),
        ("#if __CUDACC_VER_MAJOR__ == 12\n return one(v);\n#else\n return rsqrtf(v);\n#endif", []),
    ],
)
def test_a_version_around_code_of_a_header(code, conditions):
    before, after = (HEADER.replace("CODE", text).encode() for text in ("return rsqrtf(v);", code))
    assert learned(Language.CUDA, "", "", ((before, after),)) == conditions
