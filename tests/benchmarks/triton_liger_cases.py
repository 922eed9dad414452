"""Cases of Liger-Kernel's operators; their source is read from a checkout at run time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .llmc_case import Arrays, floats, hole, int32, softmax
from .triton_case import TritonCase

_ROWS, _COLUMNS, _BLOCK = 16, 700, 1024
_GRID = (_ROWS,)
_GELU = np.sqrt(2 / np.pi)
_STRIDE = int32(_COLUMNS)
_CONSTANTS = {"n_cols": _COLUMNS, "BLOCK_SIZE": _BLOCK}


def _rows(seed: int = 0) -> np.ndarray:
    return floats(_ROWS, _COLUMNS, seed + 1)[..., seed].copy()


def gated() -> Iterator[TritonCase]:
    """SwiGLU and GeGLU, forward and backward (which overwrites its inputs)."""
    a, b, dc = _rows(0), _rows(1), _rows(2)
    multiplier = np.float32(1.25)

    def swiglu(v: Arrays) -> Arrays:
        x = v["a_ptr"] * v["gate_multiplier"]
        return {"c_ptr": x / (1 + np.exp(-x)) * v["b_ptr"]}

    def swiglu_gradient(v: Arrays) -> Arrays:
        x, dy = v["a_ptr"] * v["gate_multiplier"], v["dc_ptr"]
        s = 1 / (1 + np.exp(-x))
        return {
            "a_ptr": dy * (x * s * (1 - s) + s) * v["b_ptr"] * v["gate_multiplier"],
            "b_ptr": dy * x * s,
        }

    names = {"a_ptr": a, "b_ptr": b, "stride": _STRIDE, "gate_multiplier": multiplier}
    file = "swiglu.py"
    yield TritonCase(
        file, "_swiglu_forward_kernel", {**names, "c_ptr": hole(_ROWS, _COLUMNS)}, _GRID, swiglu, _CONSTANTS
    )
    yield TritonCase(
        file, "_swiglu_backward_kernel", {**names, "dc_ptr": dc}, _GRID, swiglu_gradient, _CONSTANTS
    )

    def geglu(v: Arrays) -> Arrays:
        t = np.tanh(_GELU * (v["a"] + 0.044715 * v["a"] ** 3))
        return {"c": 0.5 * v["a"] * (1 + t) * v["b"]}

    def geglu_gradient(v: Arrays) -> Arrays:
        x = v["a"]
        t = np.tanh(_GELU * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * _GELU * (1 + 3 * 0.044715 * x**2)
        return {"a": v["dc"] * v["b"] * slope, "b": v["dc"] * 0.5 * x * (1 + t)}

    pair = {"a": a, "b": b, "stride": _STRIDE}
    file = "geglu.py"
    yield TritonCase(
        file, "_geglu_tanh_forward_kernel", {**pair, "c": hole(_ROWS, _COLUMNS)}, _GRID, geglu, _CONSTANTS
    )
    yield TritonCase(
        file, "_geglu_tanh_backward_kernel", {**pair, "dc": dc}, _GRID, geglu_gradient, _CONSTANTS
    )


def norms() -> Iterator[TritonCase]:
    """RMSNorm (float and bf16), LayerNorm, PolyNorm."""
    x, w = _rows(3), floats(_COLUMNS)
    sizes = {"n_cols": int32(_COLUMNS), "eps": np.float32(1e-5)}
    one = int32(1)

    def rms(v: Arrays) -> Arrays:
        rstd = 1 / np.sqrt((v["X_ptr"] ** 2).mean(1) + v["eps"])
        return {"Y_ptr": v["X_ptr"] * rstd[:, None] * (v["offset"] + v["W_ptr"]), "RSTD_ptr": rstd}

    names = {
        "Y_ptr": hole(_ROWS, _COLUMNS), "Y_row_stride": _STRIDE, "X_ptr": x, "X_row_stride": _STRIDE, "W_ptr": w,
        "W_row_stride": one, "RSTD_ptr": hole(_ROWS), "RSTD_row_stride": one, **sizes, "offset": np.float32(1),
    }  # fmt: skip
    for mode, low in ((-1, ()), (1, ("X_ptr", "W_ptr", "Y_ptr"))):
        constants = {"casting_mode": mode, "elementwise_affine": True, "BLOCK_SIZE": _BLOCK}
        yield TritonCase(
            "rms_norm.py",
            "_rms_norm_forward_kernel",
            names,
            _GRID,
            rms,
            constants,
            low_precision=frozenset(low),
        )

    def layer(v: Arrays) -> Arrays:
        mean, rstd = v["X_ptr"].mean(1), 1 / np.sqrt(v["X_ptr"].var(1) + v["eps"])
        normal = (v["X_ptr"] - mean[:, None]) * rstd[:, None]
        return {"Y_ptr": normal * v["W_ptr"] + v["B_ptr"], "Mean_ptr": mean, "RSTD_ptr": rstd}

    yield TritonCase(
        "layer_norm.py", "_layer_norm_forward_kernel",
        {**{k: names[k] for k in list(names)[:6]}, "B_ptr": floats(_COLUMNS, 1).ravel(), "B_row_stride": one,
         "Mean_ptr": hole(_ROWS), "Mean_row_stride": one, "RSTD_ptr": hole(_ROWS), "RSTD_row_stride": one, **sizes},
        _GRID, layer, {"BLOCK_SIZE": _BLOCK},
    )  # fmt: skip

    def poly(v: Arrays) -> Arrays:
        powers = [v["X_ptr"] ** p for p in (3, 2, 1)]
        rstd = [1 / np.sqrt((p**2).mean(1) + v["eps"]) for p in powers]
        terms = (w * p * r[:, None] for w, p, r in zip(v["W_ptr"], powers, rstd, strict=True))
        return {"Y_ptr": sum(terms) + v["B_ptr"], "RSTD_ptr": np.stack(rstd, axis=1)}

    yield TritonCase(
        "poly_norm.py", "_poly_norm_forward_kernel",
        {**{k: names[k] for k in list(names)[:4]}, "W_ptr": floats(3), "B_ptr": floats(1), "RSTD_ptr": hole(_ROWS, 3),
         "RSTD_row_stride": int32(3), **sizes}, _GRID, poly, {"BLOCK_SIZE": _BLOCK},
    )  # fmt: skip


def activations() -> Iterator[TritonCase]:
    """Squared ReLU, dynamic tanh, softmax, scaling in place."""
    x, dy = _rows(4), _rows(5)
    out = hole(_ROWS, _COLUMNS)
    file = "relu_squared.py"
    yield TritonCase(
        file, "_relu_squared_forward_kernel", {"Y_ptr": out, "Y_stride": _STRIDE, "X_ptr": x, "X_stride": _STRIDE},
        _GRID, lambda v: {"Y_ptr": np.maximum(v["X_ptr"], 0) ** 2}, _CONSTANTS,
    )  # fmt: skip
    yield TritonCase(
        file, "_relu_squared_backward_kernel",
        {"dX_ptr": out, "dX_stride": _STRIDE, "dY_ptr": dy, "dY_stride": _STRIDE, "X_ptr": x, "X_stride": _STRIDE},
        _GRID, lambda v: {"dX_ptr": 2 * v["dY_ptr"] * np.maximum(v["X_ptr"], 0)}, _CONSTANTS,
    )  # fmt: skip
    yield TritonCase(
        "dyt.py", "_dyt_fwd_kernel",
        {"X": x, "Y": out, "Alpha": np.array([0.7], np.float32), "Gamma": floats(_COLUMNS),
         "Beta": floats(_COLUMNS, 1).ravel()}, (1, _ROWS),
        lambda v: {"Y": np.tanh(v["Alpha"] * v["X"]) * v["Gamma"] + v["Beta"]},
        {"HAVE_BETA": True, "N": _COLUMNS, "BLOCK_N": _BLOCK},
    )  # fmt: skip
    stride = {"Y_row_stride": _STRIDE, "X_row_stride": _STRIDE, "n_cols": int32(_COLUMNS)}
    file = "softmax.py"
    yield TritonCase(
        file, "_softmax_single_block_forward_kernel", {"Y_ptr": out, "X_ptr": x, **stride}, _GRID,
        lambda v: {"Y_ptr": softmax(v["X_ptr"])}, {"BLOCK_SIZE": _BLOCK},
    )  # fmt: skip
    y = softmax(x * 2).astype(np.float32)
    yield TritonCase(
        file, "_softmax_single_block_backward_kernel",
        {"dy_ptr": dy, "dy_stride": _STRIDE, "y_ptr": y, "y_stride": _STRIDE, "dx_ptr": out, "dx_stride": _STRIDE,
         "n_cols": int32(_COLUMNS)}, _GRID,
        lambda v: {"dx_ptr": v["y_ptr"] * (v["dy_ptr"] - (v["dy_ptr"] * v["y_ptr"]).sum(1, keepdims=True))},
        {"BLOCK_SIZE": _BLOCK},
    )  # fmt: skip
    yield TritonCase(
        "utils.py", "element_mul_kernel",
        {"X_ptr": x, "X_stride": _STRIDE, "grad_output_ptr": np.array([0.3], np.float32), "n_cols": int32(_COLUMNS)},
        _GRID, lambda v: {"X_ptr": v["X_ptr"] * v["grad_output_ptr"]}, {"BLOCK_SIZE": 256},
    )  # fmt: skip


def losses() -> Iterator[TritonCase]:
    """Divergences of distributions."""
    p, q = softmax(_rows(6)).astype(np.float32), softmax(_rows(7)).astype(np.float32)
    file = "kl_div.py"
    yield TritonCase(
        file, "_kldiv_kernel_forward",
        {"y_ptr": np.log(q), "y_stride": _STRIDE, "gt_ptr": p, "gt_stride": _STRIDE, "loss_ptr": hole(_ROWS),
         "loss_stride": int32(1), "n_cols": int32(_COLUMNS), "eps": np.float32(1e-10)}, _GRID,
        lambda v: {"loss_ptr": (v["gt_ptr"] * (np.log(v["gt_ptr"]) - v["y_ptr"])).sum(1)}, {"BLOCK_SIZE": 256},
    )  # fmt: skip
    yield TritonCase(
        file, "_kldiv_kernel_backward",
        {"target_ptr": p, "target_stride": _STRIDE, "new_grads_ptr": hole(_ROWS, _COLUMNS), "new_grads_stride": _STRIDE,
         "n_cols": int32(_COLUMNS)}, _GRID, lambda v: {"new_grads_ptr": -v["target_ptr"]}, {"BLOCK_SIZE": 256},
    )  # fmt: skip
    yield TritonCase(
        "tvd.py", "_tv_distance_kernel",
        {"p_ptr": p, "p_stride": _STRIDE, "q_ptr": q, "q_stride": _STRIDE, "loss_ptr": hole(_ROWS),
         "loss_stride": int32(1), "grads_ptr": hole(_ROWS, _COLUMNS), "grads_stride": _STRIDE,
         "label_ptr": np.zeros(_ROWS, np.int32), "n_cols": int32(_COLUMNS), "scale": np.float32(0.25)}, _GRID,
        lambda v: {
            "loss_ptr": (0.5 * np.abs(v["p_ptr"] - v["q_ptr"])).sum(1) * v["scale"],
            "grads_ptr": np.where(v["p_ptr"] > v["q_ptr"], 0.5, -0.5) * v["scale"],
        }, {"ignore_index": -100, "BLOCK_SIZE": 256, "HAS_LABEL": False},
    )  # fmt: skip


FAMILIES = (gated, norms, activations, losses)
