"""The corpus: cheating or broken candidates and their honest twins, one folder each, by row of the threat list.

`python tests/gate/corpus.py` prints both rates: cheats that are not caught, and honest twins that do not pass.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Iterator
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

    @property
    def needs_gpu(self) -> bool:
        """Whether only times tell the cheat from its honest twin."""
        return bool(self.case.get("gpu", False))

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
        source = path.read_text().replace("CORPUS_FOLDER", str(self.folder))
        return Program(language, source, entry, spec, name=path.name)

    def request(self, which: str, device: Literal["cuda", "emulated"] = "emulated") -> GateRequest:
        workload = load_workload(self.folder / self.case.get(f"{which}_workload", "workload.toml"))
        options = GateOptions(**self.case.get("options", {})) if which == "cheat" else GateOptions()
        programs = self.program("baseline"), self.program(which)
        return GateRequest.of(*programs, workload, device=device, options=options)

    def judge(self, which: str) -> Verdict:
        asked = self.request(which)
        workload = asked.workload.model_copy(update={"folder": asked.folder})
        programs = asked.baseline, asked.candidate
        return judge(*programs, workload, device=asked.device, options=asked.options)

    def caught(self, verdict: Verdict) -> str:
        """ "" when the verdict says what the corpus expects of the cheat; else what it says instead."""
        expect = self.case["expect"]
        stage = verdict.stage(expect["stage"]) if expect["stage"] else None
        wanted = StageStatus.FAIL if expect["outcome"] == "rejected" else StageStatus.UNAVAILABLE
        right = verdict.outcome.value == expect["outcome"] and expect["reason"] in verdict.reason
        if right and verdict.code in expect["codes"] and (stage is None or stage.status is wanted):
            return ""
        return f"{verdict.outcome.value} ({verdict.code}): {verdict.reason}"


def passes(verdict: Verdict) -> bool:
    """Whether everything passed that can be judged without a GPU."""
    statuses = [stage.status for stage in verdict.stages]
    return statuses[:3] == [StageStatus.PASS] * 3 and verdict.outcome is not Outcome.REJECTED


def entries() -> list[Entry]:
    """All folders of the corpus."""
    folders = sorted(path.parent for path in FOLDER.glob("*/case.toml"))
    return [Entry(folder, tomllib.loads((folder / "case.toml").read_text())) for folder in folders]


def _judged() -> Iterator[tuple[str, Verdict, str, Verdict]]:
    """Name, verdict on the cheat, what is wrong with that, verdict on the honest twin."""
    from gate.environments import ENVIRONMENTS, in_a_folder

    for entry in (e for e in entries() if not e.needs_gpu):
        cheat = entry.judge("cheat")
        yield entry.name, cheat, entry.caught(cheat), entry.judge("honest")
    for environment in ENVIRONMENTS:
        cheat = in_a_folder(environment.cheat)
        name = f"{environment.row}_{environment.name}"
        yield name, cheat, environment.caught(cheat), in_a_folder(environment.honest)


def main() -> int:
    """Print a table and both rates; 1 when either is not zero."""
    total = false_accepts = false_rejects = 0
    started = time.perf_counter()
    for name, cheat, missed, honest in _judged():
        refused = not passes(honest)
        total += 1
        false_accepts += bool(missed)
        false_rejects += refused
        state = "ok" if not missed and not refused else "WRONG"
        seconds, started = time.perf_counter() - started, time.perf_counter()
        sys.stdout.write(f"{state:5} {name:36} {seconds:5.1f} s  {cheat.reason[:110]}\n")
        if refused:
            sys.stdout.write(f"      honest twin: {honest.reason}\n")
    sys.stdout.write(
        f"{false_accepts} of {total} cheats not caught as expected, {false_rejects} honest twins refused\n"
    )
    return int(false_accepts + false_rejects > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parents[1]))
    sys.exit(main())
