"""Rounding noise: what is rounded moves by a unit in the last place, what is exact stays."""

import numpy as np
import pytest

from gate.programs import AFFINE, workload
from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.devices.opening import open_quiet
from kernel_gate.options import GateOptions
from kernel_gate.program import Program

DIMS = {"N": 1, "C": 70}


def outputs(expression: str, x: np.ndarray, noise: int | None) -> np.ndarray:
    text = f"#include <cuda_fp16.h>\n{AFFINE.replace('2.0f * x[i] + 1.0f', expression)}"
    built = build_program(
        Program("cuda", text, "affine"), workload(), [DIMS], arch="sm_80", options=GateOptions()
    )
    device = open_quiet(5.0, noise=noise)
    try:
        with LoadedProgram(device, built, workload()).execution(DIMS) as execution:
            return execution.run({"x": x.reshape(1, 70)}, 0).outputs["y"].reshape(-1)
    finally:
        device.close()


@pytest.mark.parametrize(
    "expression",
    ["x[i]", "2.0f * x[i]", "x[i] + 1.0f", "fmaxf(x[i], 3.0f)", "exp2f(8.0f * x[i])", "__cosf(0.0f * x[i])"],
)
def test_exact_results_stay(expression):
    x = np.arange(70, dtype=np.float32) / 8
    np.testing.assert_array_equal(outputs(expression, x, 1), outputs(expression, x, None))


@pytest.mark.parametrize(
    ("expression", "least", "most"),
    [
        ("x[i] / 3.0f", 2**-24, 2**-22),
        ("__expf(x[i] / 8.0f)", 2**-24, 2**-19),
        ("__half2float(__float2half(x[i] / 3.0f))", 2**-11, 2**-8),
        ("__low2float(__floats2half2_rn(x[i] / 3.0f, 1.0f))", 2**-11, 2**-8),
        ("__high2float(__floats2half2_rn(1.0f, x[i] / 3.0f))", 2**-11, 2**-8),
    ],
    ids=lambda v: str(v),
)
def test_rounded_results_move_by_about_a_unit(expression, least, most):
    x = np.arange(1, 71, dtype=np.float32)
    plain, noisy, again = (outputs(expression, x, noise) for noise in (None, 1, 2))
    moved = np.abs(noisy / plain - 1)
    assert least < moved.max() < most and (moved > 0).mean() > 0.5
    assert (noisy != again).any()


@pytest.mark.parametrize(
    "expression", ["(1.0f + x[i]) - 1.0f", "fmaf(x[i], x[i], 1.0f) - 1.0f", "__expf(x[i]) - 1.0f"]
)
def test_what_is_lost_beside_a_larger_number_is_rounded(expression):
    assert outputs(expression, np.full(70, 1e-25, np.float32), 1).any()


def test_noise_shows_what_cancels():
    x = np.full(70, 1e-4, np.float32)
    plain, noisy = (outputs("(1.0f + x[i]) - 1.0f", x, noise) for noise in (None, 1))
    assert 1e-4 < np.abs(noisy / plain - 1).max() < 1e-2
