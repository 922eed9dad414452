"""Pointers that walk along a row or down a column, written as places that the loop's counter tells.

`*p++` in `for (int i = 0; i < n; i++)` is `p[i]`, and `*p` with `p += w` in the loop's head is `p[(long long)i * w]`;
`while (p < end)` behind `end = p + n` counts to `n`. Nothing else changes: this is no rewrite by itself, but what
other rewrites start from, which tell threads' elements apart by the loop's counter.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    Variable,
    bare,
    contains,
    field_of,
    operator_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.counting_loops import declares
from kernel_lineage.rewrite.assists.layout import (
    descendants,
    fresh_name,
    replace_between,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_between, changed_in
from kernel_lineage.rewrite.assists.ways_through import always
from kernel_lineage.rewrite.candidate import Edit

_JUMPS = {"continue_statement", "goto_statement", "break_statement", "return_statement"}
_WHOLE = {"int", "int32_t"}


@dataclass(frozen=True, slots=True)
class _Walk:
    """A pointer that a loop moves on by one step in each round, and reads or writes once."""

    pointer: Variable
    loop: Loop
    place: Node
    """`*p++`, or `*p` where the loop's head moves it."""
    moved: Node | None = None
    """What moves it in the loop's head."""
    step: str = "1"


def indexed_walks(kernel: Kernel) -> list[Edit]:
    """The edits that name the places of walking pointers by the counters of their loops; none where nothing walks."""
    syntax = syntax_of(kernel)
    walks = [w for v in syntax.entry.variables if v.pointer if (w := _walk_of(syntax, v)) is not None]
    edits: list[Edit] = []
    for loop in syntax.entry.loops:
        own = [w for w in walks if w.loop.node == loop.node]
        if not own:
            continue
        counter, head = _counted(syntax, loop, own)
        if counter:
            edits += head
            edits += [replace_node(w.place, f"{w.pointer.name}[{_times(counter, w.step)}]") for w in own]
    return edits


def _times(counter: str, step: str) -> str:
    """So many steps, which a pointer may take beyond what 32 bits count."""
    return (
        counter if step == "1" else f"(long long){counter} * {step if step.isidentifier() else f'({step})'}"
    )


def _walk_of(syntax: CudaSyntax, pointer: Variable) -> _Walk | None:
    """How a pointer walks, if all that uses it is one loop behind its declaration, in the same block."""
    ends = [text_of(e.node.child_by_field_name("declarator")) for e in _ends(syntax, pointer)]
    uses = [n for n in uses_of(syntax.entry.node, pointer.name) if not contains(pointer.node, n)]
    beside = [
        one
        for one in syntax.entry.loops
        if one.node.parent == pointer.node.parent and pointer.node.end_byte <= one.node.start_byte
    ]
    loop = next((one for one in beside if any(contains(one.node, u) for u in uses)), None)
    if loop is None or loop.body is None or pointer.value is None or pointer.sizes:
        return None
    inner = [one for one in syntax.entry.loops if one.node != loop.node and contains(loop.node, one.node)]
    if inner or any(n.type in _JUMPS for n in descendants(loop.body)):
        return None
    test = bare(loop.condition)
    tested = [u for u in uses if test is not None and contains(test, u)]
    used = [
        u for u in uses if u not in tested and not any(contains(e.node, u) for e in _ends(syntax, pointer))
    ]
    if tested and not ends:
        return None
    walk: _Walk | None = None
    if len(used) == 1 and contains(loop.body, used[0]):
        moved = used[0].parent
        place = moved.parent if moved is not None else None
        if (
            _is_step(moved, pointer.name)
            and moved is not None
            and text_of(moved).endswith("++")
            and _is_read(place)
        ):
            assert place is not None
            walk = _Walk(pointer, loop, place)
    elif len(used) == 2 and loop.update is not None and loop.node.type == "for_statement":
        update = loop.node.child_by_field_name("update")
        place = next((u.parent for u in used if contains(loop.body, u)), None)
        moved = next((u.parent for u in used if update is not None and contains(update, u)), None)
        if _is_read(place) and moved is not None and _is_step(moved, pointer.name):
            assert place is not None
            step = "1" if moved.type == "update_expression" else text_of(field_of(moved, "right"))
            walk = _Walk(pointer, loop, place, moved, step)
            changed = changed_in(syntax, loop.body)
            if moved.type != "update_expression" and not _is_steady(field_of(moved, "right"), changed):
                return None
    if walk is None or not always(statements_of(loop.body), [walk.place]):
        return None
    return walk


