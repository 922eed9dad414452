"""What decides the branches of a kernel before it reads any data: arguments, extents and thread numbers.

The instructions that compute such a predicate are run alone, for the first and the last blocks of a launch: so it is
known which side of `C % 4 == 0` or `n > 30000` a shape takes without running the kernel on it. The lesser or the
greater of two floats of arguments decides as well (`fminf(lr * decay, 0.25f)`). Predicates that depend
on loaded data, or on a register with more than one definition (a loop), are not looked at. Of two whole numbers of
arguments that are compared, or of which the lesser or the greater is taken, it is also asked how they relate: what
`C >= S - 1` decides may be right for one and wrong for the other.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.operands import bases, names, results
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.ptx.model import FloatBits, Instruction, Integer, Operand, Register
from kernel_gate.emulated.registry import Step, Unsupported
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.terminators import Branch, IndexedBranch
from kernel_gate.emulated.types import TYPES

if TYPE_CHECKING:
    from kernel_gate.emulated.launch import Launch

_OF_THREADS = ("%tid", "%ctaid", "%laneid", "%warpid")
_OF_ALL = ("%ntid", "%nctaid", "WARP_SZ")
"""Special registers that differ among threads, and those that do not."""
_READS_OTHERS = frozenset(
    {"ldu", "atom", "red", "call", "shfl", "vote", "match", "activemask", "redux", "cp", "mma", "wgmma"}
)
_WORD = 1 << 32
_INFINITIES = (0x7F800000, 0xFF800000)
"""Bits of floats: what is compared with them as a whole number is one of the two, and no number near them."""
_LEAST_FACTOR = 1 << 16
_ENDS = 2
"""Blocks at either end of the grid that are asked."""

_FEW_DIGITS = 3
_FLOATS = {
    "f16": ("uint16", 0, "float16"),
    "f16x2": ("uint16", 0, "float16"),
    "bf16": ("uint32", 16, "float32"),
    "bf16x2": ("uint32", 16, "float32"),
    "f32": ("uint32", 0, "float32"),
    "f64": ("uint64", 0, "float64"),
}
"""Types of floats: the integer of their bits, how far they are shifted in it, and the float that it then is."""
_OF_WIDTH = {"16": "f16", "32": "f32", "64": "f64"}
_COMPARE = ("setp", "set", "max", "min")
_HOLD_BITS = ("mov", "setp", "set", "max", "min", "add")
"""What takes bits as they are, compares them, or asks how far they are from others."""
_RELATED = 2
"""Arguments on which both sides of a comparison depend, from which it says how they relate."""

Sides = tuple[bool, ...]
"""Whether some thread's predicate holds, and whether some thread's does not; of two numbers whether the first is less,
equal, greater.
"""


class Decided(NamedTuple):
    """What a launch decides before it reads any data."""

    guards: list[Sides]
    relations: list[Sides]


@dataclass(frozen=True, slots=True)
class Guard:
    """One predicate that decides what runs."""

    read: Read
    uniform: bool
    """Whether it is the same for all threads of the grid."""


class Guards:
    """Those of one kernel that can be asked, and the instructions that compute them."""

    def __init__(self, kernel: DecodedKernel) -> None:
        self._kernel = kernel
        body = kernel.flat.body
        definitions = _Definitions(kernel)
        needed: set[int] = set()
        seen: set[str] = set()
        self.guards: list[Guard] = []
        self.relations: list[tuple[Read, Read]] = []
        """Numbers that are the same for all threads."""
        for number, instruction in enumerate(body):
            if compared := _compared(instruction):
                needed |= self._relate(number, compared, definitions)
            if chosen := _chosen(instruction):
                needed |= self._choose(number, chosen, definitions)
            decides = _decides(instruction)
            if decides is None or decides.name in seen:
                continue
            seen.add(decides.name)
            sliced: dict[int, bool] = {}
            uniform = _slice(decides.name, body, definitions, sliced)
            if uniform is None:
                continue
            site = Site.of(instruction, number, kernel.layout, frozenset())
            try:
                read = site.reader(decides, TYPES["pred"])
            except Unsupported:
                continue
            needed |= sliced.keys()
            self.guards.append(Guard(read, uniform))
        steps = dict(_steps(kernel))
        self._steps = [steps[n] for n in sorted(needed) if n in steps]

    def _relate(self, number: int, compared: tuple[Operand, Operand], definitions: _Definitions) -> set[int]:
        """Keep a comparison of numbers that arguments make, alike for all threads; what computes them."""
        reads, needed = self._read(number, compared, definitions, _RELATED)
        if reads is not None:
            self.relations.append(reads)
        return needed

    def _choose(self, number: int, chosen: tuple[Operand, Operand], definitions: _Definitions) -> set[int]:
        """Keep which of two floats that arguments make is the lesser, alike for all threads; what computes them."""
        reads, needed = self._read(number, chosen, definitions, 1)
        if reads is not None:
            one, other = reads
            self.guards.append(Guard(lambda wave: one(wave) < other(wave), True))
        return needed

    def _read(
        self, number: int, pair: tuple[Operand, Operand], definitions: _Definitions, arguments: int
    ) -> tuple[tuple[Read, Read] | None, set[int]]:
        """How two operands are read, and what computes them; None where fewer arguments than these make them."""
        body = self._kernel.flat.body
        sliced: dict[int, bool] = {}
        uniform = [_slice(one.name, body, definitions, sliced) for one in pair if isinstance(one, Register)]
        if not all(uniform) or sum("param" in body[n].parts for n in sliced) < arguments:
            return None, set()
        site = Site.of(body[number], number, self._kernel.layout, frozenset())
        try:
            one, other = (site.reader(operand, site.types[-1]) for operand in pair)
        except Unsupported:
            return None, set()
        return (one, other), set(sliced)

    def decided(self, launch: Launch) -> Decided:
        """The sides of each guard that threads of the first and last blocks of a launch take, and each relation."""
        last = launch.blocks
        blocks = np.unique(np.array([*range(min(_ENDS, last)), *range(max(0, last - _ENDS), last)]))
        wave = launch.wave_of(blocks.astype(np.int64))
        decided = Decided([], [])
        with np.errstate(all="ignore"):
            try:
                for step in self._steps:
                    step(wave)
            except LaunchFault:
                return Decided([(False,) * 2] * len(self.guards), [(False,) * 3] * len(self.relations))
            for guard in self.guards:
                holds = guard.read(wave)
                decided.guards.append((bool(holds.any()), not holds.all()))
            for first, second in self.relations:
                one, other = first(wave), second(wave)
                decided.relations.append(
                    tuple(bool(np.any(r)) for r in (one < other, one == other, one > other))
                )
        return decided


@dataclass(slots=True)
class Constants:
    """Literals of a kernel's code."""

    compared: set[float] = field(default_factory=set)
    """Floats that it compares with or takes a maximum with."""
    others: set[float] = field(default_factory=set)
    """Floats that stand elsewhere: where a maximum starts, what is added."""
    whole: set[int] = field(default_factory=set)
    """Integers that it compares with, and those that it takes off what it compares: where a range begins."""
    factors: set[int] = field(default_factory=set)
    """Large odd integers that it multiplies by, and keeps the lower half: what hashes are made of."""

    def include(self, other: Constants) -> None:
        """Add those of another kernel."""
        self.compared |= other.compared
        self.others |= other.others
        self.whole |= other.whole
        self.factors |= other.factors


