"""What one launch executed, counted: facts of its addresses and branches, never a time.

Instructions are PTX instructions issued for a warp, predicated ones included. A division or a square root with an
exact rounding is one of them, whatever sequence a GPU runs for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kernel_gate.program import WARP


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one source line, or of all of them."""

    classes: Mapping[str, int] = field(default_factory=dict)
    """Instructions issued for warps, by class: `integer`, `fp32`, `load_store`, … (`emulated.instruction_classes`)."""
    thread_instructions: int = 0
    """The same, one for each active thread."""
    global_requests: int = 0
    """Accesses of warps to global memory."""
    global_sectors: int = 0
    """Sectors of 32 bytes that they touched."""
    global_read_bytes: int = 0
    """What threads asked for; bytes that several ask for count for each."""
    global_written_bytes: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    shared_conflicts: int = 0
    """Wavefronts beyond those that the width of the accesses needs."""
    shared_read_bytes: int = 0
    shared_written_bytes: int = 0
    branches: int = 0
    """Conditional branches of warps."""
    divergent_branches: int = 0
    """Those that some threads of the warp took and others did not."""

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        mine, theirs = self._numbers(), other._numbers()
        names = dict.fromkeys([*self.classes, *other.classes])
        classes = {name: self.classes.get(name, 0) + other.classes.get(name, 0) for name in names}
        return Tally(classes, **{name: mine[name] + theirs[name] for name in mine})

    def _numbers(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "classes"}

    @property
    def instructions(self) -> int:
        """Issued for warps."""
        return sum(self.classes.values())

    @property
    def barriers(self) -> int:
        """Barriers that warps came to."""
        return self.classes.get("barrier", 0)

    @property
    def atomics(self) -> int:
        """Atomics and reductions of warps."""
        return self.classes.get("atomic", 0)

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors a request of global memory; None without a request."""
        return self.global_sectors / self.global_requests if self.global_requests else None

    @property
    def wavefronts_per_request(self) -> float | None:
        """Wavefronts a request of shared memory; None without a request."""
        return self.shared_wavefronts / self.shared_requests if self.shared_requests else None

    @property
    def active_share(self) -> float | None:
        """Active threads over threads of the warps that instructions were issued for."""
        return self.thread_instructions / (WARP * self.instructions) if self.classes else None

    def document(self) -> dict[str, Any]:
        """As JSON; ratios are rounded to four digits after the point."""
        ratios = {
            name: None if (value := getattr(self, name)) is None else round(value, 4)
            for name in ("sectors_per_request", "wavefronts_per_request", "active_share")
        }
        return {
            "instructions": self.instructions,
            "classes": dict(sorted(self.classes.items())),
            **self._numbers(),
            **ratios,
        }


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What a launch had to move and to compute, whatever its caches did: lower bounds."""

    read_bytes: int = 0
    """Bytes of device memory that were read before the launch had written them, each once."""
    written_bytes: int = 0
    """Bytes of device memory that were written, each once."""
    flops: int = 0
    """Floating-point operations of instructions without a predicate; a fused multiply-add is two."""

    def __add__(self, other: WorkDone) -> WorkDone:
        """Both together."""
        return WorkDone(
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
            self.flops + other.flops,
        )


@dataclass(frozen=True, slots=True)
class LaunchCounts:
    """What a launch, or several, executed."""

    total: Tally = field(default_factory=Tally)
    lines: Mapping[int | None, Tally] = field(default_factory=dict)
    """By line of the source; None: instructions that no line is known of."""
    work: WorkDone = field(default_factory=WorkDone)

    def __add__(self, other: LaunchCounts) -> LaunchCounts:
        """Two launches of one source together."""
        none = Tally()
        lines = {
            line: self.lines.get(line, none) + other.lines.get(line, none)
            for line in dict.fromkeys([*self.lines, *other.lines])
        }
        return LaunchCounts(self.total + other.total, lines, self.work + other.work)

    def shifted(self, lines: int) -> LaunchCounts:
        """The same, in a source that starts that many lines further down."""
        moved = {None if line is None else line + lines: tally for line, tally in self.lines.items()}
        return LaunchCounts(self.total, moved, self.work)

    def document(self) -> dict[str, Any]:
        """As JSON: the total, a row for each line in the order of the source, and the work by each byte once."""
        numbers = sorted(line for line in self.lines if line is not None)
        order: list[int | None] = [*numbers, *([None] if None in self.lines else [])]
        rows = [{"line": line, **self.lines[line].document()} for line in order]
        return {"total": self.total.document(), "lines": rows, "work": asdict(self.work)}
