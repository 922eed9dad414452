"""Kernels that a workload cannot say how to run are told by their line, and nothing is tried for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.unsupported import unsupported


def kernel(folder: Path, text: str, name: str = "k"):
    path = folder / "code.cu"
    path.write_text(text)
    return kernel_of(path, name), path


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("(float* o, cudaTextureObject_t t) {\n  o[0] = tex2D<float>(t, 0, 0);\n}", "line 1: textures"),
        ("(float* o) {\n  auto c = cg::this_cluster();\n}", "line 2: clusters"),
        (
            "(\n    int* left, cudaGraphConditionalHandle h) {\n  cudaGraphSetConditional(h, --*left > 0);\n}",
            "line 2: conditional nodes of a graph",
        ),
    ],
)
def test_what_is_not_supported_is_told_with_its_line(tmp_path, body, message):
    kernel_source, path = kernel(tmp_path, f"__global__ void k{body}\nint main() {{ k<<<1, 1>>>(); }}\n")
    (missing,) = draft_of(kernel_source, path).missing

    assert missing.startswith(message) and "not supported" in missing


@pytest.mark.parametrize(
    "body",
    [
        "(float* o) { auto g = cooperative_groups::this_grid(); o[g.thread_rank()] = 1; g.sync(); }",
        "(float* o) { o[0] = 1; /* tex2D(o, 1) */ }",
        "(float* texture) { cg::this_thread_block().sync(); }",
    ],
)
def test_what_only_looks_so_is_drafted(tmp_path, body):
    assert unsupported(kernel(tmp_path, f"__global__ void k{body}\n")[0]) == ""


def test_a_texture_may_be_read_in_a_function_that_the_kernel_calls(tmp_path):
    text = "__device__ float at(cudaTextureObject_t t) { return tex1Dfetch<float>(t, 0); }\n"
    kernel_source, _ = kernel(
        tmp_path, f"{text}__global__ void k(float* o, unsigned long long t) {{ o[0] = at(t); }}\n"
    )

    assert unsupported(kernel_source).startswith("line 1: textures")
