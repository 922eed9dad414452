"""The launches of callers that pass other strides than a workload does, and what a rewrite does there."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.instances import Instance, other_instances
from kernel_lineage.workloads.programs import program_from_file

PITCHED = """
__global__ void scaled(const float* in, size_t in_pitch, float* out, size_t out_pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) out[y * out_pitch + x] = 2.0f * in[y * in_pitch + x];
}
void scale(const float* in, size_t in_pitch, float* out, size_t out_pitch, int w, int h) {
  scaled<<<dim3((w + 127) / 128, h), 128>>>(in, in_pitch, out, out_pitch, w, h);
}
int main() {
  int W = 640, H = 480;
  float *image, *whole, *part;
  cudaMalloc(&image, W * H * sizeof(float));
  cudaMalloc(&whole, W * H * sizeof(float));
  scale(image, W, whole, W, W, H);
  int left = 100, top = 90, cols = 300, rows = 200;
  cudaMalloc(&part, cols * rows * sizeof(float));
  CALL
}
"""
OF_A_PART = "scale(image + top * W + left, W, part, cols, cols, rows);"
STRIDED = """
import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x_ptr, y_ptr, rows, cols, stride_xb, stride_xr, stride_yb, stride_yr, BLOCK: tl.constexpr):
    b, r = tl.program_id(0) // rows, tl.program_id(0) % rows
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + b * stride_xb + r * stride_xr + at, mask=at < cols, other=0.0)
    tl.store(y_ptr + b * stride_yb + r * stride_yr + at, 2 * x, mask=at < cols)


def double(x):
    batch, rows, cols = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    doubled[(batch * rows,)](
        x, y, rows, cols, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BLOCK=triton.next_power_of_2(cols)
    )
    return y


def test_double():
    double(torch.randn(4, 200, 96))
    CALL
"""
OF_A_PREFIX = "double(torch.randn(4, 512, 96)[:, :200])"


def others_of(folder: Path, name: str, text: str, kernel: str) -> tuple[Instance, ...]:
    path = folder / name
    path.write_text(text)
    whole = kernel_of(path, kernel)
    workload = draft_of(whole, path).workload()
    return other_instances(path, whole, workload, program_from_file(path, kernel, workload))


def test_a_part_of_an_image_has_a_pitch_of_its_own(tmp_path: Path) -> None:
    (part,) = others_of(tmp_path, "code.cu", PITCHED.replace("CALL", OF_A_PART), "scaled")
    assert part.name == "scaled with in_pitch = W"
    assert part.workload is not None and len(part.workload.profile_dims) == 1
    sizes = {name: extents[0] for name, extents in part.workload.dims.items()}
    last = (sizes["top"] + sizes["rows"] - 1) * sizes["W"] + sizes["left"] + sizes["cols"]
    assert last <= sizes["W"] * sizes["H"]


@pytest.mark.parametrize(
    "call", ["", "scale(image, W, whole, W, W, H);", "scale(image, W, whole, W, W, H / 2);"]
)
def test_a_launch_of_other_sizes_alone_is_no_other_one(tmp_path: Path, call: str) -> None:
    assert others_of(tmp_path, "code.cu", PITCHED.replace("CALL", call), "scaled") == ()


def test_the_prefix_of_a_cache_has_a_stride_of_its_own(tmp_path: Path) -> None:
    (prefix,) = others_of(tmp_path, "code.py", STRIDED.replace("CALL", OF_A_PREFIX), "doubled")
    assert prefix.workload is not None and "stride_xb" in prefix.name and "stride_yb" not in prefix.name
    sizes = {name: extents[0] for name, extents in prefix.workload.dims.items()}
    (longer,) = sizes.keys() - {"batch", "rows", "cols"}
    assert sizes["rows"] < sizes[longer]
    assert (
        others_of(tmp_path, "same.py", STRIDED.replace("CALL", "double(torch.randn(3, 70, 96))"), "doubled")
        == ()
    )


def test_a_rewrite_is_launched_for_the_prefix_as_its_own_host_code_says(tmp_path: Path) -> None:
    text = STRIDED.replace("CALL", OF_A_PREFIX)
    (prefix,) = others_of(tmp_path, "code.py", text, "doubled")
    flat = (
        text.replace("stride_xb, stride_xr, stride_yb, stride_yr, BLOCK", "stride_x, stride_y, BLOCK")
        .replace("b, r = tl.program_id(0) // rows, tl.program_id(0) % rows", "row = tl.program_id(0)")
        .replace("b * stride_xb + r * stride_xr", "row * stride_x")
        .replace("b * stride_yb + r * stride_yr", "row * stride_y")
        .replace("x.stride(0), x.stride(1), y.stride(0), y.stride(1)", "x.stride(1), y.stride(1)")
    )
    path = tmp_path / "flat.py"
    path.write_text(flat)
    assert prefix.workload is not None
    program = program_from_file(
        path, "doubled", prefix.workload, changed_from=text.encode(), views=prefix.views
    )
    assert program.arguments == ("x_ptr", "y_ptr", "rows", "cols", "cols", "cols")


def test_a_rewrite_is_launched_for_a_transposed_tensor_as_its_own_host_code_says(tmp_path: Path) -> None:
    text = STRIDED.replace("CALL", "double(torch.randn(200, 4, 96).permute(1, 0, 2))")
    (transposed,) = others_of(tmp_path, "code.py", text, "doubled")
    assert (
        transposed.workload is not None and "stride_xb" in transposed.name and "stride_xr" in transposed.name
    )
    block = "BLOCK=triton.next_power_of_2(cols)"
    tiled = text.replace(block, f"{block} * (1 if x.stride(0) > x.stride(1) else 2)")
    program = program_from_file(
        tmp_path / "code.py", "doubled", transposed.workload, data=tiled.encode(), changed_from=text.encode(),
        views=transposed.views,
    )  # fmt: skip
    assert program.launch is not None
    assert program.launch.constexpr["BLOCK"] == "next_power_of_2(cols) * (1 if cols > batch * cols else 2)"
