"""A sum, product, maximum or minimum along a row of which each round uses what it is so far: prefix sums, running
maxima, and all that is written from them.

The threads of a warp or of a block take a round each at once. Each works out what its round adds, shuffles and shared
memory give it what those before it add, and then it does its round as it is written, with a value of its own that
begins with that. What a few such rounds add is read ahead, so that memory answers several reads of a thread at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_floats import is_whole
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    bare,
    changed_by,
    contains,
    field_of,
    operator_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.combining_steps import NEUTRAL, step_of
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    statements_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in, only_gives_a_value, promised_apart
from kernel_lineage.rewrite.assists.model import MayOverlap
from kernel_lineage.rewrite.assists.template_types import types_meant

_AHEAD = 4
"""Rounds of a thread whose elements are read ahead."""


class Together(Protocol):
    """The threads that take rounds together."""

    @property
    def count(self) -> str:
        """How many they are."""

    @property
    def wait(self) -> str:
        """What lets them wait for each other."""

    @property
    def in_block(self) -> bool:
        """Whether they are the warps of a block."""


@dataclass(frozen=True, slots=True)
class RunningValue:
    """The variable, and what each round combines it with."""

    name: str
    type: str
    operation: str
    """`+`, `*`, `>` or `<` for `if (v > most) { most = v; }`, or the function that chooses."""
    value: str
    """As written."""
    declared: tuple[Node, ...]
    """Declarations in the round that the value is made of."""

    def combined(self, name: str, other: str) -> str:
        """A statement that combines a variable with what came after it, or with what came before it."""
        if self.operation in NEUTRAL:
            return f"{name} {self.operation}= {other};"
        if self.operation in (">", "<"):
            return f"if ({other} {self.operation} {name}) {{ {name} = {other}; }}"
        return f"{name} = {self.operation}({name}, {other});"

    @property
    def nothing(self) -> str:
        """What changes nothing; what has been chosen so far, where one of two values is chosen."""
        return NEUTRAL.get(self.operation, self.name)

    def begun(self, part: str) -> str:
        """A statement that combines the value of a round with `nothing` in `part`."""
        if self.operation in NEUTRAL:
            return f"{part} = {self.value};"
        value = f"({self.value})"
        return (
            f"if ({value} {self.operation} {part}) {{ {part} = {self.value}; }}"
            if (self.operation in (">", "<"))
            else f"{part} = {self.operation}({part}, {self.value});"
        )


def running_value(syntax: CudaSyntax, loop: Loop, name: str, types: frozenset[str]) -> RunningValue | None:
    """What a variable is in a loop where a round combines it once with a value and uses it; None where it is no such.

    The value is worked out without the variable, and before the round changes anything: what the round reads behind its
    own writes (`y[i] = sum; sum += x[i];`) must lie elsewhere. Raises `MayOverlap` where only a promise of that lacks.
    """
    variables = [v for v in syntax.entry.variables if v.name == name]
    kinds = types_meant(syntax.kernel, variables[0].type) if len(variables) == 1 else frozenset()
    if not kinds or not kinds <= types or variables[0].sizes or variables[0].pointer:
        return None
    statements = statements_of(loop.body)
    steps = [(s, what) for s in statements if (what := step_of(s, name, statements)) is not None]
    written = [n for s in statements for n in descendants(s) if changed_by(n, addressed=True) == name]
    if len(steps) != 1 or len(written) != 1:
        return None
    statement, step = steps[0]
    whole = all(_is_whole(syntax, n, variables[0].type) for n in step.counted)
    floats = {"float", "double"}
    if (not kinds <= floats and not whole) or (step.operation == "*" and kinds & floats):
        return (
            None  # Each round may round; a product in another order may pass through an infinity and a zero.
        )
    uses = [n for s in statements for n in uses_of(s, name)]
    own = uses_of(statement, name)
    handed_on = statement.type == "expression_statement" and changed_by(statement.named_children[0]) != name
    if len(uses) == len(own) and not handed_on:
        return None  # Nothing uses what it is so far: a sum like any other.
    before = statements[: statements.index(statement)]
    needed, declared = {n for p in step.parts for n in identifiers_in(p)}, list[Node]()
    for earlier in reversed(before):
        if not changed_in(syntax, earlier) & needed:
            continue
        if earlier.type != "declaration":
            return None
        declared.insert(0, earlier)
        needed |= identifiers_in(earlier)
    parts = [*declared, *step.parts]
    late = [s for s in before if s.type not in ("declaration", "comment")]
    reads = [
        p
        for p in parts
        if any(n.type in ("subscript_expression", "pointer_expression") for n in descendants(p))
    ]
    if name in needed:
        return None
    behind = [p for p in reads if late and late[0].start_byte < p.start_byte]
    if behind and not _reads_what_it_did_not_write(syntax, late, behind):
        return None
    if any(n.type in ("continue_statement", "switch_statement") for s in statements for n in descendants(s)):
        return None  # What is added would depend on the way that the round takes.
    calls = [n for p in parts for n in descendants(p) if n.type == "call_expression"]
    called = [text_of(c.child_by_field_name("function")) for c in calls]
    if not all(map(only_gives_a_value, called)):
        return None
    if any(n.type in ("update_expression", "assignment_expression") for p in parts for n in descendants(p)):
        return None
    return RunningValue(name, variables[0].type, step.operation, step.value, tuple(declared))


def shared_running_value(
    kernel: Kernel,
    loop: Loop,
    running: RunningValue,
    counted: str,
    own: str,
    taken: set[str],
    sharers: Together,
    *,
    down: bool,
) -> str:
    """The text of a loop whose rounds several threads take together, of which `own` is a thread's number.

    `counted`: the type of its counter; `down`: the counter goes down.
    """
    assert loop.start is not None and loop.bound is not None and loop.body is not None
    data, unit, at = data_of(kernel), indent_unit(kernel), loop.node
    margin, newline = indent_at(data, at.start_byte), newline_of(data)
    wanted = (f"{running.name}_{n}" for n in ("parts", "part", "before", "whole", "of_warps"))
    first, step, offset, other, warp, parts, part, before, whole, of_warps = (
        fresh_name(n, taken) for n in ("first", "step", "offset", "other", "warp", *wanted)
    )
    counter, name, kind = loop.counter, running.name, running.type
    count = f"(int){sharers.count}" if sharers.in_block else sharers.count
    test = field_of(at, "condition")
    assert test is not None
    condition = f"{operator_of(test)} {text_of(loop.bound)}"
    sign = "-" if down else "+"
    inside = f"if ({counter} {condition})"
    body = [text_of(loop.body)]
    if loop.body.type == "compound_statement":
        inner = data[loop.body.start_byte + 1 : loop.body.end_byte - 1].decode("utf-8", "replace")
        body = inner.strip("\r\n").rstrip().splitlines()
        deep = indent_at(data, statements_of(loop.body)[0].start_byte)
        body = [line.removeprefix(deep).rstrip() for line in body] if len(body) > 1 else [inner.strip()]
    early = [" ".join(text_of(d).split()) for d in running.declared]
    shuffled = f"__shfl_up_sync(0xffffffffu, {part}, "
    lane = "threadIdx.x % 32" if sharers.in_block else own
    of_warp, last = f"{of_warps}[{warp}]", f"__shfl_sync(0xffffffffu, {part}, 31)"
    place = f"const {counted} {counter} = {first} {sign} {step} * {count} {sign} {own};"
    nothing = running.nothing
    empty = "" if nothing == "0" else ", ".join([nothing] * _AHEAD)
    steps = [
        f"{kind} {part} = {parts}[{step}];",
        f"for (int {offset} = 1; {offset} < 32; {offset} *= 2) {{",
        f"{unit}const {kind} {other} = {shuffled}{offset});",
        f"{unit}if ({lane} >= {offset}) {{ {running.combined(part, other)} }}",
        "}",
        f"{kind} {before} = {name}, {whole} = {name};",
        *(
            [
                f"if ({lane} == 31) {{ {of_warps}[threadIdx.x / 32] = {part}; }}",
                sharers.wait,
                f"for (int {warp} = 0; {warp} < (int)blockDim.x / 32; {warp}++) {{",
                f"{unit}if ({warp} < (int)threadIdx.x / 32) {{ {running.combined(before, of_warp)} }}",
                f"{unit}{running.combined(whole, of_warp)}",
                "}",
                sharers.wait,
            ]
            if sharers.in_block
            else [running.combined(whole, last)]
            if running.operation not in (">", "<")
            else [f"const {kind} {other} = {last};", running.combined(whole, other)]
        ),
        f"{part} = {shuffled}1);",
        f"if ({lane} > 0) {{ {running.combined(before, part)} }}",
        f"{inside} {{",
        f"{unit}{kind} {name} = {before};",
        *(unit + line if line else "" for line in body),
        "}",
        f"{name} = {whole};",
    ]
    begun = running.begun(f"{parts}[{step}]")
    lines = [
        f"for ({counted} {first} = {text_of(loop.start)}; {first} {condition}; {first} {sign}= {_AHEAD} * {count}) {{",
        *([f"{unit}__shared__ {kind} {of_warps}[32];"] if sharers.in_block else []),
        f"{unit}{kind} {parts}[{_AHEAD}] = {{{empty}}};",
        f"{unit}#pragma unroll",
        f"{unit}for (int {step} = 0; {step} < {_AHEAD}; {step}++) {{",
        f"{unit * 2}{place}",
        f"{unit * 2}{inside} {{ {' '.join([*early, begun])} }}",
        f"{unit}}}",
        f"{unit}#pragma unroll",
        f"{unit}for (int {step} = 0; {step} < {_AHEAD}; {step}++) {{",
        f"{unit * 2}if (!({first} {sign} {step} * {count} {condition})) {{ break; }}",
        f"{unit * 2}{place}",
        *(unit * 2 + line if line else "" for line in steps),
        f"{unit}}}",
        "}",
    ]
    return newline.join([lines[0], *(margin + line if line else "" for line in lines[1:])])


def _reads_what_it_did_not_write(syntax: CudaSyntax, writing: list[Node], reading: list[Node]) -> bool:
    """Whether what is read lies in buffers that what stands before it does not write."""
    calls = [n for s in writing for n in descendants(s) if n.type == "call_expression"]
    if any(not only_gives_a_value(text_of(c.child_by_field_name("function"))) for c in calls):
        return False
    accesses = [a for a in indexing(syntax.entry).accesses if a.space != "local"]
    written = {a.root for a in accesses if a.writes and any(contains(s, a.node) for s in writing)}
    read = {a.root for a in accesses if any(contains(s, a.node) for s in reading)}
    if written & read:
        return False
    for one, other in sorted((r, w) for r in read for w in written):
        if not promised_apart(syntax, one, other):
            raise MayOverlap(
                f"`{one}` is read behind a write into `{other}` in the same round, and both may lie in one buffer"
            )
    return True


def _is_whole(syntax: CudaSyntax, value: Node, kind: str) -> bool:
    """Whether a value is a whole number, or of the type of the variable, as a template may name it."""
    inner = bare(value)
    element = inner is not None and inner.type == "subscript_expression"
    name = text_of(field_of(inner, "argument") if element else inner)
    parameter = syntax.kernel.parameter(name)
    types = {v.type for v in syntax.entry.variables if v.name == name}
    types |= set(re.findall(r"\w+", parameter.type)) if parameter is not None else set()
    return kind in types or is_whole(syntax.entry, value)
