"""The other machine of a scenario: it judges as any does, and says times that an H200 has measured before.

What it replaces is the one stage that the emulated device has not: the profile. The times are those of the same
change to the same kernel of the sample repository (evidence/h200-2026-11-21/demo.json).
"""

import json
from pathlib import Path
from typing import Any

from kernel_gate.conclusion import conclude
from kernel_gate.fleet import answering
from kernel_gate.processes.seal import own_stdout
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Verdict

RECORDED = Path(__file__).resolve().parents[3] / "evidence/h200-2026-11-21/demo.json"
judged_here = answering.judged


def with_recorded_times(*asked: Any) -> Verdict:
    verdict = judged_here(*asked)
    if verdict.code is not Reason.NOT_PROFILED:
        return verdict
    measured = Verdict.model_validate(json.loads(RECORDED.read_text())["applied"]["verdict"])
    profile = measured.stage("profile")
    assert profile is not None
    stages = [*(stage for stage in verdict.stages if stage.name != "profile"), profile]
    about = {**verdict.environment, **{name: measured.environment.get(name) for name in ("device", "made")}}
    return conclude(stages, measured.speedup, about, verdict.inputs_hash)


answering.judged = with_recorded_times
answering.answer(own_stdout())
