"""A GPU is lost to the first illegal address: a shape that only the baseline does not take must not cost it."""

from typing import Any

import pytest

from gate.programs import affine, workload
from gate.timed_device import CountingKernel, TimedEmulated, timed_verdict
from kernel_gate.devices.base import LaunchResult
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages import reference
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import Workload, parse_workload

SCALAR = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
VECTORS = """if (4 * i >= n) return;
    int row = 4 * i / C, column = 4 * i % C;
    float4 v = *reinterpret_cast<const float4 *>(x + row * C + column);
    *reinterpret_cast<float4 *>(y + row * C + column) =
        make_float4(2.0f * v.x + 1.0f, 2.0f * v.y + 1.0f, 2.0f * v.z + 1.0f, 2.0f * v.w + 1.0f);"""
ASSERTS = "assert(C % 4 == 0); if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
FAR = "if (i < n) y[C % 2 ? i + (1ll << 40) : i] = 2.0f * x[i] + 1.0f;"


class BreakingKernel(CountingKernel):
    def launch(self, *call: Any) -> LaunchResult:
        done = super().launch(*call)
        broken = any(fault.kind in {"misaligned", "out_of_bounds", "trap"} for fault in done.faults)
        self._device.lost |= broken
        return LaunchResult(done.faults, device_lost=broken, counts=done.counts, counted=done.counted)


class BreakingDevice(TimedEmulated):
    """Lost as a GPU is; whatever is asked of it then fails with an error of the driver's."""

    def load(self, image, beside=None) -> BreakingKernel:
        return BreakingKernel(self._space, image, self, beside)

    def allocate(self, *asked: Any):
        if self.lost:
            raise RuntimeError("cuMemAlloc failed: misaligned address")
        return super().allocate(*asked)


def rows_of_four() -> Workload:
    """C is an argument; the named ones are multiples of 4, the hidden ones are not."""
    extent = '[[args]]\nname = "C"\nkind = "scalar"\ndtype = "int32"\nvalue = "C"\n[launch]'
    return workload(**{"C = [32, 70]": "C = [32, 64]", "[launch]": extent})


def program(body: str):
    text = affine(SCALAR, body)
    return text.__class__("cuda", text.source.replace("int n)", "int n, int C)"), "affine", name="affine.cu")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(VECTORS, {"misaligned", "out-of-bounds"}, id="its vectors would be misaligned"),
        pytest.param(ASSERTS, {"trap"}, id="it asserts something else"),
    ],
)
def test_a_shape_that_only_the_baseline_does_not_take_is_left_out(body, why):
    device = BreakingDevice()
    v = timed_verdict(program(body), program(body.replace("2.0f *", "2.f *")), rows_of_four(), device)
    check = v.stage("check")
    assert check.status is StageStatus.PASS, v.reason
    assert not device.lost
    assert why & {reason.split(": ")[1] for reason in check.details["dropped"]}


def test_a_baseline_that_breaks_the_device_on_a_hidden_shape_is_said_with_what_to_do():
    v = timed_verdict(program(FAR), program(SCALAR), rows_of_four(), BreakingDevice())
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.BASELINE_FAILS_CHECK), v.reason
    assert "breaks the device on a shape that the workload does not name" in v.reason
    assert "say so with promises" in v.reason


SAMPLES = """__global__ void samples(float *y, const float *x, float step, int n) {
    int i = threadIdx.x;
    int at = (int)floorf((i - 0.5f * (n - 1)) / step + 0.5f * (n - 1));
    if (i < n) y[i] = at >= 0 && at + 1 < n ? x[at] + x[at + 1] : 0.0f;
}
"""
OF_SAMPLES = """
kernel = "samples"
language = "cuda"
dims = { n = [40, 64] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "step", kind = "scalar", dtype = "float32", value = "1.5" },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["1"], block = [64] }
"""


def of_samples(device: BreakingDevice, kernel: str = SAMPLES) -> Verdict:
    before, after = (
        Program("cuda", text, "samples", name="samples.cu")
        for text in (kernel, kernel.replace("x[at] + x[at + 1]", "x[at + 1] + x[at]"))
    )
    return timed_verdict(before, after, parse_workload(OF_SAMPLES), device)


def test_a_number_by_which_the_baseline_divides_on_the_way_to_a_place_is_never_zero_on_the_device():
    device = BreakingDevice()
    v = of_samples(device)
    check = v.stage("check")
    assert check.status is StageStatus.PASS, v.reason
    assert not device.lost
    assert any("step 0" in dropped for dropped in check.details["dropped"])
    assert any("step 1" in passed for passed in check.details["passed"])


def test_a_number_is_left_out_where_it_takes_too_long_to_see_what_the_baseline_does(monkeypatch):
    monkeypatch.setattr(reference, "_SCALAR_SECONDS", 0.0)
    long = SAMPLES.replace(
        "    if (i < n)", "    for (int k = 0; k < 1500; ++k) at += k % 7 ? 1 : -6;\n    if (i < n)"
    )
    check = of_samples(BreakingDevice(), long).stage("check")
    assert check.status is StageStatus.PASS, check.reason
    of_scalars = [dropped for dropped in check.details["dropped"] if "step" in dropped]
    assert of_scalars and all("does not show within" in dropped for dropped in of_scalars)
    assert not any("step" in passed for passed in check.details["passed"])
