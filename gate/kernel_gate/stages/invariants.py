"""Invariants: what the candidate's comments assert of where its data come from, on the emulated device.

An annotated copy of the candidate, in which assertions are statements, runs on the smallest cases with tags on the
data of its buffers. It may refuse, with two data that should not have met; an assertion that no case decides is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.devices.base import Asserted, DeviceError, Fault, Place
from kernel_gate.devices.opening import EMULATED_ARCH, open_quiet
from kernel_gate.dtypes import DTYPES
from kernel_gate.execution import added
from kernel_gate.inputs import make_inputs
from kernel_gate.invariants.bound import Invariants, on_shape
from kernel_gate.invariants.comments import states_any
from kernel_gate.invariants.grammar import InvariantError
from kernel_gate.invariants.marking import marked
from kernel_gate.invariants.model import Assertion, Statements
from kernel_gate.invariants.reading import read_statements
from kernel_gate.launching import LaunchError
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program
from kernel_gate.shapes import elements
from kernel_gate.workload import Workload

_NAMED, _HIDDEN = 6, 4
"""Cases of each kind that are watched."""
_MOST_ELEMENTS = 1 << 18
_SECONDS, _LEAST_SECONDS = 20.0, 0.5
_TRITON_ARCH = "sm_80"
"""Where `tl.dot` becomes `mma.sync`: tags are not followed through `wgmma`."""
_TOO_LARGE = f"no case has at most {_MOST_ELEMENTS} elements; add a small shape to dims"
_DROPPED = "the baseline states invariants, and the candidate none: they were not looked at"
UNDECIDED = ("unreached", "untagged")


@dataclass(frozen=True, slots=True)
class Stated:
    """What is known of one assertion."""

    text: str
    line: int
    status: str
    """`held`, `violated`, `unreached`, `untagged`, or `elsewhere`: in a function that this kernel does not call."""
    compared: int
    untagged: int
    violated: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What the invariants of a program say, over all cases."""

    stated: tuple[Stated, ...] = ()
    violations: tuple[Fault, ...] = ()
    """The first of each assertion that does not hold."""
    case: Case | None = None
    """The case in which they were violated."""
    mistakes: tuple[tuple[int | None, str], ...] = ()
    """Statements that cannot be read or compiled: line, what to do."""
    cases: int = 0
    lost: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def undecided(self) -> list[Stated]:
        """Assertions that no case has decided."""
        return [statement for statement in self.stated if statement.status in UNDECIDED]

    def document(self) -> dict[str, Any]:
        """For the evidence."""
        return {
            "assertions": [asdict(statement) for statement in self.stated],
            "violations": [
                {"message": fault.message, "case": str(self.case), **fault.where()}
                for fault in self.violations
            ],
            "mistakes": [{"line": line, "message": message} for line, message in self.mistakes],
            "cases": self.cases,
            "not_followed": [asdict(place) for place in self.lost],
            "notes": list(self.notes),
        }


def check_invariants(
    candidate: Program,
    baseline: Program,
    workload: Workload,
    cases: Sequence[Case],
    options: GateOptions,
    progress: Callable[[str, float], None],
    first: Case | None = None,
) -> Findings | None:
    """What the candidate's invariants say; None when neither program states any.

    `first` is a case to look at before all others.
    """
    if not states_any(candidate.source):
        dropped = states_any(baseline.source)
        return Findings(notes=(_DROPPED,)) if dropped else None
    entries = _entries(candidate, workload)
    statements, places = read_statements(candidate.source, candidate.language, entries, candidate.first_line)
    if not statements:
        return None
    if statements.mistakes:
        return Findings(mistakes=tuple((m.line, m.message) for m in statements.mistakes))
    if not statements.assertions:
        return Findings(notes=("tags are stated and nothing is asserted of them",))
    chosen = _chosen(workload, cases, first)
    if not chosen:
        return Findings(_nothing_known(statements), notes=(_TOO_LARGE,))
    progress("data-flow invariants", 0.0)
    program = marked(candidate, statements, places)
    arch = EMULATED_ARCH if candidate.language == "cuda" else _TRITON_ARCH
    try:
        built = build_program(program, workload, [c.dims for c in chosen], arch=arch, options=options)
    except BuildError as error:
        return Findings(mistakes=(_cannot_compile(error, statements),))
    except CompilerMissing as error:
        return Findings(notes=(str(error),), stated=_nothing_known(statements))
    run = _Run(built, workload, statements, entries)
    try:
        return run.over(chosen, min(_SECONDS, options.check_seconds))
    except InvariantError as error:
        return Findings(mistakes=((error.line, str(error)),))


def _entries(program: Program, workload: Workload) -> tuple[str, ...]:
    """Names of the kernels that the program launches."""
    steps = program.steps or (workload.steps if program.launch is None else ())
    return tuple(dict.fromkeys(s.entry for s in steps if isinstance(s, LaunchStep))) or (program.entry,)


