"""No bank conflicts: the lanes of each warp are enumerated, which is exact where their distances are numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod

from kernel_gate.expr.polynomials import polynomial, term_of
from kernel_gate.expr.terms import FALSE, Num, Term, sub, substituted
from kernel_lineage.code.model import Access
from kernel_lineage.proofs.obligations.asking import Questions
from kernel_lineage.proofs.obligations.obligation import Kind, Obligation, Status

_LANES, _BANKS, _WORD = 32, 32, 4
_PHASE_BYTES = _LANES * _WORD
"""Wider accesses are served in halves and quarters of a warp (CUDA C++ Programming Guide, shared memory)."""


def no_bank_conflicts(questions: Questions) -> Iterator[Obligation]:
    """One obligation for each access to shared memory."""
    for access in questions.model.accesses:
        if access.space == "shared" and access.offset is not None and not access.atomic:
            yield _of_access(questions, access, access.offset)


def _of_access(questions: Questions, access: Access, offset: Term) -> Obligation:
    def ended(status: Status, reason: str = "") -> Obligation:
        return Obligation(Kind.BANK_CONFLICTS, access.line, access.text, status, reason, root=access.root)

    block = [extent.value for extent in questions.setting.launch.block if isinstance(extent, Num)]
    if len(block) < 3:
        return ended(Status.UNDECIDED, "the block's extents are not numbers")
    if doubts := next(questions.model.doubts(offset), None):
        return ended(Status.UNDECIDED, f"not known: {doubts}")
    worst, where = 1, 0
    for warp in range((prod(block) + _LANES - 1) // _LANES):
        places = _lanes(access, offset, block, warp)
        if not isinstance(places, list):
            return ended(
                Status.UNDECIDED, f"the distance between lanes is {places} bytes, which is no number"
            )
        ways = _ways(places, access.nbytes)
        if ways > worst:
            worst, where = ways, warp
    if worst == 1:
        return ended(Status.PROVED)
    dims = dict.fromkeys(questions.setting.dims, 1)
    first = where * _LANES
    thread = (first % block[0], first // block[0] % block[1], first // (block[0] * block[1]))
    example = questions.counterexample(
        {**dims, **{f"threadIdx.{a}": t for a, t in zip("xyz", thread, strict=True)}}, access.root, None,
        f"{worst}-way in warp {where} of a block",
    )  # fmt: skip
    reason = f"{worst}-way conflict in warp {where}"
    return Obligation(
        Kind.BANK_CONFLICTS, access.line, access.text, Status.REFUTED, reason, example, root=access.root
    )


def _lanes(access: Access, offset: Term, block: Sequence[int], warp: int) -> list[int] | Term:
    """Bytes of the active lanes, from the first one's; the first distance that is no number, if there is one."""
    distances: list[int] = []
    first: Term | None = None
    for lane in range(_LANES):
        linear = warp * _LANES + lane
        if linear >= prod(block):
            break
        thread = (linear % block[0], linear // block[0] % block[1], linear // (block[0] * block[1]))
        values = {f"threadIdx.{axis}": Num(t) for axis, t in zip("xyz", thread, strict=True)}
        if any(substituted(condition, values) == FALSE for condition in access.path):
            continue
        here = substituted(offset, values)
        first = here if first is None else first
        distance = term_of(polynomial(sub(here, first)))
        if not isinstance(distance, Num):
            return distance
        distances.append(distance.value)
    return distances


def _ways(places: Sequence[int], nbytes: int) -> int:
    """How many different words of one bank the lanes of one phase ask for, at worst."""
    lanes = max(1, min(_LANES, _PHASE_BYTES // max(nbytes, _WORD)))
    worst = 1
    for start in range(0, len(places), lanes):
        words: dict[int, set[int]] = defaultdict(set)
        for place in places[start : start + lanes]:
            for word in range(place // _WORD, (place + nbytes - 1) // _WORD + 1):
                words[word % _BANKS].add(word)
        worst = max([worst, *(len(w) for w in words.values())])
    return worst
