"""The kernels of a file as they are now, each checked with the repository's workload or one drafted on the spot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.devices.base import DeviceError
from kernel_gate.worker import Worker
from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.saved_kernels import Saved, SavedVerdict, check_saved
from kernel_lineage.workloads.on_the_spot import SpotWorkload, workload_on_the_spot
from kernel_lineage.workloads.programs import ProgramError
from kernel_lineage.workloads.saved import FOLDER, FoundWorkload, folder_of


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """One kernel, what it was run with, and what that showed."""

    kernel: Kernel
    workload: SpotWorkload | None
    result: SavedVerdict | None
    why_not: str = ""
    """Why nothing was run."""


def checked_kernels(
    path: Path,
    text: bytes,
    kernels: tuple[Kernel, ...],
    *,
    seconds: float,
    on_progress: Callable[[str, str, float], None] = lambda _stage, _what, _share: None,
) -> Iterator[CheckedKernel]:
    """Each kernel on the emulated device, within so many seconds for all of them. `text` is the file's."""
    deadline = time.monotonic() + seconds
    with Worker() as worker:
        for kernel in kernels:
            left = deadline - time.monotonic()
            if left <= 0:
                yield CheckedKernel(
                    kernel, None, None, f"the {seconds:g} seconds were spent on others before"
                )
                continue
            try:
                spot = workload_on_the_spot(
                    path,
                    kernel.name,
                    "emulated",
                    lambda done, total: on_progress("workload", f"mutant {done} of {total}", done / total),
                )
            except (WorkloadError, ProgramError, DeviceError) as error:
                yield CheckedKernel(kernel, None, None, str(error))
                continue
            place = spot.path or folder_of(path) / FOLDER / f"{kernel.name}.toml"
            saved = Saved(
                path, text, kernel.name, kernel.span.first_line, FoundWorkload(spot.workload, place)
            )
            result = check_saved(
                saved,
                worker,
                seconds=left,
                passed=None,
                known={},
                cancelled=lambda: False,
                on_progress=on_progress,
            )
            yield CheckedKernel(kernel, spot, result, result.why_not)
