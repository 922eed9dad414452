"""What `klineage prove` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from kernel_gate.standing import ExitCode
from kernel_lineage.proofs.obligations.obligation import Obligation

_MARKS = {"proved": "✓", "refuted": "✗", "undecided": "?"}
_WORDS = {
    "in_bounds": "in bounds",
    "written": "every element is written",
    "written_once": "no element is written by two threads",
    "aligned": "aligned",
    "bank_conflicts": "no bank conflicts",
    "overflow": "no overflow",
    "hint": "what the compiler is told holds",
}


class CounterexampleModel(BaseModel, from_attributes=True):
    """Where an obligation fails."""

    dims: dict[str, int]
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    buffer: str | None = None
    element: int | None = None
    """Flat index into the buffer; may lie outside of it."""
    note: str = ""
    addresses: dict[str, int] = Field(default_factory=dict)
    """`address_of_x` of a buffer that does not lie at a multiple of 256 bytes → how far behind one it does."""


class ObligationModel(BaseModel, from_attributes=True):
    """One obligation at one place."""

    kind: str
    line: int
    expression: str
    status: Literal["proved", "refuted", "undecided"]
    reason: str
    counterexample: CounterexampleModel | None
    confirmed: Literal["interpreter", "arithmetic"] | None
    """How the counterexample was confirmed."""
    seconds: float


class ProofDocument(BaseModel):
    """Every obligation of one kernel."""

    version: int = 1
    path: str
    kernel: str
    obligations: list[ObligationModel] = Field(default_factory=list)


def document_of(path: str, kernel: str, obligations: Sequence[Obligation]) -> ProofDocument:
    """The document of some obligations."""
    return ProofDocument(path=path, kernel=kernel, obligations=[_obligation(o) for o in obligations])


def _obligation(obligation: Obligation) -> ObligationModel:
    shown = ObligationModel.model_validate(obligation)
    if obligation.status == "refuted":
        return shown
    return shown.model_copy(update={"counterexample": None, "confirmed": None})


def exit_code(document: ProofDocument) -> ExitCode:
    """1 when something is refuted, 6 when something is undecided, else 0."""
    statuses = {o.status for o in document.obligations}
    if "refuted" in statuses:
        return ExitCode.REJECTED
    return ExitCode.UNDECIDED if "undecided" in statuses else ExitCode.DONE


def table(document: ProofDocument) -> str:
    """The document for a person: one line for each obligation, counterexamples below."""
    lines: list[str] = []
    for o in document.obligations:
        where = f"{document.path}:{o.line}"
        reason = f": {o.reason}" if o.reason and o.status != "proved" else ""
        lines.append(f"{_MARKS[o.status]} {where}  {o.expression}  {_WORDS[o.kind]}{reason}")
        if o.counterexample is not None:
            lines.append(f"    {_shown(o.counterexample)}")
    counts: Counter[str] = Counter(o.status for o in document.obligations)
    lines.append(", ".join(f"{counts[status]} {status}" for status in _MARKS))
    return "\n".join(lines)


def _shown(example: CounterexampleModel) -> str:
    parts = [", ".join(f"{name} = {value}" for name, value in {**example.dims, **example.addresses}.items())]
    if example.block is not None and example.thread is not None:
        parts.append(f"block {example.block}, thread {example.thread}")
    if example.note:
        parts.append(example.note)
    elif example.buffer is not None and example.element is not None:
        parts.append(f"{example.buffer}[{example.element}]")
    return "; ".join(p for p in parts if p)
