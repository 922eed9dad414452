"""What each thread of a grid does for the one element that its index counts, and whether it may do so for several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Variable, above, bare, contains, test_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.cuda_tests import Condition, conditions
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import descendants, statements_of
from kernel_lineage.rewrite.assists.loop_changes import changed_between
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.template_types import plain_type
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder

_TOGETHER = re.compile(
    r"__shared__|__sync|__shfl|__ballot|__any_|__all_|__match|__reduce|__activemask|\basm\b|cooperative_groups|"
    r"\bcg::|\bbarrier\b|__threadfence|\bvolatile\b|atomicCAS|atomicExch|__nanosleep"
)
"""What lets threads wait for each other, or see how far others are."""
_PLACE = r"\bblockIdx\s*\.\s*%s\b|\bgridDim\b|\bblockIdx\b(?!\s*\.)"
_HIDDEN = re.compile(rf"blockIdx|gridDim|{_TOGETHER.pattern}")
_GRID = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
_CONVERTING = {"cast_expression", "call_expression"}
"""What may give an `auto` index a type that is lost where another place stands in its place."""
CASTS = frozenset({"static_cast"})
"""What looks like a name in an index and is none."""
_COUNTED = {
    "int": "long long",
    "long long": "long long",
    "unsigned int": "unsigned long long",
    "unsigned long long": "unsigned long long",
}
"""Types of an index, and what counts its values in 64 bits."""
TYPE_NODES = (
    "primitive_type",
    "sized_type_specifier",
    "type_identifier",
    "qualified_identifier",
)
"""What the name of a plain type is in a declaration."""


@dataclass(frozen=True, slots=True)
class ElementWork:
    """What a thread does for its element."""

    index: Variable
    type: str
    """As written, `const int`."""
    counted: str
    """The type of 64 bits that a loop over its index counts in."""
    start: Node
    guard: Node
    bound: Node
    before: list[Node]
    """Declarations that move into the loop with it, in front of the guard."""
    inner: list[Node]
    """What the guard lets happen."""
    leaves: bool
    """The guard returns, and the rest of the kernel is the work."""
    update: Node | None = None
    """What takes a thread to its next element, where the guard is the head of a loop over the grid."""

    @property
    def keeps_index(self) -> bool:
        """Whether the loop can count in the index itself."""
        return self.counted == self.type.removeprefix("const ")

    @property
    def returns(self) -> list[Node]:
        """The returns of the work, the guard's own aside."""
        return [n for s in self.inner for n in descendants(s) if n.type == "return_statement"]

    @property
    def first(self) -> int:
        """Where the loop begins."""
        return (self.before[0] if self.before else self.guard).start_byte

    @property
    def end(self) -> int:
        """Where it ends."""
        return max(self.guard.end_byte, self.inner[-1].end_byte)


def work_of(kernel: Kernel, syntax: CudaSyntax, axis: str = "x") -> ElementWork:
    """What each thread does for its element, which an axis counts, independently of all others. Refused where that is
    not known.
    """
    check_alone(kernel, syntax)
    return _work(kernel, syntax, axis)


def strided_work_of(kernel: Kernel, syntax: CudaSyntax) -> ElementWork | None:
    """What each thread does for its elements, where a loop over the whole grid is all that the kernel does after
    declarations; None where it is not.
    """
    order = ThreadOrder(kernel, syntax)
    statements = [
        s for s in statements_of(syntax.entry.node.child_by_field_name("body")) if s.type != "comment"
    ]
    loop = next((one for one in syntax.entry.loops if statements and one.node == statements[-1]), None)
    if loop is None or loop.node.type != "for_statement" or order.covers_all(loop) != "grid":
        return None
    check_alone(kernel, syntax)
    index = next(
        (v for v in syntax.entry.variables if contains(loop.node, v.node) and v.name == loop.counter), None
    )
    header, test = loop.node.child_by_field_name("initializer"), bare(loop.condition)
    if index is None or header is None or loop.start is None or loop.update is None or test is None:
        return None
    bound = Condition(test, holds=True).bound_of(loop.counter)
    kind = text_of(header.child_by_field_name("type"))
    inner = statements_of(loop.body)
    if (
        bound is None
        or not (counted := counted_in(kernel, kind))
        or not inner
        or len(header.children_by_field_name("declarator")) != 1
    ):
        return None
    if loop.counter in changed_between(syntax, inner[0].start_byte, inner[-1].end_byte):
        return None
    if not all(only_declares(s) for s in statements[:-1]):
        return None
    return ElementWork(
        index, kind, counted, loop.start, loop.node, bound, [], inner, leaves=False, update=loop.update
    )


