"""Plain loads that guess what a compare-and-swap will meet: a stale guess costs a round, and nothing else.

`old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` reads `*p` while others swap it,
which is no race: what the loop ends with is what the swap has met.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernel_gate.emulated.operands import bases, names, results
from kernel_gate.emulated.ptx.model import Instruction

_ENDS = frozenset(
    {"st", "red", "atom", "shfl", "vote", "match", "redux", "call", "bra", "brx", "cp", "suld", "sust"}
)


def guesses(body: Sequence[Instruction]) -> frozenset[int]:
    """Numbers of the loads whose value gets only into compare-and-swaps of its address, and to their loops' ends."""
    swaps = [i for i in body if i.parts[0] == "atom" and "cas" in i.parts]
    if not swaps:
        return frozenset()
    addresses = {i.operands[1] for i in swaps}
    loads = (n for n, i in enumerate(body) if i.parts[0] == "ld" and i.operands[1] in addresses)
    return frozenset(n for n in loads if _only_guesses(n, body))


def _only_guesses(load: int, body: Sequence[Instruction]) -> bool:
    address = body[load].operands[1]
    swaps = [i for i in body if i.parts[0] == "atom" and "cas" in i.parts and i.operands[1] == address]
    met = {name for swap in swaps for name in names(results(swap))}
    reached = set(names(results(body[load])))
    while True:
        before = len(reached)
        for instruction in body:
            if instruction in swaps or reached.isdisjoint(_read(instruction)):
                continue
            if instruction.parts[0] == "setp":
                # Whether the swap has met the guess.
                equal = instruction.parts[1] in ("eq", "ne") and not met.isdisjoint(_read(instruction))
                if not equal:
                    return False
                continue
            if instruction.parts[0] in _ENDS or not reached.isdisjoint(bases(instruction.operands)):
                return False
            reached.update(names(results(instruction)))
        if len(reached) == before:
            return True


def _read(instruction: Instruction) -> set[str]:
    """Registers that an instruction reads the values of."""
    own = instruction.operands[len(results(instruction)) :]
    return {*names(own), *bases(own)}