def _ends(syntax: CudaSyntax, pointer: Variable) -> list[Variable]:
    """The pointers that are declared as so far behind a pointer: `end = p + n`."""
    return [v for v in syntax.entry.variables if v.pointer and _begins_at(bare(v.value), pointer.name)]


def _begins_at(value: Node | None, name: str) -> bool:
    if value is None or value.type != "binary_expression" or operator_of(value) != "+":
        return False
    return text_of(field_of(value, "left")) == name


def _is_step(node: Node | None, name: str) -> bool:
    """Whether it is `p++` or `p += step`."""
    if node is None:
        return False
    if node.type == "update_expression":
        return operator_of(node) == "++" and text_of(field_of(node, "argument")) == name
    return (
        node.type == "assignment_expression"
        and operator_of(node) == "+="
        and text_of(field_of(node, "left")) == name
    )


def _is_read(node: Node | None) -> bool:
    return node is not None and node.type == "pointer_expression" and operator_of(node) == "*"


def _is_steady(value: Node | None, changed: set[str]) -> bool:
    """Whether a value is the same in all rounds."""
    if value is None or identifiers_in(value) & changed:
        return False
    kinds = {"call_expression", "subscript_expression", "pointer_expression", "update_expression"}
    return not any(n.type in kinds for n in descendants(value))


def _counted(syntax: CudaSyntax, loop: Loop, walks: list[_Walk]) -> tuple[str, list[Edit]]:
    """The counter that counts a loop's rounds from zero, and the edits of the loop's head; "" where there is none."""
    assert loop.body is not None
    if loop.node.type == "while_statement":
        return _counted_to_end(syntax, loop, walks)
    update = loop.node.child_by_field_name("update")
    header = loop.node.child_by_field_name("initializer")
    if update is None or header is None or not declares(loop):
        return "", []
    counter = loop.counter or text_of(next((n for n in descendants(header) if n.type == "identifier"), None))
    changed = changed_in(syntax, loop.body)
    declared = header.children_by_field_name("declarator")
    start = text_of(field_of(declared[0], "value")) if len(declared) == 1 else ""
    parts = _comma_parts(update)
    own = [
        p for p in parts if text_of(p).replace(" ", "") in (f"{counter}++", f"++{counter}", f"{counter}+=1")
    ]
    kept = [p for p in parts if not any(w.moved == p for w in walks)]
    others = [w for w in walks if w.moved is not None and w.moved not in parts]
    if start != "0" or not counter or counter in changed or len(own) != 1 or others:
        return "", []
    if len(kept) == len(parts):
        return counter, []
    return counter, [replace_node(update, ", ".join(text_of(p) for p in kept))]


def _comma_parts(node: Node) -> list[Node]:
    if node.type != "comma_expression":
        return [node]
    return [p for child in node.named_children for p in _comma_parts(child)]


def _counted_to_end(syntax: CudaSyntax, loop: Loop, walks: list[_Walk]) -> tuple[str, list[Edit]]:
    """`while (p < end)`, where `end` is declared behind `p` as `p + n` and used nowhere else, as a loop up to `n`."""
    test = bare(loop.condition)
    left, right = (
        (text_of(field_of(test, side)) for side in ("left", "right")) if test is not None else ("", "")
    )
    walk = next((w for w in walks if w.pointer.name == left), None)
    if test is None or walk is None or operator_of(test) not in ("<", "!="):
        return "", []
    end = next((e for e in _ends(syntax, walk.pointer) if e.name == right), None)
    uses = uses_of(syntax.entry.node, right)
    if end is None or end.node.parent != walk.pointer.node.parent or len(uses) != 2:
        return "", []
    if not walk.pointer.node.end_byte <= end.node.start_byte < loop.node.start_byte:
        return "", []
    value = bare(end.value)
    count = field_of(value, "right") if value is not None else None
    changed = changed_between(syntax, end.node.end_byte, loop.node.end_byte)
    if not _is_steady(count, changed) or count is None:
        return "", []
    kinds = {p.name: p.type for p in syntax.kernel.parameters} | {
        v.name: v.type for v in syntax.entry.variables
    }
    plain = all(kinds.get(n, "").removeprefix("const ").strip() in _WHOLE for n in identifiers_in(count))
    counter = fresh_name("i", identifiers_in(syntax.entry.node))
    head = f"for ({'int' if plain else 'long long'} {counter} = 0; {counter} < {text_of(count)}; {counter}++)"
    assert loop.body is not None
    condition = loop.node.child_by_field_name("condition")
    assert condition is not None
    return counter, [replace_between(syntax.kernel, loop.node.start_byte, condition.end_byte, head)]
