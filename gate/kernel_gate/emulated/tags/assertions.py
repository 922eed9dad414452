"""Assertions of one launch: what they say of the operands that the marks of an annotated program give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernel_gate.devices.base import Asserted, Fault, Place
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.tags.judging import Ends, judge, witnesses
from kernel_gate.emulated.tags.keys import Coding, Index, Keys
from kernel_gate.emulated.wave import Wave
from kernel_gate.invariants.model import Amount, Assertion, Coordinate, Relation

Operands = Mapping[int, Keys]
"""Tags of each operand: (width, elements, active threads)."""


@dataclass(slots=True)
class Assertions:
    """What the launch has seen of each."""

    coding: Coding
    body: Sequence[Instruction]
    granule: int
    """Bytes of a part of a value that has tags of its own."""
    seen: dict[int, Asserted] = field(default_factory=dict)

    def check(
        self,
        wave: Wave,
        assertion: Assertion,
        operands: Operands,
        numbers: Mapping[int, Any],
        instruction: Instruction,
        threads: Index | None = None,
        part: str = "byte {}",
    ) -> None:
        """Judge an assertion for the active threads.

        `threads`: whom the last axis stands for, when not for these; `part`: what the other is, in a message.
        """
        lanes = max((tags.shape[1] for tags in operands.values()), default=1)
        if any(tags.shape[1] not in (1, lanes) for tags in operands.values()):
            # Values of different make-up: each as a whole.
            lanes = 1
            operands = {k: tags.min(axis=1, keepdims=True) for k, tags in operands.items()}
        count = wave.active_count if threads is None else len(threads)
        shape = (lanes, count)
        broken, untagged = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        for relation in assertion.relations:
            terms = [self._ends(term, operands, numbers) for term in relation.terms]
            judged = judge(relation.comparison, terms, shape)
            if judged.violated.any() and not self._violated(assertion):
                self._keep(wave, assertion, relation, terms, judged.violated, instruction, threads, part)
            broken = broken | judged.violated
            untagged = untagged | judged.untagged
        missing = int((untagged & ~broken).sum())
        before = self.seen.get(assertion.number, Asserted(assertion.number))
        self.seen[assertion.number] = replace(
            before,
            compared=before.compared + broken.size - missing,
            untagged=before.untagged + missing,
            violated=before.violated + int(broken.sum()),
        )

    def _violated(self, assertion: Assertion) -> bool:
        seen = self.seen.get(assertion.number)
        return seen is not None and seen.violation is not None

    def _ends(self, term: Coordinate | Amount, operands: Operands, numbers: Mapping[int, Any]) -> Ends:
        if isinstance(term, Coordinate):
            return Ends.of_coordinate(self.coding, operands[term.operand], term.name)
        return Ends.of_number(np.int64(term.value) if term.operand is None else numbers[term.operand])

    def _keep(
        self,
        wave: Wave,
        assertion: Assertion,
        relation: Relation,
        terms: Sequence[Ends],
        violated: Any,
        instruction: Instruction,
        threads: Index | None,
        part: str,
    ) -> None:
        # The first thread, and of it the first element.
        thread = int(np.argmax(violated.any(axis=0)))
        element = int(np.argmax(violated[:, thread]))
        position = (element, thread)
        sides = witnesses(relation.comparison, terms, position, violated.shape)
        texts, related = [], []
        for term, value, key in sides:
            text, place = self._side(assertion, relation.terms[term], value, key)
            texts.append(text)
            if place is not None and place not in related:
                related.append(place)
        number = int((wave.index if threads is None else threads)[thread])
        block, inner = wave.place(number)
        granule = self.granule if part.startswith("byte") else 1
        which = f", {part.format(element * granule)}" if not violated[:, thread].all() else ""
        message = (
            f"the invariant `{assertion.text}` does not hold: {'; '.join(texts)} "
            f"(block {block}, thread {inner}{which})"
        )
        line = assertion.code_lines[0] if assertion.binding == "place" else instruction.line
        fault = Fault("invariant", message, line, block, inner, related=tuple(related))
        before = self.seen.get(assertion.number, Asserted(assertion.number))
        self.seen[assertion.number] = replace(before, violation=fault)

    def _side(
        self, assertion: Assertion, term: Coordinate | Amount, value: int, key: int | None
    ) -> tuple[str, Place | None]:
        """Words for one side, and where its datum was loaded."""
        if not isinstance(term, Coordinate) or key is None:
            operand = term.operand if isinstance(term, Amount) else None
            return (
                f"{'what it is compared with' if operand is None else assertion.name(operand)} is {value}",
                None,
            )
        if term.operand < 0:
            name = f"{assertion.name(term.operand)}.{term.name}"
        else:
            name = f"tag({assertion.name(term.operand)}).{term.name}"
        tagged, element, site = self.coding.origin(key)
        place = tagged.place(element)
        if assertion.name(term.operand) == "at":
            return f"{name} is {value}, of {place}", None
        line = self.body[site].line
        if line == assertion.line != assertion.code_lines[0]:
            return f"{name} is {value}, from {place}, which the assertion itself reads", None
        loaded = "" if line is None else f", which line {line} loaded"
        return f"{name} is {value}, from {place}{loaded}", Place(f"{place} was loaded here", line)
