"""A candidate before the gate: baseline and candidate as programs, judged in a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.worker import run_in_child
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.apply import Judge
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.compiled_where import where_it_compiles
from kernel_lineage.rewrite.instances import judged_in_all_types
from kernel_lineage.rewrite.proving.both import judged_with_proofs
from kernel_lineage.workloads.files import source_of, target_in
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.saved import FoundWorkload


def judge_in_child(
    device: Literal["auto", "cuda", "emulated"],
    report: Callable[[str, str], None],
    run: Callable[..., Verdict] = run_in_child,
) -> Judge:
    """A judge that builds both programs from the file's text and runs the gate on a device, by `run`.

    It raises `ProgramError` when no program can be made, `DeviceError` when the device that was asked for is missing.
    """

    def judge(kernel: Kernel, path: Path, text: bytes, candidate: Candidate, entry: FoundWorkload) -> Verdict:
        program = partial(program_from_file, path, candidate.function or kernel.name)
        programs = (
            partial(program, data=text, name=f"{path.name} (before)"),
            partial(
                program,
                data=candidate.apply(text),
                launch=candidate.launch,
                name=f"{path.name} (after)",
                changed_from=text,
            ),
        )

        @where_it_compiles
        def gated(request: GateRequest) -> Verdict:
            return run(request, on_progress=lambda stage, what, _share: report(stage, what))

        before, after = (make(entry.workload) for make in programs)
        asked = GateRequest.of(before, after, entry.workload, device=device)
        verdict = judged_with_proofs(lambda: gated(asked), before, after, path, entry.workload)
        target = (
            target_in(source_of(path, text), candidate.function, str(path)) if candidate.function else kernel
        )
        return judged_in_all_types(verdict, asked, path, target, programs, gated)

    return judge
