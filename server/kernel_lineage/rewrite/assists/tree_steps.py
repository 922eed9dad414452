"""One step of a tree in shared memory, whatever it does with a thread's element and its partner's, done in registers.

The last steps of a tree, whose strides are within a warp, hand partners over by shuffles: every pair is combined as
before, by the same statements and in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.layout import (
    dedented,
    descendants,
    fresh_name,
    indent_at,
    statements_of,
)
from kernel_lineage.rewrite.assists.loop_changes import only_gives_a_value
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.template_types import types_meant
from kernel_lineage.rewrite.assists.written import dense

SHUFFLED = frozenset({"float", "double", "int", "unsigned int", "long long", "unsigned long long"})
"""Types that `__shfl_down_sync` takes (CUDA C++ Programming Guide, warp shuffle functions)."""
_STATEMENTS = {"declaration", "expression_statement", "if_statement"}
_ASIDE = {
    "pointer_expression",
    "update_expression",
    "lambda_expression",
    "gnu_asm_expression",
    "comma_expression",
}


@dataclass(frozen=True, slots=True)
class TreeStep:
    """What each thread below the stride does, of which nothing but elements of some arrays is seen by others."""

    loop: Loop
    thread: str
    statements: tuple[Node, ...]
    arrays: dict[str, str]
    """Each array with its type."""
    own: tuple[tuple[Node, str], ...]
    """The places of a thread's own elements, and their arrays."""
    others: tuple[tuple[Node, str], ...]
    """The places of its partner's."""

    def lines(self, data: bytes, taken: set[str]) -> list[str]:
        """The tree down to strides of a warp, and its last steps; a tab for each step of indentation."""
        loop, node = self.loop, self.loop.node
        assert loop.body is not None and loop.condition is not None
        named = {(a, w): fresh_name(f"{a}_{w}", taken) for a in self.arrays for w in ("value", "other")}
        offset = fresh_name("offset", taken)
        taken |= {*named.values(), offset}
        condition = bare(loop.condition)
        assert condition is not None
        begin, end = condition.start_byte - node.start_byte, condition.end_byte - node.start_byte
        whole = data[node.start_byte : node.end_byte]
        tree = (whole[:begin] + f"{loop.counter} > 16".encode() + whole[end:]).decode()
        changes = [(n, named[a, "value"]) for n, a in self.own] + [
            (n, named[a, "other"]) for n, a in self.others
        ]
        margin = indent_at(data, node.start_byte)
        lines = [line.removeprefix(margin) for line in tree.splitlines()]
        if not is_barrier(statements_of(loop.body)[-1]):
            lines.append("__syncthreads();")
        lines.append(f"if ({self.thread} < 32) {{")
        lines += [f"\t{kind} {named[a, 'value']} = {a}[{self.thread}];" for a, kind in self.arrays.items()]
        lines.append(f"\tfor (int {offset} = 16; {offset} > 0; {offset} /= 2) {{")
        for a, kind in self.arrays.items():
            value = f"__shfl_down_sync(0xffffffffu, {named[a, 'value']}, {offset})"
            lines.append(f"\t\tconst {kind} {named[a, 'other']} = {value};")
        lines += ["\t\t" + line for line in dedented(data, self.statements, changes)]
        lines += ["\t}", f"\tif ({self.thread} == 0) {{"]
        lines += [f"\t\t{a}[0] = {named[a, 'value']};" for a in self.arrays]
        return [*lines, "\t}", "}", "__syncthreads();"]


def is_barrier(statement: Node) -> bool:
    """Whether a statement is a barrier of the block."""
    return dense(statement) == "__syncthreads();"


def step_of(syntax: CudaSyntax, loop: Loop, branch: Node, thread: str) -> TreeStep | Refusal:
    """The step that the threads below the stride do, or why it cannot be done in registers."""
    statements = tuple(statements_of(branch))
    nodes = [n for s in statements for n in descendants(s)]
    shared = {v.name: v for v in syntax.entry.variables if v.shared and len(v.sizes) == 1}
    inside = {v.name for v in syntax.entry.variables if contains(branch, v.node)}
    arrays: dict[str, str] = {}
    own: list[tuple[Node, str]] = []
    others: list[tuple[Node, str]] = []
    partner = {f"{thread}+{loop.counter}", f"{loop.counter}+{thread}"}
    for node in nodes:
        if node.type != "subscript_expression":
            continue
        name, index = text_of(field_of(node, "argument")), dense(node.child_by_field_name("indices"))[1:-1]
        kinds = types_meant(syntax.kernel, shared[name].type) if name in shared else frozenset()
        if not kinds or not kinds <= SHUFFLED or (index != thread and index not in partner):
            return Refusal(f"the tree's step reads or writes `{text_of(node)}`")
        arrays.setdefault(name, shared[name].type)
        (own if index == thread else others).append((node, name))
    places = [n for n, _ in (*own, *others)]
    rest = [n for n in nodes if n.type == "identifier" and not any(contains(p, n) for p in places)]
    beside = {text_of(n) for n in rest} & {*arrays, loop.counter, thread.partition(".")[0]}
    if beside or not others:
        return Refusal(
            f"the tree's step uses `{min(beside)}` itself" if beside else "the tree's step has no partner"
        )
    if any(n.type in _ASIDE for n in nodes) or any(s.type not in _STATEMENTS for s in statements):
        return Refusal("the tree's step does more than to choose or to combine")
    for node in nodes:
        if node.type == "call_expression":
            called = text_of(node.child_by_field_name("function"))
            if not only_gives_a_value(called) or called.startswith("__sync"):
                return Refusal(f"the tree's step calls {called}")
        if node.type == "assignment_expression":
            left = bare(node.child_by_field_name("left"))
            if left is None or not (any(left == n for n, _ in own) or text_of(left) in inside):
                return Refusal(f"the tree's step writes `{text_of(left)}`")
    if any(n.type in ("return_statement", "break_statement", "continue_statement") for n in nodes):
        return Refusal("the tree's step leaves the loop")
    return TreeStep(loop, thread, statements, arrays, tuple(own), tuple(others))