def constants(kernel: DecodedKernel) -> Constants:
    """Those of one kernel."""
    numbers = Constants()
    body = kernel.flat.body
    floats = _read_as_floats(body)
    compared = {n for i in body if i.parts[0] in _COMPARE for n in names(i.operands[1:])}
    for instruction in body:
        compares = instruction.parts[0] in _COMPARE
        for operand in instruction.operands:
            if isinstance(operand, FloatBits):
                value = _normal(operand.bits, "f32" if operand.size == 4 else "f64")
            elif isinstance(operand, Integer):
                if compares and operand.value % _WORD not in _INFINITIES:
                    numbers.whole.add(operand.value)
                elif _is_hashed_by(instruction, operand.value):
                    numbers.factors.add(operand.value % _WORD)
                elif instruction.parts[0] == "add" and compared.intersection(names(instruction.operands[:1])):
                    numbers.whole.add(-operand.value)
                value = _float_in_bits(instruction, operand.value, floats)
            else:
                continue
            if value is not None:
                (numbers.compared if compares else numbers.others).add(value)
    return numbers


def _is_hashed_by(instruction: Instruction, number: int) -> bool:
    opcode, *kinds = instruction.parts
    return opcode in ("mul", "mad") and "lo" in kinds and number % 2 == 1 and number % _WORD > _LEAST_FACTOR