def _chosen(workload: Workload, cases: Sequence[Case], first: Case | None) -> list[Case]:
    """Small cases of each kind, the smallest first."""
    plain = [c for c in cases if c.memory == ALLOCATED and elements(workload, c.dims) <= _MOST_ELEMENTS]
    # Where data come from does not depend on their values: a shape is looked at once, as a named one if it is.
    plain.sort(key=lambda c: (elements(workload, c.dims), not c.required))
    shapes: dict[tuple[tuple[str, int], ...], Case] = {}
    for case in plain:
        shapes.setdefault(tuple(sorted(case.dims.items())), case)
    named = [c for c in shapes.values() if c.required][:_NAMED]
    hidden = [c for c in shapes.values() if not c.required][:_HIDDEN]
    head = [first] if first is not None and first.memory == ALLOCATED else []
    return head + [c for c in (*named, *hidden) if c not in head]


def _cannot_compile(error: BuildError, statements: Statements) -> tuple[int | None, str]:
    """The line and what to do, of the first assertion that the compiler complains of."""
    lines = {a.line for a in statements.assertions}
    first = next((d for d in error.diagnostics if d.severity == "error" and d.line in lines), None)
    if first is None:
        return None, f"the program with its assertions as statements does not compile: {error}"
    hint = "it is a statement at the place of its comment: its names must be in scope there, inside of braces"
    return first.line, f"the invariant cannot be compiled here: {first.message}; {hint}"


def _nothing_known(statements: Statements) -> tuple[Stated, ...]:
    return tuple(Stated(a.text, a.line, "unreached", 0, 0, 0) for a in statements.assertions)


@dataclass(slots=True)
class _Run:
    built: Built
    workload: Workload
    statements: Statements
    entries: tuple[str, ...]
    asserted: tuple[Asserted, ...] = ()
    lost: dict[Place, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def over(self, cases: Sequence[Case], seconds: float) -> Findings:
        """Run cases until one violates an assertion or the time is spent. Raises `InvariantError`."""
        deadline = time.monotonic() + seconds
        done, last = 0, (0.0, 1)
        violated: Case | None = None
        device = open_quiet(seconds)
        try:
            loaded = LoadedProgram(device, self.built, self.workload)
            for case in cases:
                size = elements(self.workload, case.dims)
                left = deadline - time.monotonic()
                if left < last[0] * size / last[1]:
                    self.notes.append(f"not watched for want of time: {case}")
                    continue
                device.limits = replace(device.limits, seconds=max(left, _LEAST_SECONDS))
                before = time.monotonic()
                device.assert_invariants(self._on(case))
                self._one(loaded, case)
                done, last = done + 1, (time.monotonic() - before, max(size, 1))
                if any(tally.violation for tally in self.asserted):
                    violated = case
                    break
        finally:
            device.close()
        stated = tuple(self._stated(a) for a in self.statements.assertions)
        violations = tuple(tally.violation for tally in self.asserted if tally.violation)
        return Findings(stated, violations, violated, (), done, tuple(self.lost), tuple(self.notes))

    def _on(self, case: Case) -> Invariants:
        bound = self.built.bound(self.workload, case.dims)
        shapes = {
            a.name: (self.workload.extents(a, case.dims), DTYPES[a.dtype].itemsize)
            for a in (*self.workload.args, *bound.scratch)
            if a.is_pointer
        }
        return on_shape(self.statements, shapes, {**case.dims, **self.workload.scalars(case.dims)})

    def _one(self, loaded: LoadedProgram, case: Case) -> None:
        try:
            with loaded.execution(case.dims) as execution:
                result = execution.run(make_inputs(self.workload, case), 0).result
        except (LaunchError, DeviceError) as error:
            self.notes.append(f"{case}: {error}")
            return
        self.asserted = added(self.asserted, result.asserted)
        self.lost |= dict.fromkeys(result.tags_lost)
        self.notes += [f"{case}: {fault.message}" for fault in result.faults[:1]]

    def _stated(self, assertion: Assertion) -> Stated:
        tally = next((s for s in self.asserted if s.number == assertion.number), Asserted(assertion.number))
        if tally.violated:
            status = "violated"
        elif tally.compared:
            status = "held"
        elif tally.untagged:
            status = "untagged"
        else:
            status = "unreached" if self._belongs(assertion) else "elsewhere"
        return Stated(assertion.text, assertion.line, status, tally.compared, tally.untagged, tally.violated)

    def _belongs(self, assertion: Assertion) -> bool:
        """Whether an assertion is this program's: in its kernel's body, or compiled into it."""
        if assertion.owner in {e.rsplit("::", 1)[-1] for e in self.entries}:
            return True
        mark = f"klineage_check_{assertion.number},"
        return any(mark in image.ptx for image in self.built.images.values())
