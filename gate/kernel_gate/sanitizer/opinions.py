"""What each kind of detector says of a program on some cases, in one form."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import DeviceError, Fault
from kernel_gate.devices.opening import EMULATED_ARCH, open_emulated
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError
from kernel_gate.sanitizer.choice import DOUBTED, not_understood, nothing_to_watch
from kernel_gate.sanitizer.tool import TOOLS, SanitizerMissing, SpareTools, tool_version
from kernel_gate.sanitizer.watching import Watching
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A fault, and who says so."""

    source: str
    """The tool, or `emulated device`."""
    fault: Fault
    case: str
    """"" when the tool does not tell which of the cases it was."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one kind of detector says."""

    source: str
    suspicions: tuple[Suspicion, ...] = ()
    launches: int = 0
    missing: str = ""
    """Why it did not watch every case to the end; "" when it did."""
    more: Mapping[str, Any] = field(default_factory=dict)
    doubted: tuple[Suspicion, ...] = ()
    """What a tool says that does not understand how the program orders its threads: no reason to reject."""
    doubt: str = ""
    """What it does not understand."""

    def describe(self) -> dict[str, Any]:
        """For the stage's details."""
        findings = [
            {"kind": s.fault.kind, "line": s.fault.line, "case": s.case} for s in self.suspicions[:20]
        ]
        about = {"source": self.source, "launches": self.launches, "found": findings, **self.more}
        if self.doubted:
            about["doubted"] = [s.fault.message for s in self.doubted[:20]]
        return {**about, "unavailable": self.missing} if self.missing else about

    def summary(self) -> str:
        """One clause for people."""
        if self.missing:
            return f"{self.source} unavailable: {self.missing}"
        if self.doubted:
            first = self.doubted[0]
            return f"{first.source} set aside, as it does not know {self.doubt}: {first.fault.message}"
        return f"{self.source}: nothing found in {self.launches} launches"


class Tools:
    """compute-sanitizer's tools at work on some cases, or the reason why not. A context manager."""

    def __init__(
        self,
        built: Built,
        workload: Workload,
        cases: Sequence[Case],
        spares: SpareTools,
        tools: Iterable[str] = TOOLS,
    ) -> None:
        self.missing = ""
        self._cases = cases
        self._idle = nothing_to_watch(built.images.values())
        self._not_understood = not_understood(built.images.values())
        self._watching: Watching | None = None
        try:
            self._watching = Watching(
                spares, built, workload, cases, [t for t in tools if t not in self._idle]
            )
        except (LaunchError, DeviceError) as error:
            self.missing = str(error)

    def __enter__(self) -> Tools:
        """Start them."""
        if self._watching is not None:
            # Asking for the version takes a process: while the tools are at work it costs nothing.
            threading.Thread(target=tool_version, daemon=True).start()
            try:
                self._watching.__enter__()
            except SanitizerMissing as error:
                self.missing, self._watching = str(error), None
            except OSError as error:
                self.missing, self._watching = f"it cannot be started: {error}", None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.__exit__(kind, value, trace)

    def opinion(self, seconds: float) -> Opinion:
        """Wait for all of them, `seconds` at most."""
        if self._watching is None:
            return Opinion("compute-sanitizer", missing=self.missing)
        answers = self._watching.answers(seconds)
        suspicions = tuple(
            Suspicion(a.tool, f.fault, str(self._cases[f.case]) if f.case is not None else "")
            for a in answers
            for f in a.found
        )
        tools = {a.tool: a.unusable or f"{a.seconds:.2f} s" for a in answers}
        tools |= {tool: f"not started: {why}" for tool, why in self._idle.items()}
        missing = "; ".join(a.unusable for a in answers if a.unusable)
        launches = max((a.launches for a in answers), default=0)
        more = {"version": tool_version(), "tools": tools}
        misread = self._not_understood
        doubted = tuple(s for s in suspicions if s.source in misread and s.fault.kind in DOUBTED[s.source])
        stands = tuple(s for s in suspicions if s not in doubted)
        doubt = " and ".join(dict.fromkeys(misread[s.source] for s in doubted))
        return Opinion("compute-sanitizer", stands, launches, missing, more, doubted, doubt)


def emulate(built: Built, workload: Workload, cases: Sequence[Case], seconds: float) -> Opinion:
    """The emulated device's detectors on some cases, smallest first, until the time is spent.

    The program is compiled again only where its images are for another architecture.
    """
    source = "emulated device"
    if not cases:
        return Opinion(source, missing="no named case is small enough")
    suspicions: list[Suspicion] = []
    launches = 0
    deadline = time.monotonic() + seconds
    device = open_emulated(seconds)
    try:
        loaded = LoadedProgram(device, _for_emulation(built, workload, cases), workload)
        for case in cases:
            if launches and time.monotonic() > deadline:
                return Opinion(
                    source, tuple(suspicions), launches, f"only {launches} cases fit into {seconds:g} s"
                )
            with loaded.execution(case.dims) as execution:
                done = execution.run(make_inputs(workload, case), 0)
            launches += 1
            for fault in done.faults:
                if fault.kind in {"unsupported", "timeout"}:
                    return Opinion(source, tuple(suspicions), launches, fault.message)
                suspicions.append(Suspicion(source, fault, str(case)))
    except (BuildError, CompilerMissing, LaunchError, DeviceError) as error:
        return Opinion(source, tuple(suspicions), launches, str(error))
    finally:
        device.close()
    return Opinion(source, tuple(suspicions), launches)


def _for_emulation(built: Built, workload: Workload, cases: Sequence[Case]) -> Built:
    if all(image.arch == EMULATED_ARCH for image in built.images.values()):
        return built
    return build_program(built.program, workload, [case.dims for case in cases], arch=EMULATED_ARCH)
