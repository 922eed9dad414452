"""Verdicts of every kind that the reporters draw."""

from typing import Any

from kernel_gate.conclusion import conclude
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.stages.speed import combine, judge_speed
from kernel_gate.verdict import ShapeSpeed, SpeedState, Stage, StageStatus

ENVIRONMENT = {
    "device": {"name": "NVIDIA H200", "peak_bytes_per_second": 4.8e12, "compute_capability": [9, 0]},
    "gate": "0.1.0",
    "made": "2026-11-21T09:00:00+00:00",
    "python": "3.12.1",
    "options": {"seed": 91},
    "companions": {"oracle.py": "0" * 64},
}
BUILD = Stage(name="build", status=StageStatus.PASS, details={"arch": "sm_90"})
CHECK = Stage(
    name="check",
    status=StageStatus.PASS,
    reason="22 cases agree in every element",
    details={
        "tolerances": {"y": "1.8e-06: float32, sums of up to 32 terms"},
        "errors": {"y": {"candidate": 1.1e-7, "baseline": 9.4e-8}},
    },
)
SANITIZE = Stage(name="sanitize", status=StageStatus.PASS, reason="4 launches, nothing found")
WRONG = Stage(
    name="check",
    status=StageStatus.FAIL,
    code=Reason.WRONG_VALUE,
    reason="y[0, 31] = 0, expected <0.012>\x00; N 1, C 32, seed 91",
    details={"line": 31, "tolerances": {"y": "1.8e-06: float32"}},
)


def judged(*stages: Stage, speedup: Any = None, kernel: str = "softmax") -> NamedVerdict:
    """The verdict that these stages amount to."""
    verdict = conclude(list(stages), speedup, dict(ENVIRONMENT), "ab" * 32)
    return NamedVerdict(
        kernel, verdict, "kernels/soft max.cu", "main:kernels/soft max.cu", line=20, seconds=1.5
    )


def timed(*ratios: float, need: str = "faster") -> NamedVerdict:
    """A verdict with one profiled shape for each ratio, and its samples."""
    shapes, details = [], []
    for number, ratio in enumerate(ratios):
        state = SpeedState.FAST if ratio > 1.01 else SpeedState.SLOW if ratio < 0.99 else SpeedState.SAME
        before, after = 100.0 * (number + 1), 100.0 * (number + 1) / ratio
        dims = {"N": 4096, "C": 1024 * (number + 1)}
        shapes.append(
            ShapeSpeed(
                dims=dims, baseline_us=before, candidate_us=after, median=ratio, low=ratio - 0.004,
                high=ratio + 0.004, noise=0.002, state=state,
            )
        )  # fmt: skip
        wobble = [((i * 7919) % 101 - 50) / 2500 for i in range(120)]
        details.append(
            {
                "dims": dims, "state": state, "code": None, "reason": "", "implausible": False,
                "bytes_declared": 4 << 26, "bytes_per_second": (4 << 26) / after * 1e6,
                "peak_bytes_per_second": 4.8e12,
                "samples_of": {"blocks": 60, "of": 90},
                "device_states": [
                    {"temperature_c": 41, "power_w": 210.4, "sm_mhz": 1980, "throttle_reasons": 0},
                    {"temperature_c": 44, "power_w": 650.0, "sm_mhz": 1830, "throttle_reasons": 0x24},
                ],
                "warm": {
                    "ratio": [ratio, ratio - 0.01, ratio + 0.01], "baseline_us": before / 2,
                    "candidate_us": after / 2, "noise": 0.004, "state": "same",
                },
                "samples": {
                    "baseline_us": [before * (1 + w) for w in wobble],
                    "candidate_us": [after * (1 + w) for w in reversed(wobble)],
                },
            }
        )  # fmt: skip
    speedup = combine(shapes)
    stage = judge_speed(speedup, GateOptions(need=need), details)
    return judged(BUILD, CHECK, SANITIZE, stage, speedup=speedup, kernel="rmsnorm")


REJECTED = judged(BUILD, WRONG)
UNBUILT = judged(
    Stage(
        name="build",
        status=StageStatus.FAIL,
        code=Reason.CANDIDATE_DOES_NOT_COMPILE,
        reason='softmax.cu:7: identifier "two" is undefined',
        details={"program": "candidate", "line": 7},
    )
)
UNTIMED = judged(
    BUILD,
    CHECK,
    SANITIZE,
    Stage(name="profile", status=StageStatus.UNAVAILABLE, code=Reason.NOT_PROFILED, reason="no GPU"),
)
ACCEPTED = timed(1.31, 1.08)
SLOWER = timed(1.31, 0.9)
ALL = [REJECTED, UNBUILT, UNTIMED, ACCEPTED, SLOWER]
