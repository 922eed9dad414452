"""A gated use becomes evidence, whatever its outcome; a use that was not gated does not."""

from datetime import date

import pytest

from kernel_gate.verdict import (
    Outcome,
    ShapeSpeed,
    SpeedState,
    Speedup,
    Stage,
    StageStatus,
    Verdict,
)
from kernel_lineage.learning.measured_use import NoVerdictError, evidence_of
from kernel_lineage.rewrite.document import ApplyDocument

SHAPE = ShapeSpeed(
    dims={"n": 1024},
    baseline_us=20.0,
    candidate_us=10.0,
    median=2.0,
    low=1.9,
    high=2.1,
    noise=0.01,
    state=SpeedState.FAST,
)


def _document(outcome=Outcome.ACCEPTED, speedup=True):
    return ApplyDocument(
        skill="vectorised-row-access",
        path="activation.cu",
        kernel="gelu_forward",
        by="assist",
        outcome=outcome.value,
        reason="",
        source_sha256="",
        guarded=True,
        verdict=Verdict(
            outcome=outcome,
            reason="faster: 2.0×",
            stages=[Stage(name="check", status=StageStatus.PASS)],
            speedup=Speedup(median=2.0, low=1.9, high=2.1, state=SpeedState.FAST, by_shape=[SHAPE])
            if speedup
            else None,
            environment={"device": {"name": "NVIDIA H200"}, "nvrtc": "13.0"},
            inputs_hash="abc",
        ),
    )


def _evidence(document, held_out=True):
    return evidence_of(document, held_out=held_out, command="klineage …", on=date(2025, 4, 1))


def test_an_accepted_use_keeps_device_sizes_and_interval():
    evidence = _evidence(_document())
    assert (evidence.outcome, evidence.device, evidence.held_out) == ("accepted", "NVIDIA H200", True)
    assert (evidence.sizes[0].low, evidence.sizes[0].speedup, evidence.sizes[0].high) == (1.9, 2.0, 2.1)
    assert evidence.toolchain == {"nvrtc": "13.0"}


def test_a_rejected_use_is_kept_too():
    evidence = _evidence(_document(Outcome.REJECTED, speedup=False))
    assert (evidence.outcome, evidence.sizes) == ("rejected", ())


def test_a_use_that_was_not_gated_shows_nothing():
    refused = _document().model_copy(update={"verdict": None, "reason": "no workload"})
    with pytest.raises(NoVerdictError, match="no workload"):
        _evidence(refused)
