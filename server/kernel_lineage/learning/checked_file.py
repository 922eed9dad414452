"""A kernel of a file as it is now, checked with the repository's workload or a draft."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.devices.base import DeviceError
from kernel_gate.options import GateOptions
from kernel_gate.verdict import Verdict
from kernel_gate.workload import WorkloadError
from kernel_lineage.learning.saved_kernels import Saved, SavedVerdict, check_saved
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.version_checks import Reference, VersionState
from kernel_lineage.workloads.on_the_spot import NoWorkloadError, SpotWorkload
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import FOLDER, FoundWorkload, folder_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A kernel, or a host function that launches some, to be checked."""

    path: Path
    text: bytes
    """The file's, which may differ from the disk's."""
    name: str
    line: int
    """Where it begins, 1-based."""
    passed: bytes | None = None
    """A text of the file that passed before."""


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """One kernel, what it was run with, and what that showed."""

    asked: Asked
    workload: SpotWorkload | None
    result: SavedVerdict | None
    why_not: str = ""
    """Why nothing was run."""
    unbuilt: str = ""
    """What a compiler says of the kernel, where that is why: `rows.cu:4: …`."""


def checked_kernel(
    asked: Asked,
    workload_of: Callable[[], SpotWorkload],
    judge: Judge,
    options: GateOptions,
    *,
    mended: Callable[[Verdict], SpotWorkload | None] = lambda _verdict: None,
    verdicts: MutableMapping[str, Verdict] | None = None,
) -> CheckedKernel:
    """The kernel on the emulated device; `judge` bounds the time. Raises nothing that is about the kernel.

    `mended` takes the verdict on a kernel that is wrong beside itself, and gives the workload to try in place of the
    last one.
    """
    try:
        spot: SpotWorkload | None = workload_of()
        while spot is not None:
            place = spot.path or folder_of(asked.path) / FOLDER / f"{asked.name}.toml"
            workload_file = FoundWorkload(spot.workload, place)
            saved = Saved(asked.path, asked.text, asked.name, asked.line, workload_file)
            result = check_saved(saved, judge, options, passed=asked.passed, verdicts=verdicts)
            checked = CheckedKernel(asked, spot, result, result.why_not)
            if spot.path is not None or result.verdict is None or result.reference is not Reference.ITSELF:
                break
            spot = mended(result.verdict) if result.state is VersionState.WRONG else None
    except NoWorkloadError as error:
        return CheckedKernel(asked, None, None, str(error), error.unbuilt)
    except (WorkloadError, ProgramError, DeviceError) as error:
        return CheckedKernel(asked, None, None, str(error))
    return checked
