"""Whether a program adds floats in an order that nothing fixes, by what its PTX does.

Five ways: an atomic that adds floats; a compare-and-swap or an exchange that puts back the sum of what it read; a sum
that is loaded from global memory and stored back there, by whoever has got hold of a lock; shares that are stored
at places which an atomic gives out, to be added up there; and a loop that adds up what it loads until a word that it
loads tells it to stop, as a look-back does. A lock is a loop whose end a compare-and-swap or an exchange
in it decides, or an ordered load of one word together with an atomic on another. Blocks that store their shares at
their own places, of which the last one adds them up, add in one order, and so do those that wait for each before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from kernel_gate.devices.image import Image
from kernel_gate.emulated.inline import FlatKernel, flatten
from kernel_gate.emulated.operands import bases, names, results
from kernel_gate.emulated.ptx.model import ORDERED, Address, Instruction, Operand, PtxError, Register, Symbol
from kernel_gate.emulated.ptx.parser import parse
from kernel_gate.emulated.store_targets import origins_of
from kernel_gate.emulated.terms import FLOATS

_FLOAT_ATOMICS = re.compile(r"\b(?:atom|red)\.[\w.]*\.(?:f16x2|f16|bf16|f32|f64)\b")
_MEETS = re.compile(rf"\b(?:atom|ld\.(?:{'|'.join(ORDERED)}))\.")
_ROUNDED = frozenset({"add", "sub", "mul", "fma", "mad"})
"""Operations on floats whose results depend on the order in which they are done."""
_SWAPS = frozenset({"cas", "exch"})


def adds_in_any_order(images: Iterable[Image]) -> bool:
    """Whether some kernel of a program adds floats in an order that nothing fixes."""
    return any(_adds_in_any_order(image.ptx, image.entry) for image in images)


@lru_cache(maxsize=32)
def _adds_in_any_order(ptx: str, entry: str) -> bool:
    if _FLOAT_ATOMICS.search(ptx):
        return True
    if not _MEETS.search(ptx):
        return False
    try:
        module = parse(ptx, entry)
        kernel = _Kernel(flatten(module, module.functions[entry]))
    except (PtxError, KeyError):
        return False
    locked = kernel.has_lock and kernel.puts_sums_back
    return kernel.swaps_sums or locked or kernel.adds_by_ticket or kernel.looks_back


@dataclass
class _Kernel:
    """What the instructions of a kernel depend on, in whatever order they are executed."""

    flat: FlatKernel
    writers: dict[str, list[int]] = field(init=False)
    """Register → numbers of the instructions that write it."""

    def __post_init__(self) -> None:
        self.writers = {}
        for number, instruction in enumerate(self.flat.body):
            for name in names(results(instruction)):
                self.writers.setdefault(name, []).append(number)

    @cached_property
    def _origins(self) -> dict[str, frozenset[str]]:
        return origins_of(self.flat.body, (p.name for p in self.flat.parameters))

    @cached_property
    def _shared_stores(self) -> tuple[int, ...]:
        return tuple(n for n, i in enumerate(self.flat.body) if i.parts[0] == "st" and "shared" in i.parts)

    def before(self, registers: Iterable[str]) -> set[int]:
        """Numbers of the instructions that the registers' values come from, through shared memory too."""
        reached: set[int] = set()
        left = list(registers)
        while left:
            for number in self.writers.get(left.pop(), ()):
                if number in reached:
                    continue
                reached.add(number)
                instruction = self.flat.body[number]
                left += names(_values_of(instruction))
                if instruction.parts[0] == "ld" and "shared" in instruction.parts:
                    for store in self._shared_stores:
                        reached.add(store)
                        left += names(self.flat.body[store].operands[1:])
        return reached

    def _sums_of(self, stored: Iterable[str], address: Address) -> bool:
        """Whether a float that is stored at an address is rounded from one that was read in the same buffer."""
        return any(self._reads(self.flat.body[n], address) for n in self._summed(self.before(stored)))

    def _summed(self, numbers: Iterable[int]) -> set[int]:
        """What the operations among these instructions whose results are rounded are computed from."""
        registers: list[str] = []
        for number in numbers:
            operation = self.flat.body[number]
            if _rounds(operation):
                registers += names(operation.operands[1:])
        return self.before(registers)

    def _reads(self, instruction: Instruction, address: Address) -> bool:
        """Whether an instruction reads the buffer of an address in global memory."""
        name, parts = instruction.parts[0], instruction.parts
        swaps = name == "atom" and not _SWAPS.isdisjoint(parts)
        if not (swaps or name == "ld") or not {"shared", "local", "param", "const"}.isdisjoint(parts):
            return False
        read = next((o for o in instruction.operands if isinstance(o, Address)), None)
        return read is not None and self._same_buffer(read, address)

    def _same_buffer(self, one: Address, other: Address) -> bool:
        if one.base == other.base:
            return True
        bases_of = [
            frozenset({a.base.name}) if isinstance(a.base, Symbol) else self._pointers(a)
            for a in (one, other)
        ]
        return not bases_of[0].isdisjoint(bases_of[1])

    def _pointers(self, address: Address) -> frozenset[str]:
        """Parameters and variables that an address may be based on: those of 64 bits."""
        sizes = {p.name: p.nbytes for p in self.flat.parameters}
        base = address.base
        origins = self._origins.get(base.name, frozenset()) if isinstance(base, Register) else frozenset()
        return frozenset(name for name in origins if sizes.get(name, 8) == 8)

    @property
    def swaps_sums(self) -> bool:
        """Whether a compare-and-swap or an exchange puts back the sum of what was read there."""
        for instruction in self.flat.body:
            if instruction.parts[0] != "atom" or _SWAPS.isdisjoint(instruction.parts):
                continue
            address = instruction.operands[1]
            if "shared" in instruction.parts or not isinstance(address, Address):
                continue
            if self._sums_of(names(instruction.operands[-1:]), address):
                return True
        return False

    @property
    def puts_sums_back(self) -> bool:
        """Whether a float that is stored to global memory is rounded from one that was loaded there."""
        return any(self._sums_of(names(store.operands[1:]), at) for store, at in self._global_stores())

    def _global_stores(self) -> Iterator[tuple[Instruction, Address]]:
        for instruction in self.flat.body:
            if instruction.parts[0] == "st" and {"shared", "local", "param"}.isdisjoint(instruction.parts):
                address = instruction.operands[0]
                if isinstance(address, Address):
                    yield instruction, address

    @property
    def adds_by_ticket(self) -> bool:
        """Whether floats are added up that were stored at places which an atomic gave out."""
        places = [at for _, at in self._global_stores() if self._has_ticket(at)]
        if not places:
            return False
        summed = (self.flat.body[n] for n in self._summed(range(len(self.flat.body))))
        return any(
            any(self._reads(load, at) for at in places)
            and not any(self._has_ticket(o) for o in load.operands if isinstance(o, Address))
            for load in summed
            if load.parts[0] == "ld"
        )

    def _has_ticket(self, address: Address) -> bool:
        """Whether an address is computed from what an atomic on global memory gave."""
        sources = (self.flat.body[n] for n in self.before(bases((address,))))
        return any(i.parts[0] == "atom" and "shared" not in i.parts for i in sources)

    @property
    def has_lock(self) -> bool:
        """Whether threads wait in a loop until an atomic lets them go on."""
        return any(self._is_lock(first, last) for first, last in self._loops())

    @property
    def looks_back(self) -> bool:
        """Whether a loop adds up floats that it loads until a word that it loads, and others store, ends it."""
        return any(self._stops_by_a_word(*loop) and self._adds_up(*loop) for loop in self._loops())

    def _stops_by_a_word(self, first: int, last: int) -> bool:
        body, labels = self.flat.body, self.flat.labels
        inside = range(first, last + 1)
        leaving = (
            body[n].guard
            for n in inside
            if body[n].parts[0] == "bra"
            and isinstance(to := body[n].operands[0], Symbol)
            and (n == last or labels.get(to.name, len(body)) not in inside)
        )
        deciding = self.before(guard.name for guard in leaving if guard is not None)
        return any(n in inside and self._is_word(body[n]) for n in deciding)

    def _is_word(self, load: Instruction) -> bool:
        """Whether an instruction loads from global memory what others may store meanwhile."""
        if load.parts[0] != "ld" or set(ORDERED).isdisjoint(load.parts):
            return False
        atoms = (i for i in self.flat.body if i.parts[0] in ("atom", "red") and "shared" not in i.parts)
        changed = (o for i in atoms for o in i.operands if isinstance(o, Address))
        return any(self._reads(load, at) for at in (*changed, *(at for _, at in self._global_stores())))

    def _adds_up(self, first: int, last: int) -> bool:
        """Whether a float of one round is rounded into that of the next, with something that was loaded in the loop."""
        body, inside = self.flat.body, range(first, last + 1)
        for number in inside:
            if _rounds(body[number]):
                sources = self.before(names(body[number].operands[1:]))
                loads = (n for n in sources if n in inside and body[n].parts[0] == "ld")
                if number in sources and any(
                    "global" in body[n].parts or self._is_word(body[n]) for n in loads
                ):
                    return True
        return False

    def _loops(self) -> Iterator[tuple[int, int]]:
        """First and last instruction of each backward branch's stretch of code."""
        for number, instruction in enumerate(self.flat.body):
            if instruction.parts[0] == "bra" and isinstance(instruction.operands[0], Symbol):
                target = self.flat.labels.get(instruction.operands[0].name, len(self.flat.body))
                if target <= number:
                    yield target, number

    def _is_lock(self, first: int, last: int) -> bool:
        body = self.flat.body
        inside = range(first, last + 1)
        branches = (body[n].guard for n in inside if body[n].parts[0] == "bra")
        deciding = self.before(guard.name for guard in branches if guard is not None)
        atoms = [n for n in deciding if body[n].parts[0] == "atom" and "shared" not in body[n].parts]
        if any(n in inside and _takes(body[n]) for n in atoms):
            return True
        tickets = {body[n].operands[1] for n in atoms}
        waits = (
            n in inside
            and body[n].parts[0] == "ld"
            and not set(ORDERED).isdisjoint(body[n].parts)
            # All that arrive at a barrier of the grid wait for the word that they count in.
            and bool(tickets - {body[n].operands[1]})
            for n in deciding
        )
        return any(waits)


def _rounds(operation: Instruction) -> bool:
    """Whether an instruction computes a float whose last bits depend on the order of such operations."""
    return operation.parts[0] in _ROUNDED and not FLOATS.isdisjoint(operation.parts)


def _takes(atom: Instruction) -> bool:
    """Whether an atomic can take a lock: one that swaps a word for the same one only looks."""
    if "cas" in atom.parts:
        return atom.operands[2] != atom.operands[3]
    return "exch" in atom.parts


def _values_of(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands that a result is computed from; of a load and an atomic nothing but what memory held."""
    if instruction.parts[0] in ("ld", "ldu", "atom"):
        return ()
    return instruction.operands[1:]
