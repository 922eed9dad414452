"""`python -m kernel_gate`: a `GateRequest` on stdin, `ProgressLine`s on stderr, a `Verdict` on stdout.

Exit status: that of the verdict; 2 for a request that cannot be read, 4 when the device is missing.
"""

from __future__ import annotations

import os
import sys

from pydantic import ValidationError

from kernel_gate.devices.base import DeviceError
from kernel_gate.gate import judge
from kernel_gate.request import GateRequest, ProgressLine
from kernel_gate.verdict import ExitCode


def _progress(stage: str, what: str, share: float) -> None:
    sys.stderr.write(ProgressLine(stage=stage, what=what, share=share).model_dump_json() + "\n")
    sys.stderr.flush()


def main() -> int:
    """Judge one request; the exit status."""
    verdict_to = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        request = GateRequest.model_validate_json(sys.stdin.buffer.read())
    except ValidationError as error:
        sys.stderr.write(f"The request cannot be read: {error}\n")
        return ExitCode.WRONG_USE
    try:
        verdict = judge(
            request.baseline.program(),
            request.candidate.program(),
            request.workload.model_copy(update={"folder": request.folder}),
            device=request.device,
            options=request.options,
            progress=_progress,
        )
    except DeviceError as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.ENVIRONMENT
    verdict_to.write(verdict.model_dump_json())
    verdict_to.flush()
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
