"""Triton kernels to prove, Liger-Kernel's and our own, in workloads whose sizes are symbols."""

# ruff: noqa: E501  (the table reads as a table)
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kernel_gate.workload import Workload

_DIMS = {"R": 5, "C": 70, "V": 11, "K": 40}
_ROW = "next_power_of_2(C)"
_NORM = "Y_ptr!:R,C Y_row_stride=C X_ptr:R,C X_row_stride=C W_ptr:C W_row_stride=1"
_SOFTMAX = "Y_ptr!:R,C Y_row_stride=C X_ptr:R,C X_row_stride=C n_cols=C"
_SOFTMAX_BACK = "dy_ptr:R,C dy_stride=C y_ptr:R,C y_stride=C dx_ptr!:R,C dx_stride=C n_cols=C"
OWN = "triton_own.py"
TRITON: tuple[tuple[str, str, str, str, dict[str, str | int]], ...] = (
    ("swiglu.py", "_swiglu_forward_kernel", "a_ptr:R,C b_ptr:R,C c_ptr!:R,C stride=C gate_multiplier=f", "R", {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("swiglu.py", "_swiglu_backward_kernel", "dc_ptr:R,C a_ptr~:R,C b_ptr~:R,C stride=C gate_multiplier=f", "R", {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("geglu.py", "_geglu_tanh_forward_kernel", "a:R,C b:R,C c!:R,C stride=C", "R", {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("geglu.py", "_geglu_tanh_backward_kernel", "dc:R,C a~:R,C b~:R,C stride=C", "R", {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("rms_norm.py", "_rms_norm_forward_kernel", f"{_NORM} RSTD_ptr!:R RSTD_row_stride=1 n_cols=C eps=f offset=f", "R",
     {"casting_mode": -1, "elementwise_affine": 1, "BLOCK_SIZE": _ROW}),
    ("layer_norm.py", "_layer_norm_forward_kernel",
     f"{_NORM} B_ptr:C B_row_stride=1 Mean_ptr!:R Mean_row_stride=1 RSTD_ptr!:R RSTD_row_stride=1 n_cols=C eps=f", "R", {"BLOCK_SIZE": _ROW}),
    ("poly_norm.py", "_poly_norm_forward_kernel",
     "Y_ptr!:R,C Y_row_stride=C X_ptr:R,C X_row_stride=C W_ptr:3 B_ptr:1 RSTD_ptr!:R,3 RSTD_row_stride=3 n_cols=C eps=f", "R", {"BLOCK_SIZE": _ROW}),
    ("relu_squared.py", "_relu_squared_forward_kernel", "Y_ptr!:R,C Y_stride=C X_ptr:R,C X_stride=C", "R", {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("relu_squared.py", "_relu_squared_backward_kernel", "dX_ptr!:R,C dX_stride=C dY_ptr:R,C dY_stride=C X_ptr:R,C X_stride=C", "R",
     {"n_cols": "C", "BLOCK_SIZE": _ROW}),
    ("dyt.py", "_dyt_fwd_kernel", "X:R,C Y!:R,C Alpha:1 Gamma:C Beta:C", "ceil_div(C, BLOCK_N); R", {"HAVE_BETA": 1, "N": "C", "BLOCK_N": 256}),
    ("softmax.py", "_softmax_single_block_forward_kernel", _SOFTMAX, "R", {"BLOCK_SIZE": _ROW}),
    ("softmax.py", "_softmax_multi_block_forward_kernel", _SOFTMAX, "R", {"BLOCK_SIZE": 256}),
    ("softmax.py", "_softmax_single_block_backward_kernel", _SOFTMAX_BACK, "R", {"BLOCK_SIZE": _ROW}),
    ("softmax.py", "_softmax_multi_block_backward_kernel", _SOFTMAX_BACK, "R", {"BLOCK_SIZE": 256}),
    ("utils.py", "element_mul_kernel", "X_ptr~:R,C X_stride=C grad_output_ptr:1 n_cols=C", "R", {"BLOCK_SIZE": 256}),
    ("kl_div.py", "_kldiv_kernel_forward", "y_ptr:R,C y_stride=C gt_ptr:R,C gt_stride=C loss_ptr!:R,C loss_stride=C n_cols=C eps=f", "R",
     {"BLOCK_SIZE": 256, "log_target": 0, "reduction": 0}),
    ("kl_div.py", "_kldiv_kernel_backward", "target_ptr:R,C target_stride=C new_grads_ptr!:R,C new_grads_stride=C n_cols=C", "R",
     {"BLOCK_SIZE": 256, "log_target": 0}),
    ("tvd.py", "_tv_distance_kernel",
     "p_ptr:R,C p_stride=C q_ptr:R,C q_stride=C loss_ptr!:R,C loss_stride=C grads_ptr!:R,C grads_stride=C label_ptr:R:integers(0,C) n_cols=C scale=f",
     "R", {"ignore_index": -100, "BLOCK_SIZE": 256, "HAS_LABEL": 0, "reduction": 0}),
    (OWN, "vector_add", "x:R y:R out!:R n=R", "ceil_div(R, BLOCK)", {"BLOCK": 1024}),
    (OWN, "fused_softmax", "x:R,C out!:R,C rows=R columns=C", "7", {"BLOCK": _ROW}),
    (OWN, "layer_norm", "x:R,C w:C b:C out!:R,C columns=C eps=f", "R", {"BLOCK": 256}),
    (OWN, "running_sum", "x:R,C out!:R,C columns=C", "R", {"BLOCK": _ROW}),
    (OWN, "log_sum_exp", "x:R,C out!:R columns=C", "R", {"BLOCK": 256}),
    (OWN, "row_argmax", "x:R,C out!:R at!:R columns=C", "R", {"BLOCK": _ROW}),
    (OWN, "embedding", "table:V,C tokens:R:integers(0,V) out!:R,C columns=C", "R", {"BLOCK": _ROW}),
    (OWN, "transposed", "x:R,C out!:C,R m=R n=C", "ceil_div(R, BLOCK); ceil_div(C, BLOCK)", {"BLOCK": 32}),
    (OWN, "matmul", "a:R,K b:K,C out!:R,C m=R n=C k=K", "ceil_div(R, BM); ceil_div(C, BN)", {"BM": 32, "BN": 32, "BK": 32}),
)  # fmt: skip
"""File, kernel, arguments (outputs with `!`, updated ones with `~`, `=f` for a float), grid, constants."""


def source_of(file: str, liger: Path) -> Path:
    """Where a case's kernel stands."""
    return Path(__file__).parent / file if file == OWN else liger / "src/liger_kernel/ops" / file


def triton_workload(kernel: str, arguments: str, grid: str, constants: dict[str, str | int]) -> Workload:
    """A workload from the table's short form."""
    written = " ".join([arguments, grid, *map(str, constants.values())])
    return Workload.model_validate(
        {
            "kernel": kernel,
            "language": "triton",
            "dims": {d: size for d, size in _DIMS.items() if re.search(rf"\b{d}\b", written)},
            "args": [_argument(argument_text) for argument_text in arguments.split()],
            "launch": {"grid": grid.split("; "), "constexpr": constants},
        }
    )


def _argument(written: str) -> dict[str, Any]:
    if ":" not in written:
        name, value = written.split("=")
        number = {"dtype": "float32", "value": 1.0} if value == "f" else {"dtype": "int32", "value": value}
        return {"name": name, "kind": "scalar", **number}
    name, shape, *values = written.split(":")
    kind = {"!": "output", "~": "inout"}.get(name[-1], "input")
    of = {"dtype": "int32", "values": values[0].replace(",", ", ")} if values else {"dtype": "float32"}
    return {"name": name.rstrip("!~"), "kind": kind, "shape": shape.split(","), **of}