def _read_as_floats(body: Sequence[Instruction]) -> dict[str, str]:
    """The type of float that each register holds which a float instruction reads, itself or a copy of it."""
    kinds = {name: kind for i in body if (kind := i.parts[-1]) in _FLOATS for name in names(i.operands[1:])}
    for instruction in reversed(body):
        if instruction.parts[0] in ("mov", "selp", "shfl"):
            read_as = next((kinds[name] for name in names(instruction.operands[:1]) if name in kinds), None)
            if read_as is not None:
                for name in names(instruction.operands[1:]):
                    kinds.setdefault(name, read_as)
    return kinds


def _float_in_bits(instruction: Instruction, bits: int, floats: Mapping[str, str]) -> float | None:
    """The float whose bits an instruction compares with, subtracts, or gives a register.

    Compilers write floats so (Triton), and programs that compare floats as integers. Of a register that no float
    instruction reads (`floats`), and of 16 bits, only one with few digits is taken for a float.
    """
    kind = _OF_WIDTH.get(instruction.parts[-1][1:])
    if kind is None or instruction.parts[-1][0] == "f" or instruction.parts[0] not in _HOLD_BITS:
        return None
    (target,) = [*names(instruction.operands[:1])][:1] or [""]
    read_as = floats.get(target) if instruction.parts[0] == "mov" else None
    value = _normal(-bits if instruction.parts[0] == "add" and bits < 0 else bits, read_as or kind)
    certain = read_as is not None or (instruction.parts[0] != "mov" and kind != "f16")
    return value if value is None or certain or has_few_digits(value) else None


def _normal(bits: int, kind: str) -> float | None:
    """The float of some bits, of the lower half where they hold two; None for zeros, subnormal numbers and specials."""
    raw, shift, of = _FLOATS[kind]
    value = np.array((bits << shift) % (1 << 8 * np.dtype(raw).itemsize), raw).view(of)
    return float(value) if np.isfinite(value) and abs(value) >= np.finfo(of).smallest_normal else None


def has_few_digits(number: float) -> bool:
    """Whether a number is written with few digits, as a float of 32 bits."""
    if abs(number) > float(np.finfo(np.float32).max):
        return False
    digits = np.format_float_scientific(np.float32(number), unique=True, trim="-").partition("e")[0]
    return len(digits.lstrip("-").replace(".", "")) <= _FEW_DIGITS


def _steps(kernel: DecodedKernel) -> Iterator[tuple[int, Step]]:
    start = 0
    for block in kernel.blocks:
        yield from enumerate(block.steps, start)
        start += block.count


def _decides(instruction: Instruction) -> Register | None:
    """The predicate that an instruction waits for, selects by or makes of a comparison.

    Of `i < n && n != 37` the branch has both sides wherever a block is not full; each comparison tells more.
    """
    if instruction.guard is not None:
        return instruction.guard
    if instruction.parts[0] == "selp" and isinstance(instruction.operands[3], Register):
        return instruction.operands[3]
    if instruction.parts[0] == "setp" and isinstance(instruction.operands[0], Register):
        return replace(instruction.operands[0], negated=False)
    return None


