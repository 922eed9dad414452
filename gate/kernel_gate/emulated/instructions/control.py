"""What is neither data nor a branch: fences, warp barriers, hints, calls of the runtime, traps."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.addresses import SEGMENT_BITS
from kernel_gate.emulated.ptx.model import Group, Instruction, Operand, Symbol
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave

_PRINTED_MOST = 100


def _nothing(_wave: Wave) -> None:
    """Changes no value: memory is coherent here and hints are free."""


@opcode(
    "prefetch",
    "prefetchu",
    "nanosleep",
    "griddepcontrol",
    "applypriority",
    "discard",
    "pmevent",
    "setmaxnreg",
)
def hint(_site: Site) -> Step:
    """Hints to the hardware."""
    return _nothing


@opcode("createpolicy")
def create_policy(site: Site) -> Step:
    """`createpolicy`: a cache policy is opaque and has no effect on values."""
    write = site.write(0, TYPES["b64"])
    return lambda wave: write(wave, np.uint64(0))  # type: ignore[arg-type]


@opcode("membar", "fence")
def fence(site: Site) -> Step:
    """`membar`, `fence`: memory is coherent at once; proxies of other units are not known."""
    if site.has("proxy", "mbarrier_init"):
        raise site.unsupported()
    return _nothing


@opcode("bar", "barrier")
def warp_barrier(site: Site) -> Step:
    """`bar.warp.sync`: orders what the threads of a warp did to shared memory."""
    if "warp" not in site.parts:
        raise site.unsupported()

    def step(wave: Wave) -> None:
        if wave.shared.races is not None:
            wave.shared.races.synchronise_warps(wave)
        if wave.launch.races is not None:
            wave.launch.races.synchronise_warps(wave)

    return step


@opcode("trap", "brkpt")
def trap(site: Site) -> Step:
    """`trap`: ends the launch."""

    def step(wave: Wave) -> None:
        raise wave.stop("trap", "the kernel trapped", site.instruction)

    return step


@opcode("call")
def call(site: Site) -> Step:
    """Calls that are not inlined: `__assertfail` stops, `vprintf` is recorded; others are unknown."""
    operands = site.instruction.operands
    name = next((o.name for o in operands if isinstance(o, Symbol)), "")
    groups = [o for o in operands if isinstance(o, Group)]
    if name == "__assertfail":
        slots = _slots(site, groups[-1])
        return lambda wave: _fail(wave, site.instruction, slots)
    if name == "vprintf":
        slots = _slots(site, groups[-1])
        return lambda wave: _print(wave, slots)
    raise site.unsupported()


def _slots(site: Site, arguments: Operand) -> list[int]:
    """Where the arguments of a call lie in the thread's frame."""
    assert isinstance(arguments, Group)
    return [site.layout.local[item.name] for item in arguments.items if isinstance(item, Symbol)]


def _pointer(wave: Wave, slot: int) -> int:
    row = wave.local[wave.index[0], slot : slot + 8]
    return int(row.view(np.uint64)[0])


def _text(wave: Wave, address: int) -> str:
    """A C string of a module's memory."""
    segment = wave.launch.space.find(address >> SEGMENT_BITS)
    if segment is None:
        return "?"
    data = segment.data[address - segment.base :].tobytes()
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _fail(wave: Wave, instruction: Instruction, slots: list[int]) -> None:
    condition = _text(wave, _pointer(wave, slots[0])) if slots else "?"
    raise wave.stop("trap", f"assertion failed: {condition}", instruction)


def _print(wave: Wave, slots: list[int]) -> None:
    printed = wave.launch.printed
    if slots and len(printed) < _PRINTED_MOST:
        printed.append(_text(wave, _pointer(wave, slots[0])))
