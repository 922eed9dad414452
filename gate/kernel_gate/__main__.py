"""`python -m kernel_gate`: a `GateRequest` a line on stdin, `ProgressLine`s on stderr, a `Verdict` a line on stdout.

A request that says `tell_stages` gets a `FinishedLine` on stdout for each stage that passes, before its verdict; a
`LeavingLine` says that no request after this one is read.

The device stays open from request to request, until a kernel makes it unusable. Exit status: that of the last verdict;
2 for a request that cannot be read, 4 when the device is missing.
"""

from __future__ import annotations

import math
import os
import sys

from kernel_gate.processes.loading import loading

with loading():
    from pydantic import ValidationError

    from kernel_gate.deadline import ends_within
    from kernel_gate.devices.base import DeviceError
    from kernel_gate.files.temporary import remove_own
    from kernel_gate.gate import judge
    from kernel_gate.kept import Kept
    from kernel_gate.processes.seal import own_stdout
    from kernel_gate.request import FinishedLine, GateRequest, LeavingLine, ProgressLine
    from kernel_gate.standing import ExitCode
    from kernel_gate.verdict import Stage


def _progress(stage: str, what: str, share: float) -> None:
    sys.stderr.write(ProgressLine(stage=stage, what=what, share=share).model_dump_json() + "\n")
    sys.stderr.flush()


def main() -> int:
    """Judge the requests of stdin until it ends; the exit status."""
    verdicts_to = own_stdout()
    status = ExitCode.WRONG_USE
    with Kept() as kept:
        for line in sys.stdin.buffer:
            try:
                request = GateRequest.model_validate_json(line)
            except ValidationError as error:
                sys.stderr.write(f"The request cannot be read: {error}\n")
                return ExitCode.WRONG_USE

            def tell(stage: Stage) -> None:
                verdicts_to.write(FinishedLine(finished=stage).model_dump_json() + "\n")
                verdicts_to.flush()

            kept.more_follow = not request.last
            try:
                with ends_within(math.inf if request.seconds is None else request.seconds):
                    verdict = judge(
                        request.baseline,
                        request.candidate,
                        request.workload.model_copy(update={"folder": request.folder}),
                        device=request.device,
                        options=request.options,
                        progress=_progress,
                        kept=kept,
                        finished=request.finished,
                        on_stage=tell if request.tell_stages else None,
                    )
            except DeviceError as error:
                sys.stderr.write(f"{error}\n")
                return ExitCode.ENVIRONMENT
            leaves = kept.devices.lost or request.last
            if leaves:
                verdicts_to.write(LeavingLine().model_dump_json() + "\n")
            verdicts_to.write(verdict.model_dump_json() + "\n")
            verdicts_to.flush()
            status = verdict.exit_code
            if leaves:
                break
            kept.make_ready()
    return status


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    remove_own()
    # An orderly exit would give the device back, and wait for a kernel that does not end.
    os._exit(status)
