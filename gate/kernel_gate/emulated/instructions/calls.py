"""Calls that are not inlined: of the runtime (`vprintf`, `__assertfail`), through a wrong pointer, or too deep."""

from __future__ import annotations

from collections.abc import Callable

from kernel_gate.emulated.addresses import LOCAL_WINDOW, SEGMENT_BITS, window_base
from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.printing import formatted
from kernel_gate.emulated.ptx.model import Group, Symbol
from kernel_gate.emulated.registry import Step, Unsupported, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.wave import Wave

_PRINTED_MOST = 1000
"""Texts kept of one launch; the hardware's buffer is limited too."""


@opcode("call")
def call(site: Site) -> Step:
    """Calls of the runtime; others name what they call as unsupported."""
    operands = site.instruction.operands
    name = next((o.name for o in operands if isinstance(o, Symbol)), "a pointer")
    if site.has("too_deep"):
        return _stopping(
            site, "unsupported", f"unsupported: `{name}` calls itself deeper than can be followed"
        )
    if site.has("no_function"):
        return _stopping(site, "trap", "a call through a pointer that holds no function of this program")
    builders: dict[str, Callable[[Site, list[int]], Step]] = {"__assertfail": _assertion, "vprintf": _print}
    groups = [o for o in operands if isinstance(o, Group)]
    if name not in builders or not groups:
        raise Unsupported(f"call of {name}")
    slots = [site.layout.local[item.name] for item in groups[-1].items if isinstance(item, Symbol)]
    return builders[name](site, slots)


def _stopping(site: Site, kind: str, message: str) -> Step:
    def step(wave: Wave) -> None:
        raise wave.stop(kind, message, site.instruction)

    return step


def _word(wave: Wave, thread: int, slot: int, size: int = 8) -> int:
    """A value in a thread's frame."""
    return int.from_bytes(wave.local[thread, slot : slot + size].tobytes(), "little")


def _text(wave: Wave, thread: int, address: int) -> str:
    """A C string in a module's memory or in the thread's own."""
    if address >> SEGMENT_BITS == LOCAL_WINDOW:
        data = wave.local[thread, address - window_base(LOCAL_WINDOW) :].tobytes()
    else:
        segment = wave.launch.space.find(address >> SEGMENT_BITS)
        if segment is None:
            return "(null)"
        data = segment.data[address - segment.origin :].tobytes()
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _assertion(site: Site, slots: list[int]) -> Step:
    """`__assertfail(message, file, line, function, size of char)`: the first thread's."""

    def step(wave: Wave) -> None:
        thread = int(wave.index[0])
        message, file, function = (_text(wave, thread, _word(wave, thread, slots[k])) for k in (0, 1, 3))
        place = f"{file.rsplit('/', 1)[-1]}:{_word(wave, thread, slots[2], 4)}"
        words = f"assertion failed: `{message}` at {place}, in {function}"
        raise wave.stop("trap", words, site.instruction)

    return step


def _print(site: Site, slots: list[int]) -> Step:
    """`vprintf(format, arguments)`, for each active thread in turn."""
    if len(slots) != 2:
        raise site.unsupported()

    def step(wave: Wave) -> None:
        printed = wave.launch.printed
        for thread in wave.index[: max(0, _PRINTED_MOST - len(printed))].tolist():
            address = _word(wave, thread, slots[1])
            try:
                printed.append(_formatted(wave, thread, _word(wave, thread, slots[0]), address))
            except ValueError as error:
                raise LaunchFault(
                    wave.fault("unsupported", f"unsupported: {error}", site.instruction)
                ) from error

    return step


def _formatted(wave: Wave, thread: int, text: int, arguments: int) -> str:
    offset = arguments - window_base(LOCAL_WINDOW)
    data = wave.local[thread, offset:].tobytes() if arguments and offset >= 0 else b""
    return formatted(_text(wave, thread, text), data, lambda address: _text(wave, thread, address))