def counted_in(kernel: Kernel, kind: str) -> str:
    """The type of 64 bits that counts the values of an index: its own, where that has so many and is no `long`.

    "" for a type that is not known to be a whole number of 32 or 64 bits.
    """
    kind = kind.removeprefix("const ")
    plain = plain_type(kernel, kind)
    return kind if plain in _COUNTED.values() and "long" not in kind.split() else _COUNTED.get(plain, "")


def check_repeatable(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> None:
    """Refuse work that a thread may not do for one element after the other."""
    _check_nothing_carried(kernel, syntax, work)
    _check_ways_out(work)


def check_alone(kernel: Kernel, syntax: CudaSyntax) -> None:
    """Refuse a kernel whose threads work together."""
    text = text_of(syntax.entry.node)
    match = _TOGETHER.search(text)
    if match is not None:
        raise Refusal(
            f"threads of {kernel.name} work together (`{match[0]}`), so that none can be given other work alone"
        )
    if any(n.type in ("goto_statement", "lambda_expression") for n in descendants(syntax.entry.node)):
        raise Refusal(f"{kernel.name} has a goto or a lambda, whose way out of the loop is not followed")
    check_hidden_reads(kernel, syntax, _HIDDEN, "the grid")


def _work(kernel: Kernel, syntax: CudaSyntax, axis: str) -> ElementWork:
    order = ThreadOrder(kernel, syntax)
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    index = next(
        (v for v in syntax.entry.variables if v.value is not None and order.is_global_along(v.value, axis)),
        None,
    )
    if index is None or index.value is None:
        raise Refusal(
            f"{kernel.name} has no index `blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}` that counts all threads"
        )
    if index.node not in statements or len(index.node.children_by_field_name("declarator")) != 1:
        raise Refusal(f"`{index.name}` is not declared in a statement of its own")
    if beside := _named_beside(syntax, index):
        raise Refusal(f"`{beside}` is used beside `{index.name}`; it has another meaning then")
    places = [m.start() for m in re.finditer(_PLACE % axis, text_of(syntax.entry.node))]
    if len(places) > 1:
        raise Refusal(
            f"{kernel.name} uses blockIdx.{axis} or gridDim beside `{index.name}`; it has another meaning then"
        )
    kind = " ".join(text_of(n) for n in index.node.children if n.type in ("type_qualifier", *TYPE_NODES))
    plain = identifiers_in(index.value) <= _GRID
    if index.type == "auto" and plain and not {n.type for n in descendants(index.value)} & _CONVERTING:
        kind = f"{kind} unsigned int".strip()
    counted = counted_in(kernel, kind)
    if not counted:
        raise Refusal(
            f"`{index.name}` is declared as `{kind}`, which is not known to be a whole number of 32 or 64 bits"
        )
    rest = statements[statements.index(index.node) + 1 :]
    checked = [(n, limit) for n, s in enumerate(rest) if (limit := _bound_in(s, index.name)) is not None]
    if not checked:
        raise Refusal(f"no statement of its own compares `{index.name}` to a bound")
    position, (bound, leaves) = checked[0]
    guard, behind = rest[position], rest[position + 1 :]
    inner = behind if leaves else statements_of(guard.child_by_field_name("consequence"))
    if guard.child_by_field_name("alternative") is not None or not inner or (behind and not leaves):
        raise Refusal(
            f"the kernel does not end with the work of `{index.name}` behind one check of its bound"
        )
    before = _depending(rest[:position], index.name)
    once = [s for s in statements if s.start_byte < guard.start_byte and s not in before]
    doing = next((s for s in once if not only_declares(s)), None)
    if doing is not None:
        line = doing.start_point.row + 1
        raise Refusal(
            f"what line {line} does would be done once for each thread that is left, and there are fewer"
        )
    return ElementWork(index, kind, counted, index.value, guard, bound, before, inner, leaves)


def _named_beside(syntax: CudaSyntax, index: Variable) -> str:
    """A name that an index is made of and that something else uses as well: `tid` of `bid * blockDim.x + tid`; "" where
    there is none.
    """
    declared = {v.name: v for v in syntax.entry.variables}
    parts = [index.node]
    for part in parts:
        made_of = sorted(identifiers_in(part) & declared.keys())
        parts += [declared[name].node for name in made_of if declared[name].node not in parts]
    names = [(n, text_of(n)) for n in descendants(syntax.entry.node) if n.type == "identifier"]
    own = {name for name, v in declared.items() if v.node in parts} - {index.name}
    return next((t for n, t in names if t in own and not any(contains(p, n) for p in parts)), "")


def _bound_in(statement: Node, index: str) -> tuple[Node, bool] | None:
    """The bound that an if checks and nothing else, and whether the thread leaves where the check fails."""
    test = test_of(statement) if statement.type == "if_statement" else None
    if test is None:
        return None
    then = statements_of(statement.child_by_field_name("consequence"))
    leaves = [text_of(s).replace(" ", "") for s in then] == ["return;"]
    parts = conditions(test, holds=not leaves)
    bound = parts[0].bound_of(index) if len(parts) == 1 else None
    return (bound, leaves) if bound is not None else None


def only_declares(statement: Node) -> bool:
    """Whether a statement declares variables and changes nothing else, or is a line of the preprocessor."""
    if statement.type.startswith("preproc"):
        return True
    return statement.type == "declaration" and not any(
        n.type in ("assignment_expression", "update_expression")
        or (n.type == "call_expression" and text_of(n).startswith("atomic"))
        for n in descendants(statement)
    )


def _depending(between: list[Node], index: str) -> list[Node]:
    """The statements between an index and its guard, from the first on that is computed from the index."""
    moved = next((n for n, s in enumerate(between) if index in identifiers_in(s)), len(between))
    for statement in between[moved:]:
        calls = [n for n in descendants(statement) if n.type in ("call_expression", "subscript_expression")]
        if statement.type != "declaration" or calls:
            raise Refusal(
                f"`{' '.join(text_of(statement).split())}` stands before the check of `{index}`; put it behind"
            )
    return between[moved:]


def _check_nothing_carried(kernel: Kernel, syntax: CudaSyntax, work: ElementWork) -> None:
    """Refuse work of which one round may see what another one left behind."""
    outside = [v for v in syntax.entry.variables if v.start < work.first and v.name != work.index.name]
    changed = changed_between(syntax, work.first, work.end)
    if work.index.name in changed and work.keeps_index:
        raise Refusal(f"`{work.index.name}` is changed by the work itself")
    for name in [v.name for v in outside] + [p.name for p in kernel.parameters]:
        if name in changed:
            raise Refusal(
                f"`{name}` is changed for one element and would be different for the next; declare it inside"
            )
    arrays = {v.name for v in outside if v.sizes}
    for node in descendants(syntax.entry.node):
        inside = node.type == "identifier" and work.first <= node.start_byte < work.end
        if inside and text_of(node) in arrays:
            raise Refusal(f"the array `{text_of(node)}` is shared by a thread's elements; declare it inside")
    if any(
        n.type in ("call_expression", "subscript_expression", "pointer_expression", "field_expression")
        for n in descendants(work.bound)
    ):
        raise Refusal(
            f"the bound `{text_of(work.bound)}` is read anew for each element, and may have changed"
        )
    late = identifiers_in(work.bound) & {v.name for v in syntax.entry.variables if v.start >= work.first}
    if late or work.index.name in identifiers_in(work.bound):
        raise Refusal(f"the bound `{text_of(work.bound)}` is computed from `{work.index.name}`, or behind it")


_LEFT_BY_A_RETURN = (
    "for_statement", "while_statement", "do_statement", "switch_statement", "for_range_loop"
)  # fmt: skip


def _check_ways_out(work: ElementWork) -> None:
    for node in work.returns:
        for outer in takewhile(lambda n: any(contains(s, n) for s in work.inner), above(node)):
            if outer.type in _LEFT_BY_A_RETURN:
                line = node.start_point.row + 1
                raise Refusal(f"the return in line {line} leaves a loop within the work; end that loop first")
