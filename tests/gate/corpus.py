"""The corpus: cheating or broken candidates and their honest twins, one folder each, by row of the threat list.

`python tests/gate/corpus.py` prints both rates: cheats that are not caught, and honest twins that do not pass.
"""

from __future__ import annotations

import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import load_workload

FOLDER = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Entry:
    """One folder of the corpus."""

    folder: Path
    case: dict[str, Any]

    @property
    def name(self) -> str:
        return self.folder.name

    def program(self, which: str) -> Program:
        path = next(p for p in self.folder.glob(f"{which}.*") if p.suffix in {".cu", ".py"})
        language = "cuda" if path.suffix == ".cu" else "triton"
        launch = self.case.get(f"{which}_launch")
        spec = (
            LaunchSpec(tuple(launch["grid"]), tuple(launch["block"]), launch["shared_bytes"])
            if launch
            else None
        )
        entry = load_workload(self.folder / "workload.toml").kernel
        return Program(language, path.read_text(), entry, spec, name=path.name)

    def request(self, which: str, device: Literal["cuda", "emulated"] = "emulated") -> GateRequest:
        workload = load_workload(self.folder / self.case.get(f"{which}_workload", "workload.toml"))
        options = GateOptions(**self.case.get("options", {})) if which == "cheat" else GateOptions()
        programs = self.program("baseline"), self.program(which)
        return GateRequest.of(*programs, workload, device=device, options=options)

    def judge(self, which: str) -> Verdict:
        asked = self.request(which)
        workload = asked.workload.model_copy(update={"folder": asked.folder})
        programs = asked.baseline.program(), asked.candidate.program()
        return judge(*programs, workload, device=asked.device, options=asked.options)

    def caught(self, verdict: Verdict) -> str:
        """ "" when the verdict says what the corpus expects of the cheat; else what it says instead."""
        expect = self.case["expect"]
        stage = verdict.stage(expect["stage"]) if expect["stage"] else None
        wanted = StageStatus.FAIL if expect["outcome"] == "rejected" else StageStatus.UNAVAILABLE
        right = verdict.outcome.value == expect["outcome"] and expect["reason"] in verdict.reason
        if right and (stage is None or stage.status is wanted):
            return ""
        return f"{verdict.outcome.value}: {verdict.reason}"


def passes(verdict: Verdict) -> bool:
    """Whether everything passed that can be judged without a GPU."""
    statuses = [stage.status for stage in verdict.stages]
    return statuses[:3] == [StageStatus.PASS] * 3 and verdict.outcome is not Outcome.REJECTED


def entries() -> list[Entry]:
    """All folders of the corpus."""
    folders = sorted(path.parent for path in FOLDER.glob("*/case.toml"))
    return [Entry(folder, tomllib.loads((folder / "case.toml").read_text())) for folder in folders]


def main() -> int:
    """Print a table and both rates; 1 when either is not zero."""
    false_accepts = false_rejects = 0
    found = entries()
    for entry in found:
        started = time.perf_counter()
        cheat, honest = entry.judge("cheat"), entry.judge("honest")
        missed, refused = entry.caught(cheat), not passes(honest)
        false_accepts += bool(missed)
        false_rejects += refused
        state = "ok" if not missed and not refused else "WRONG"
        seconds = time.perf_counter() - started
        sys.stdout.write(f"{state:5} {entry.name:36} {seconds:5.1f} s  {cheat.reason[:110]}\n")
        if refused:
            sys.stdout.write(f"      honest twin: {honest.reason}\n")
    total = len(found)
    sys.stdout.write(
        f"{false_accepts} of {total} cheats not caught as expected, {false_rejects} honest twins refused\n"
    )
    return int(false_accepts + false_rejects > 0)


if __name__ == "__main__":
    sys.exit(main())
