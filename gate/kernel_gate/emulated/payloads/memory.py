"""What lasts from one launch to the next: payloads of global memory, and where payloads were not followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernel_gate.emulated.addresses import Segment
from kernel_gate.emulated.payloads.fields import LEVELS
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.tags.keys import UNTAGGED, Coding, Keys


@dataclass(frozen=True, slots=True, order=True)
class Escape:
    """A float whose payload ended at an instruction: its value alone went on."""

    opcode: str
    line: int
    """Line of the program; 0 where the PTX has none."""
    why: str

    @classmethod
    def at(cls, instruction: Instruction, why: str) -> Escape:
        """The escape at an instruction."""
        return cls(".".join(instruction.parts[:3]), instruction.line or 0, why)


@dataclass(slots=True)
class PayloadMemory:
    """The payloads of one device's buffers; switch them on with `Checks.payloads`."""

    granule: int
    """Bytes of the smallest float that has a payload of its own: 2 or 4."""
    stored: dict[int, Keys] = field(default_factory=dict)
    """By the number of a segment: (LEVELS, granules); `UNTAGGED` where the bytes stand for themselves."""
    escapes: set[Escape] = field(default_factory=set)
    lost: set[Escape] = field(default_factory=set)
    """Instructions that payloads are not followed through."""
    decided: set[Escape] = field(default_factory=set)
    """Comparisons: which way they went was decided by the value."""
    roots: bool = False
    """Whether a square root was taken, whose sign in a field is a convention."""
    residues: bool = False
    """Whether a sum was zero but for its roundings: a program computes what it rounded off, to put it back."""

    def overwrite(self, segment: Segment, start: int, stop: int) -> None:
        """The host has written these bytes of a segment, counted from its first one."""
        held = self.stored.get(segment.number)
        if held is not None:
            first = (segment.offset + start) // self.granule
            held[:, first : -(-(segment.offset + stop) // self.granule)] = UNTAGGED


class Levels(Coding):
    """Payloads in the place of tags: one number for each level."""

    @property
    def width(self) -> int:
        """Numbers of one payload."""
        return LEVELS