def _compared(instruction: Instruction) -> tuple[Operand, Operand] | None:
    """Two whole numbers that an instruction compares, or takes the lesser or greater of."""
    return _pair(instruction, ("setp", "min", "max"), ("int", "uint"))


def _chosen(instruction: Instruction) -> tuple[Operand, Operand] | None:
    """Two floats that an instruction takes the lesser or greater of."""
    return _pair(instruction, ("min", "max"), ("float",))


def _pair(
    instruction: Instruction, opcodes: Container[str], kinds: Container[str]
) -> tuple[Operand, Operand] | None:
    operands, kind = instruction.operands, TYPES.get(instruction.parts[-1])
    if instruction.parts[0] not in opcodes or len(operands) != 3 or kind is None or kind.kind not in kinds:
        return None
    return operands[1], operands[2]


class _Definitions:
    """Which instruction gives a register its value."""

    def __init__(self, kernel: DecodedKernel) -> None:
        self._numbers: dict[str, list[int]] = {}
        for number, instruction in enumerate(kernel.flat.body):
            for name in names(results(instruction)):
                self._numbers.setdefault(name, []).append(number)
        ends = [block.end for block in kernel.blocks]
        targets = [end.target for end in ends if isinstance(end, Branch) and end.target is not None]
        targets += [t for end in ends if isinstance(end, IndexedBranch) for t in end.targets if t is not None]
        first = min(targets, default=len(ends))
        self._begin = sum(block.count for block in kernel.blocks[:first])
        """As many instructions are run in their order, each once at most, before any that a branch leads to."""

    def only(self, name: str) -> int | None:
        """The only instruction that does; None where there are several, and for no register."""
        numbers = self._numbers.get(name, [])
        return numbers[0] if len(numbers) == 1 else None

    def before(self, name: str, number: int) -> int | None:
        """The one that does so for an instruction: the only one, or the last before it where the kernel begins."""
        earlier = [n for n in self._numbers.get(name, []) if n < number < self._begin]
        return earlier[-1] if earlier else self.only(name)


def _slice(
    name: str, body: list[Instruction], definitions: _Definitions, into: dict[int, bool]
) -> bool | None:
    """Collect what computes a register: whether it is the same for all threads; None: it cannot be told so, as where it
    is computed from itself.
    """
    if _is_special(name):
        return not name.startswith(_OF_THREADS)
    begun: set[int] = set()
    last = definitions.only(name)
    waiting = [last]
    while waiting:
        number = waiting[-1]
        sources = _sources(body[number]) if number is not None else None
        if number is None or sources is None:
            return None
        if number in into:
            waiting.pop()
            continue
        numbers = [definitions.before(s, number) for s in sources if not _is_special(s)]
        left = [n for n in numbers if n not in into]
        if any(n in begun for n in left):
            return None
        if left:
            begun.add(number)
            waiting += left
            continue
        is_uniform = not any(s.startswith(_OF_THREADS) for s in sources if _is_special(s))
        into[number] = is_uniform and all(into[n] for n in numbers if n is not None)
        begun.discard(number)
        waiting.pop()
    return into[last] if last is not None else None


def _is_special(name: str) -> bool:
    return name.startswith((*_OF_THREADS, *_OF_ALL))


def _sources(instruction: Instruction) -> list[str] | None:
    """The registers that an instruction computes from; None where memory or other threads tell as well."""
    is_memory = instruction.parts[0] == "ld" and "param" not in instruction.parts
    if is_memory or instruction.parts[0] in _READS_OTHERS or instruction.guard is not None:
        return None
    sources = instruction.operands[1:]
    return [*names(sources), *bases(sources)]
