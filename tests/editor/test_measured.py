"""The share of the device's peak that a timed verdict says of a kernel's text."""

from __future__ import annotations

from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.editor.measured import Measured, share_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language

KERNEL = "__global__ void k(float* out) { out[0] = 1; }\n"
H200 = {"device": {"name": "NVIDIA H200"}}
WORK = {"bytes_declared": 4e9, "peak_bytes_per_second": 4e12}


def timed(environment, **shape):
    samples = {"baseline_us": [2000, 2000, 9000], "candidate_us": [1250]}
    profile = Stage(
        name="profile", status=StageStatus.PASS, details={"shapes": [{"samples": samples, **shape}]}
    )
    return Verdict(
        outcome=Outcome.ACCEPTED, reason="", stages=[profile], environment=environment, inputs_hash="0"
    )


def source(text):
    return read(text.encode(), Language.CUDA)


def test_each_text_of_the_kernel_has_its_own_share_and_an_edit_has_none():
    calls = []
    measured = Measured(lambda: calls.append(1))
    before, after = source(KERNEL), source(KERNEL.replace("= 1", "= 2"))
    measured.take(before, after, "k", timed(H200, **WORK), "run-1")
    assert calls
    share = measured.of(before, "k")
    assert share is not None
    assert (share.words, share.run) == ("50 % of peak (H200)", "run-1")
    share = measured.of(after, "k")
    assert share is not None
    assert share.words == "80 % of peak (H200)"
    assert measured.of(source(KERNEL.replace("= 1", "= 3")), "k") is None
    assert measured.of(source("#define X 1\n" + KERNEL), "k") is None


def test_the_peak_that_is_nearest_counts():
    share = share_of(timed(H200, **WORK, flop=6e9, peak_flop_per_second=4e12), "baseline", "")
    assert share is not None
    assert share.share == 0.75


def test_without_times_work_or_device_there_is_no_share():
    for verdict in (timed({}, **WORK), timed(H200), timed(H200, **WORK, samples={})):
        assert share_of(verdict, "baseline", "") is None
