"""Let a block take several neighbouring columns, where each block goes down one of them.

Before: `for (int r = threadIdx.x; r < rows; r += blockDim.x) { sum += x[r * cols + blockIdx.x]; }` and a tree in shared
memory, launched on `<<<cols, 256>>>`: neighbouring threads read what lies a row apart.
After: a block does the work of eight, each with an eighth of its threads. `lane = threadIdx.x % 8` says which one a
thread belongs to, `member = threadIdx.x / 8` is its number there, and shared memory has eight places for each one
before; what the last block has too much goes down the last column and writes nothing.

That is right for work that can be done by any number of threads: loops that deal rows out by `blockDim.x`, trees that
begin at half of the block, and what one thread does alone. Refused where a thread's number is asked for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from tree_sitter import Node

from kernel_gate.expr.polynomials import coefficient_of, polynomial
from kernel_gate.expr.terms import Num, Term, Var, floor_div, quotient
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    above,
    bare,
    changed_by,
    contains,
    field_of,
    operator_of,
    test_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import change_blocks, launches_of, whole_warps
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
    with_pragmas,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.make_stride_signed import signed
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.unrolling import rounds_under_way
from kernel_lineage.rewrite.assists.written import dense, header_of
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.launch_site import parameter_of_count
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_COLUMNS = (8, 16, 32)
"""Columns of a block: eight fill a sector with floats, more fill lines and leave fewer threads for each."""
_NEVER = re.compile(
    r"__shfl|__ballot|__any|__all|__match|__reduce|__activemask|__syncwarp|__threadfence|\basm\b|cooperative_groups|\bcg::|"
    r"\bextern\b|\bvolatile\b|\bstatic\b|\breturn\b|\bgoto\b|\batomic|warpSize|gridDim|\b(?:thread|block)(?:Idx|Dim)\s*\.\s*[yz]"
)
_HIDDEN = re.compile(r"threadIdx|blockIdx|blockDim|gridDim|__shared__|__sync")
_PARTS_OF_A_PLACE = ("binary_expression", "subscript_argument_list", "parenthesized_expression")
_THREAD, _BLOCK, _SIZE = Var("threadIdx.x"), Var("blockIdx.x"), Var("blockDim.x")


@dataclass(frozen=True, slots=True)
class _Block:
    """What a block does, read for several of them in one."""

    kernel: Kernel
    syntax: CudaSyntax
    model: Model
    columns: str
    """The argument that says how many there are."""
    shared: frozenset[str]
    threads: int
    """Threads of a block; 0 where launches differ."""
    numbers: dict[tuple[int, int], int]
    """Where the code says the block's size as a number → what part of it."""

    def is_size(self, node: Node | None, part: int = 1) -> bool:
        """Whether an expression is the block's size, or a `part` of it; where it is a number, that is noted."""
        terms = [_SIZE] if part == 1 else [floor_div(_SIZE, Num(part)), quotient(_SIZE, Num(part))]
        if any(self.is_(node, term) for term in terms):
            return True
        if node is None or not self.threads or not self.is_(node, Num(self.threads // part)):
            return False
        self.numbers[node.start_byte, node.end_byte] = part
        return True

    def is_(self, node: Node | None, term: Term) -> bool:
        """Whether an expression is what a term says."""
        value = self.model.values.get((node.start_byte, node.end_byte)) if node is not None else None
        return value is not None and polynomial(value) == polynomial(term)


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    body = syntax.entry.node.child_by_field_name("body")
    never = _NEVER.search(text_of(body))
    if never is not None:
        raise Refusal(f"`{never[0]}` in {kernel.name} may mean something else for several blocks in one")
    check_hidden_reads(kernel, syntax, _HIDDEN, "its place in the block")
    model = read_open(kernel)
    if model.problems or any(event.kind != "barrier" for event in model.events):
        raise Refusal(f"not all of what {kernel.name} does could be read")
    launches = launches_of(kernel)
    threads = {whole_warps(kernel, launch) for launch in launches}
    if any(t & (t - 1) for t in threads):
        raise Refusal(f"blocks of {kernel.name} are no power of two, which a tree needs")
    if any(set(launch.grid[1:]) - {"1"} or launch.shared_bytes not in (None, "0") for launch in launches):
        raise Refusal(f"{kernel.name} is launched on more than one axis, or with dynamic shared memory")
    columns = parameter_of_count(kernel, [launch.grid[0] for launch in launches])
    if not columns or body is None or columns in changed_in(syntax, body):
        raise Refusal(f"no argument of {kernel.name} tells how many blocks there are")
    shared = frozenset(v.name for v in syntax.entry.variables if v.shared)
    block = _Block(kernel, syntax, model, columns, shared, max(threads) if len(threads) == 1 else 0, {})
    _check_columns(block)
    _check_shared(block, max(threads))
    _check_threads(block)
    sides = [side for side in _COLUMNS if min(threads) // side >= 2]
    return with_alternatives(sides, lambda side: _together(block, side))


def _check_columns(block: _Block) -> None:
    """Refuse blocks whose neighbours do not read what lies side by side, or whose threads do."""
    gains = False
    for access in block.model.accesses:
        if access.space != "global" or access.offset is None:
            continue
        place = polynomial(access.offset)
        by_block, by_thread = (coefficient_of(place, of) for of in (_BLOCK, _THREAD))
        if by_thread is not None and by_thread[0] in ({(): access.nbytes}, {(): -access.nbytes}):
            raise Refusal(f"threads read `{access.text}` side by side already")
        own = by_block is not None and by_block[0] == {(): access.nbytes}
        gains = gains or (own and by_thread is not None and bool(by_thread[0]))
    if not gains:
        raise Refusal(f"neighbouring blocks of {block.kernel.name} do not go down neighbouring columns")


def _check_shared(block: _Block, threads: int) -> None:
    """Refuse shared memory that is more than a place for each thread, or is reached by more than its name."""
    for variable in block.syntax.entry.variables:
        if not variable.shared:
            continue
        sizes = [constant(text_of(size), constants_of(block.kernel)) for size in variable.sizes]
        if len(sizes) != 1 or sizes[0] is None or sizes[0] < threads:
            raise Refusal(f"`{variable.name}` has not one place for each thread of a block")
    for node in descendants(block.syntax.entry.node):
        if node.type != "identifier" or text_of(node) not in block.shared:
            continue
        parent = node.parent
        if parent is not None and parent.type == "array_declarator":
            continue
        if parent is None or parent.type != "subscript_expression" or field_of(parent, "argument") != node:
            raise Refusal(f"`{text_of(parent)}` reaches shared memory by more than its name")


def _check_threads(block: _Block) -> None:
    """Refuse a thread's number where it says more than which of any number of threads it is."""
    trees = [loop for loop in block.syntax.entry.loops if loop.halves]
    order = ThreadOrder(block.kernel, block.syntax)
    for loop in block.syntax.entry.loops:
        if loop in trees:
            _check_tree(block, loop)
        elif order.covers_all(loop) == "block":
            if not block.is_size(_amount(loop)):
                raise Refusal(
                    f"`{header_of(loop)}` deals out to so many threads whatever the block's size is"
                )
        elif "__sync" in text_of(loop.body):
            raise Refusal(f"threads wait for each other in `{header_of(loop)}`, which is no tree")
    numbers = [n for n in descendants(block.syntax.entry.node) if block.is_(n, _THREAD)]
    for node in (n for n in numbers if n.parent not in numbers):
        if not _is_of_any(block, node, order, trees):
            around = " ".join(text_of(node.parent).split())
            raise Refusal(f"`{around}` tells more of a thread than which of any number it is")
    for node in descendants(block.syntax.entry.node):
        if node.type == "subscript_expression" and text_of(field_of(node, "argument")) in block.shared:
            _check_place(block, node, trees)
        barrier = node.type == "call_expression" and dense(node) == "__syncthreads()"
        if barrier and not _is_met_by_all(block, node, trees):
            raise Refusal(f"not all threads may come to the barrier in line {node.start_point.row + 1}")


def _amount(loop: Loop) -> Node | None:
    """What a loop's counter moves on by."""
    update = loop.update
    right = field_of(update, "right") if update is not None else None
    if right is not None and right.type == "binary_expression":
        return field_of(right, "right")
    return right


def _check_tree(block: _Block, loop: Loop) -> None:
    starts = block.is_size(loop.start, 2)
    ends = dense(bare(loop.condition)) in (f"{loop.counter}>0", f"{loop.counter}>=1", loop.counter)
    if not starts or not ends:
        raise Refusal(f"`{header_of(loop)}` does not halve the whole block")


def _is_of_any(block: _Block, node: Node, order: ThreadOrder, trees: list[Loop]) -> bool:
    """Whether a use of a thread's number stands where any number of threads may be."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "init_declarator":
        name = text_of(field_of(parent, "declarator"))
        changed = {changed_by(n, addressed=True) for n in descendants(block.syntax.entry.node)}
        return name not in changed or any(
            x.start == node and order.covers_all(x) == "block" for x in block.syntax.entry.loops
        )
    if parent.type == "unary_expression" and operator_of(parent) == "!":
        return True
    if parent.type == "binary_expression" and operator_of(parent) == "==":
        other = next(c for c in parent.named_children if c != node)
        return block.is_(other, Num(0))
    if parent.type == "binary_expression" and operator_of(parent) == "<":
        tested = text_of(field_of(parent, "right"))
        return any(t.counter == tested and contains(t.node, parent) for t in trees)
    if parent.type == "assignment_expression":
        loops = [x for x in block.syntax.entry.loops if x.start == node]
        return any(order.covers_all(x) == "block" for x in loops)
    element = next((n for n in above(node) if n.type not in _PARTS_OF_A_PLACE), None)
    return text_of(field_of(element, "argument")) in block.shared


def _check_place(block: _Block, element: Node, trees: list[Loop]) -> None:
    """Refuse an element of shared memory that is none of a thread of the block."""
    listed = element.child_by_field_name("indices")
    index = bare(listed.named_children[0]) if listed is not None and len(listed.named_children) == 1 else None
    if block.is_(index, _THREAD) or block.is_(index, Num(0)):
        return
    tree = next((t for t in trees if contains(t.node, element)), None)
    if tree is not None and index is not None and operator_of(index) == "+":
        sides = [field_of(index, "left"), field_of(index, "right")]
        steps = [s for s in sides if text_of(s) == tree.counter]
        if len(steps) == 1 and any(block.is_(s, _THREAD) for s in sides) and _is_below(block, element, tree):
            return
    counts = [
        x
        for x in block.syntax.entry.loops
        if x.counter == text_of(index)
        and contains(x.node, element)
        and x.step == "1"
        and operator_of(bare(x.condition) or x.node) == "<"
        and block.is_size(x.bound)
        and x.counter not in changed_in(block.syntax, x.body or x.node)
    ]
    if not counts or not any(block.is_(counts[0].start, Num(n)) for n in (0, 1)):
        raise Refusal(f"`{text_of(element)}` may be the place of no thread")


def _is_below(block: _Block, element: Node, tree: Loop) -> bool:
    """Whether an element of the other half is reached by threads of the first half only."""
    for outer in takewhile(lambda n: n != tree.node, above(element)):
        test = test_of(outer) if outer.type == "if_statement" else None
        then = outer.child_by_field_name("consequence")
        if test is not None and operator_of(test) == "<" and then is not None and contains(then, element):
            left, right = field_of(test, "left"), field_of(test, "right")
            if block.is_(left, _THREAD) and text_of(right) == tree.counter:
                return True
    return False


def _is_met_by_all(block: _Block, barrier: Node, trees: list[Loop]) -> bool:
    """Whether a barrier stands in the kernel's body, or in the body of a tree that does."""
    body, loops = block.syntax.entry.node.child_by_field_name("body"), [t.node for t in trees]
    return all(
        outer.type in ("expression_statement", "compound_statement") or outer in loops
        for outer in takewhile(lambda n: n != body, above(barrier))
    )


def _together(block: _Block, side: int) -> Candidate:
    kernel, entry = block.kernel, block.syntax.entry.node
    taken = identifiers_in(entry) | {p.name for p in kernel.parameters}
    lane, member, column, here = (fresh_name(n, taken) for n in ("lane", "member", "column", "here"))
    body = entry.child_by_field_name("body")
    assert body is not None
    names = {"threadIdx.x": member, "blockIdx.x": column, "blockDim.x": f"(blockDim.x / {side})"}
    first = statements_of(body)[0].start_byte
    data = data_of(kernel)
    gap = newline_of(data) + indent_at(data, first)
    touched = {a.at: a.writes for a in block.model.accesses if a.space == "global"}
    ends = [n for n in descendants(entry) if (n.start_byte, n.end_byte) in touched]
    alone = [_alone(n, writes=touched[n.start_byte, n.end_byte]) for n in ends]
    special: dict[tuple[int, int], Callable[[str], str]] = {}
    for node in descendants(entry):
        if node.type == "subscript_expression" and text_of(field_of(node, "argument")) in block.shared:
            listed = node.child_by_field_name("indices")
            assert listed is not None
            index = listed.named_children[0]
            special[index.start_byte, index.end_byte] = partial(_place, names, side, lane)
        elif node.type == "field_expression" and dense(node) in names:
            special.setdefault((node.start_byte, node.end_byte), partial(_named, names))
    order = ThreadOrder(kernel, block.syntax)
    for at, part in block.numbers.items():
        special[at] = f"(blockDim.x / {side * part})".format
    for loop in block.syntax.entry.loops:
        amount = _amount(loop)
        if amount is not None and block.is_size(amount) and order.covers_all(loop):
            special[amount.start_byte, amount.end_byte] = signed(f"blockDim.x / {side}").format
    for statement in (s for s in alone if s is not None):
        opening = with_pragmas(statement)
        rounds = _rounds(block, statement) if opening == statement else 1
        unroll = f"#pragma unroll {rounds}{gap}" if rounds > 1 else ""
        form = "{}" if opening == statement and not unroll else f"{{{{{gap}{unroll}{{}}{gap}}}}}"
        at = (opening.start_byte, statement.end_byte)
        special[at] = f"if ({here} < {block.columns}) {form}".format
    lines = [
        f"const unsigned {lane} = threadIdx.x % {side}, {member} = threadIdx.x / {side};",
        f"const unsigned {here} = blockIdx.x * {side} + {lane};",
        f"const unsigned {column} = {here} < {block.columns} ? {here} : {block.columns} - 1;",
    ]
    text = _written(data, body.start_byte, body.end_byte, special)
    # Nothing before the first statement is replaced, so that it still begins there.
    begins = len(data[body.start_byte : first].decode("utf-8", "replace"))
    text = text[:begins] + "".join(line + gap for line in lines) + text[begins:]
    return ASSIST.candidate(
        kernel,
        [
            replace_between(kernel, body.start_byte, body.end_byte, text),
            *(change_blocks(kernel, x, f"({{}} + {side - 1}) / {side}".format) for x in launches_of(kernel)),
        ],
        explanation=f"A block goes down {side} columns side by side, with a part of its threads each; sums are rounded "
        "in another order.",
    )


def _rounds(block: _Block, statement: Node) -> int:
    """Rounds of a loop whose loads are under way together; 1 for what is no loop, or has loops in it."""
    if statement.type != "for_statement" or block.syntax.entry.has_loop_in(statement):
        return 1
    return rounds_under_way(block.kernel, block.syntax, statement)


def _alone(access: Node, *, writes: bool) -> Node | None:
    """The largest statement around an access in which threads do not wait for each other; None for a declaration, which
    may read the last column more often than before. Refused where it writes.
    """
    statement = access
    while statement.parent is not None and not statement.type.endswith(("statement", "declaration")):
        statement = statement.parent
    for outer in takewhile(lambda n: n.type != "function_definition", above(statement)):
        if outer.type == "compound_statement" and "__sync" in text_of(outer):
            break
        statement = outer
    if statement.type == "declaration" and writes:
        raise Refusal(f"line {access.start_point.row + 1} writes memory on the way to a value")
    return statement if statement.type.endswith("statement") else None


def _named(names: Mapping[str, str], text: str) -> str:
    return names.get("".join(text.split()), text)


def _place(names: Mapping[str, str], side: int, lane: str, index: str) -> str:
    """A place of shared memory, of so many for each one before."""
    text = _named(names, index)
    if text.strip() == "0":
        return lane
    return f"{text} * {side} + {lane}" if re.fullmatch(r"\w+", text) else f"({text}) * {side} + {lane}"


def _written(data: bytes, start: int, end: int, special: dict[tuple[int, int], Callable[[str], str]]) -> str:
    """The text between two offsets, with what is special in it written anew, from the inside out."""
    within = [(a, b) for a, b in special if start <= a and b <= end and (a, b) != (start, end)]
    inside = sorted(within, key=lambda at: (at[0], -at[1]))
    text, at = "", start
    for a, b in inside:
        if a < at:
            continue
        inner = _written(data, a, b, special)
        text += data[at:a].decode("utf-8", "replace") + special[a, b](inner)
        at = b
    return text + data[at:end].decode("utf-8", "replace")


ASSIST = Assist(
    title="Take several columns in a block",
    skill="columns-side-by-side",
    pattern="column_per_block",
    make=_rewrite,
)
