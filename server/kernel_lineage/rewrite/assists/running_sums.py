"""A sum along a row of which each round uses what it is so far: prefix sums, and all that is written from them.

The threads of a warp or of a block take a round each at once. Each works out what its round adds, shuffles and shared
memory give it what those before it add, and then it does its round as it is written, with a sum of its own that begins
with that. What a few such rounds add is read ahead, so that memory answers several reads of a thread at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, changed_by, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    statements_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in, is_of_the_language, promised_apart
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
class RunningSum:
    """The sum, and what each round adds to it."""

    name: str
    type: str
    added: Node
    declared: tuple[Node, ...]
    """Declarations in the round that what is added is made of."""


def running_sum(syntax: CudaSyntax, loop: Loop, name: str, types: frozenset[str]) -> RunningSum | None:
    """The sum that a variable is in a loop, where a round adds to it once and reads it; None where it is none.

    What is added is worked out without the sum, and before the round changes anything: what the round reads behind its
    own writes (`y[i] = sum; sum += x[i];`) must lie elsewhere. Raises `MayOverlap` where only a promise of that lacks.
    """
    variables = [v for v in syntax.entry.variables if v.name == name]
    kinds = types_meant(syntax.kernel, variables[0].type) if len(variables) == 1 else frozenset()
    if not kinds or not kinds <= types or variables[0].sizes or variables[0].pointer:
        return None
    statements = statements_of(loop.body)
    steps = [(s, what) for s in statements if (what := _added(s, name)) is not None]
    written = [n for s in statements for n in descendants(s) if changed_by(n, addressed=True) == name]
    if len(steps) != 1 or len(written) != 1:
        return None
    step, added = steps[0]
    uses = [n for s in statements for n in descendants(s) if n.type == "identifier" and text_of(n) == name]
    own = [n for n in descendants(step) if n.type == "identifier" and text_of(n) == name]
    if len(uses) == len(own):
        return None  # Nothing uses what it is so far: a sum like any other.
    before = statements[: statements.index(step)]
    needed, declared = identifiers_in(added), list[Node]()
    for statement in reversed(before):
        names = identifiers_in(statement)
        if statement.type == "declaration" and names & needed:
            declared.insert(0, statement)
            needed |= names
        elif statement.type != "declaration" and changed_in(syntax, statement) & needed:
            return None
    parts = [*declared, added]
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
    if not all(map(_is_plain, called)):
        return None
    if any(n.type in ("update_expression", "assignment_expression") for p in parts for n in descendants(p)):
        return None
    return RunningSum(name, variables[0].type, added, tuple(declared))


def shared_running_sum(
    kernel: Kernel,
    loop: Loop,
    running: RunningSum,
    own: str,
    taken: set[str],
    sharers: Together,
    *,
    down: bool,
) -> str:
    """The text of a loop whose rounds several threads take together, of which `own` is a thread's number; `down`: its
    counter goes down.
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
    declared = loop.node.child_by_field_name("initializer")
    type_ = text_of(declared.child_by_field_name("type")) if declared is not None else "int"
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
        body = [line.removeprefix(deep).rstrip() for line in body]
    early = [" ".join(text_of(d).split()) for d in running.declared]
    shuffled = f"__shfl_up_sync(0xffffffffu, {part}, "
    lane = "threadIdx.x % 32" if sharers.in_block else own
    place = f"const {type_} {counter} = {first} {sign} {step} * {count} {sign} {own};"
    steps = [
        f"{kind} {part} = {parts}[{step}];",
        f"for (int {offset} = 1; {offset} < 32; {offset} *= 2) {{",
        f"{unit}const {kind} {other} = {shuffled}{offset});",
        f"{unit}if ({lane} >= {offset}) {{ {part} += {other}; }}",
        "}",
        f"{kind} {before} = {name}, {whole} = {name};",
        *(
            [
                f"if ({lane} == 31) {{ {of_warps}[threadIdx.x / 32] = {part}; }}",
                sharers.wait,
                f"for (int {warp} = 0; {warp} < (int)blockDim.x / 32; {warp}++) {{",
                f"{unit}if ({warp} < (int)threadIdx.x / 32) {{ {before} += {of_warps}[{warp}]; }}",
                f"{unit}{whole} += {of_warps}[{warp}];",
                "}",
                sharers.wait,
            ]
            if sharers.in_block
            else [f"{whole} += __shfl_sync(0xffffffffu, {part}, 31);"]
        ),
        f"{part} = {shuffled}1);",
        f"if ({lane} > 0) {{ {before} += {part}; }}",
        f"{inside} {{",
        f"{unit}{kind} {name} = {before};",
        *(unit + line if line else "" for line in body),
        "}",
        f"{name} = {whole};",
    ]
    lines = [
        f"for ({type_} {first} = {text_of(loop.start)}; {first} {condition}; {first} {sign}= {_AHEAD} * {count}) {{",
        *([f"{unit}__shared__ {kind} {of_warps}[32];"] if sharers.in_block else []),
        f"{unit}{kind} {parts}[{_AHEAD}] = {{}};",
        f"{unit}#pragma unroll",
        f"{unit}for (int {step} = 0; {step} < {_AHEAD}; {step}++) {{",
        f"{unit * 2}{place}",
        f"{unit * 2}{inside} {{ {' '.join([*early, f'{parts}[{step}] = {text_of(running.added)};'])} }}",
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
    if any(not _is_plain(text_of(c.child_by_field_name("function"))) for c in calls):
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


def _is_plain(function: str) -> bool:
    """Whether a function of the language does nothing but to give a value."""
    return is_of_the_language(function) and not function.startswith(("atomic", "printf", "__st"))


def _added(statement: Node, name: str) -> Node | None:
    """E of the statement `name += E;` and of `name = name + E;`."""
    assignment = statement.named_children[0] if statement.type == "expression_statement" else None
    if assignment is None or assignment.type != "assignment_expression":
        return None
    if text_of(assignment.child_by_field_name("left")) != name:
        return None
    right = field_of(assignment, "right")
    if operator_of(assignment) == "+=":
        return right
    if operator_of(assignment) != "=" or right is None or right.type != "binary_expression":
        return None
    left, other = right.child_by_field_name("left"), right.child_by_field_name("right")
    return other if operator_of(right) == "+" and text_of(left) == name else None
