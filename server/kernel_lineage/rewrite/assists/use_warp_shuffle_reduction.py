"""Reduce over a block with warp shuffles in place of a tree in shared memory.

Before:
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) { shared[tid] += shared[tid + s]; }
        __syncthreads();
    }
After: each warp reduces its 32 values in registers, the first warp reduces one value per warp, and shared[0] has the
result as before. A block that is not made of whole warps keeps the tree: the branch is the same for all its threads.

Where a step is another one than a sum, a maximum or a minimum (a value and its place), the order of its pairs may
matter: the tree goes on down to strides of a warp, and its last five steps are the same ones in registers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Loop,
    bare,
    changed_by,
    field_of,
    operator_of,
    test_of,
    text_of,
    uses_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import block_extents
from kernel_lineage.rewrite.assists.counting_loops import declares
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    laid_out,
    loop_at,
    newline_of,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.template_types import types_meant
from kernel_lineage.rewrite.assists.tree_steps import SHUFFLED, is_barrier, step_of
from kernel_lineage.rewrite.assists.written import dense
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import block_threads, constants_of

_LEAVING = {"return_statement", "break_statement", "continue_statement", "goto_statement"}
_CHOOSING = frozenset({"fmaxf", "fminf", "fmax", "fmin", "max", "min"})


@dataclass(frozen=True, slots=True)
class _Reduced:
    """One array that the tree reduces, and by what: `+`, or a function that chooses."""

    array: str
    type: str
    operation: str

    def combine(self, left: str, right: str) -> str:
        return f"{left} + {right}" if self.operation == "+" else f"{self.operation}({left}, {right})"


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    if "__shfl" in kernel.text:
        raise Refusal(f"{kernel.name} uses warp shuffles already")
    loop = loop_at((x for x in syntax.entry.loops if x.halves), anchor.span)
    if loop is None or loop.start is None or loop.body is None:
        raise Refusal(f"{kernel.name} has no loop here that halves its stride")
    if re.search(r"threadIdx\.[yz]|blockDim\.[yz]", kernel.text):
        raise Refusal(f"{kernel.name} uses blocks of more than one dimension")
    taken = identifiers_in(syntax.entry.node)
    rewritten = _rewritten(kernel, syntax, loop, taken)
    others = [x for x in syntax.entry.loops if x.halves and x.node != loop.node]
    also = [attempt(partial(_rewritten, kernel, syntax, other, taken)) for other in others]
    made = [rewritten, *(one for one in also if not isinstance(one, Refusal))]
    whole = all(one.whole for one in made)
    says = "Most of the reduction runs in registers: three barriers instead of one for each halving."
    if any(one.in_order for one in made):
        says = "The last five halvings run in the registers of one warp, without barriers, and in the same order."
    return ASSIST.candidate(
        kernel,
        [one.edit for one in made],
        explanation=says + ("" if whole else " Blocks that are not made of whole warps keep the tree."),
        guarded=not whole,
    )


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """What takes a tree's place."""

    edit: Edit
    whole: bool
    """All launches have blocks of whole warps."""
    in_order: bool = False
    """Only the end of the tree is in registers, and every pair is combined as before."""


def _rewritten(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> _Rewritten:
    assert loop.start is not None and loop.body is not None
    if not _is_half_of_block(kernel, syntax, loop.start):
        raise Refusal(f"the tree starts at `{text_of(loop.start)}`, not at half of the block")
    if text_of(bare(loop.condition)).replace(" ", "") not in (
        f"{loop.counter}>0",
        f"{loop.counter}>=1",
        loop.counter,
    ):
        raise Refusal(f"the tree stops at `{text_of(bare(loop.condition))}`, before the last pair")
    used = uses_of(syntax.entry.node, loop.counter)
    if not declares(loop) and any(n.start_byte >= loop.node.end_byte for n in used):
        raise Refusal(f"`{loop.counter}` is used behind the tree as well")
    thread, branch = _tree(syntax, loop)
    threads = {block_threads(launch) for launch in kernel.launches}
    reduced = [
        attempt(partial(_reduced, syntax, inner, thread, loop.counter)) for inner in statements_of(branch)
    ]
    reductions = [one for one in reduced if isinstance(one, _Reduced)]
    data = data_of(kernel)
    layout = indent_at(data, loop.node.start_byte), indent_unit(kernel), newline_of(data)
    if len(reductions) < len(reduced):
        step = step_of(syntax, loop, branch, thread)
        if isinstance(step, Refusal):
            raise next((one for one in reduced if isinstance(one, Refusal)), step)
        if not threads or not all(t is not None and t >= 64 and t & (t - 1) == 0 for t in threads):
            raise Refusal("the tree is not launched with blocks of a power of two, and of two warps at least")
        _check_results(syntax, loop, thread, set(step.arrays))
        return _Rewritten(replace_node(loop.node, laid_out(step.lines(data, taken), *layout)), True, True)
    if not reductions or len({r.array for r in reductions}) != len(reductions):
        raise Refusal("the loop reduces nothing, or one array twice")
    _check_results(syntax, loop, thread, {r.array for r in reductions})
    whole = bool(threads) and all(t is not None and t % 32 == 0 for t in threads)
    new = _shuffles(
        thread, reductions, taken, data[loop.node.start_byte : loop.node.end_byte].decode(), whole
    )
    return _Rewritten(replace_node(loop.node, laid_out(new, *layout)), whole)


def _check_results(syntax: CudaSyntax, loop: Loop, thread: str, arrays: set[str]) -> None:
    partial_use = _partial_use(syntax, loop, thread, arrays)
    if partial_use is not None:
        raise Refusal(
            f"`{partial_use}` after the tree may read a partial result, which the shuffles do not leave there"
        )


def _partial_use(syntax: CudaSyntax, loop: Loop, thread: str, arrays: set[str]) -> str | None:
    """A use of an array that could see what the tree leaves behind elsewhere than in element 0, as written.

    Behind a statement in which each thread gives its own element another value, nothing is left of it.
    """
    until = {array: _written_anew(syntax, loop, thread, array) for array in arrays}
    begin = min(
        (outer.node.start_byte for outer in syntax.entry.loops_around(loop.node)), default=loop.node.end_byte
    )
    for node in descendants(syntax.entry.node):
        inside = loop.node.start_byte <= node.start_byte < loop.node.end_byte
        if node.type != "identifier" or text_of(node) not in arrays or inside or node.start_byte < begin:
            continue
        if loop.node.end_byte <= until[text_of(node)] <= node.start_byte:
            continue
        element = node.parent
        if element is None or element.type != "subscript_expression":
            return text_of(element)
        if text_of(element).replace(" ", "") == f"{text_of(node)}[0]":
            continue
        user = element.parent
        written = user is not None and user.type == "assignment_expression" and operator_of(user) == "="
        if not written or user is None or user.child_by_field_name("left") != element:
            return text_of(element)
    return None


def _written_anew(syntax: CudaSyntax, loop: Loop, thread: str, array: str) -> int:
    """Where, in the tree's own block, each thread has given its element of an array another value; -1: nowhere."""
    following = loop.node.next_named_sibling
    while following is not None and not any(n.type in _LEAVING for n in descendants(following)):
        assignment = following.named_children[0] if following.type == "expression_statement" else None
        if assignment is not None and assignment.type == "assignment_expression":
            left = dense(assignment.child_by_field_name("left"))
            right = field_of(assignment, "right")
            plain = (
                operator_of(assignment) == "=" and right is not None and array not in identifiers_in(right)
            )
            if plain and left in {f"{array}[{name}]" for name in _names_of(syntax, thread)}:
                return following.end_byte
        following = following.next_named_sibling
    return -1


def _names_of(syntax: CudaSyntax, thread: str) -> set[str]:
    """What a thread's index is called, by variables that keep it."""
    kept = {v.name for v in syntax.entry.variables if text_of(v.value) == "threadIdx.x"}
    kept -= {changed_by(node, addressed=True) for node in descendants(syntax.entry.node)}
    return {"threadIdx.x", *kept} if thread in {"threadIdx.x", *kept} else set()


def _is_half_of_block(kernel: Kernel, syntax: CudaSyntax, start: Node) -> bool:
    """Whether a number is half of the threads of a block, as it is written or in all launches of the file."""
    blocks = ["blockDim.x", *(v.name for v in syntax.entry.variables if text_of(v.value) == "blockDim.x")]
    written = dense(bare(start))
    if written in {f"{b}{half}" for b in blocks for half in ("/2", ">>1")}:
        return True
    parameters = [p.name for p in kernel.template_parameters]
    for launch in kernel.launches:
        arguments = dict(zip(parameters, launch.template_arguments, strict=False))
        half = constant(written, {**constants_of(kernel), **arguments})
        if half is None or block_extents(kernel, launch) != (2 * half, 1, 1):
            return False
    return bool(kernel.launches)


def _tree(syntax: CudaSyntax, loop: Loop) -> tuple[str, Node]:
    """The thread's index and what the threads below the stride do, if the loop is nothing but that and barriers."""
    assert loop.body is not None
    thread, within, barriers = "", loop.body, 0
    for statement in statements_of(loop.body):
        if is_barrier(statement):
            barriers += 1
            continue
        condition = dense(test_of(statement))
        branch = statement.child_by_field_name("consequence") if statement.type == "if_statement" else None
        compared = re.fullmatch(rf"(threadIdx\.x|\w+)<{re.escape(loop.counter)}", condition)
        if (
            compared is None
            or branch is None
            or statement.child_by_field_name("alternative") is not None
            or thread
        ):
            raise Refusal(f"the loop does something besides the tree: `{_first_line(statement)}`")
        thread, within = compared[1], branch
    if barriers == 0:
        raise Refusal("the tree has no __syncthreads() of its own; it relies on something else")
    if not thread:
        raise Refusal("the loop reduces nothing, or one array twice")
    if thread != "threadIdx.x" and not any(
        v.name == thread and text_of(v.value) == "threadIdx.x" for v in syntax.entry.variables
    ):
        raise Refusal(f"`{thread}` is not known to be threadIdx.x")
    return thread, within


def _first_line(node: Node) -> str:
    return text_of(node).splitlines()[0]


def _reduced(syntax: CudaSyntax, statement: Node, thread: str, stride: str) -> _Reduced:
    one = _reduction(syntax, statement, thread, stride)
    if one is None:
        raise Refusal(
            f"the tree's step `{_first_line(statement)}` is not a sum, maximum or minimum of two elements"
        )
    return one


def _reduction(syntax: CudaSyntax, statement: Node, thread: str, stride: str) -> _Reduced | None:
    assignment = statement.named_children[0] if statement.named_children else None
    if assignment is None or assignment.type != "assignment_expression":
        return None
    left = text_of(assignment.child_by_field_name("left")).replace(" ", "")
    right = field_of(assignment, "right")
    match = re.fullmatch(rf"(\w+)\[{re.escape(thread)}\]", left)
    variable = next((v for v in syntax.entry.variables if match and v.name == match[1] and v.shared), None)
    if (
        match is None
        or variable is None
        or right is None
        or not (kinds := types_meant(syntax.kernel, variable.type))
        or not kinds <= SHUFFLED
        or len(variable.sizes) > 1
    ):
        return None
    others = {f"{match[1]}[{thread}+{stride}]", f"{match[1]}[{stride}+{thread}]"}
    written = text_of(right).replace(" ", "")
    if operator_of(assignment) == "+=" and written in others:
        return _Reduced(match[1], variable.type, "+")
    if operator_of(assignment) != "=":
        return None
    if any(written in (f"{left}+{o}", f"{o}+{left}") for o in others):
        return _Reduced(match[1], variable.type, "+")
    called = re.fullmatch(r"(\w+)\((.+)\)", written)
    if called and called[1] in _CHOOSING and any(called[2] in (f"{left},{o}", f"{o},{left}") for o in others):
        return _Reduced(match[1], variable.type, called[1])
    return None


def _shuffles(thread: str, reduced: list[_Reduced], taken: set[str], tree: str, whole: bool) -> list[str]:
    """The new code, a tab for each step of indentation; the tree's own lines stay as they are."""
    offset = fresh_name("offset", taken)
    values = {
        r.array: fresh_name("value" if len(reduced) == 1 else f"{r.array}_value", taken) for r in reduced
    }
    halving = f"for (int {offset} = 16; {offset} > 0; {offset} /= 2) {{"

    def down(steps: str) -> list[str]:
        lines = [steps + halving]
        for r in reduced:
            v = values[r.array]
            lines.append(f"{steps}\t{v} = {r.combine(v, f'__shfl_down_sync(0xffffffffu, {v}, {offset})')};")
        return [*lines, steps + "}"]

    lines = ["\t__syncthreads();"]
    lines += [f"\t{r.type} {values[r.array]} = {r.array}[{thread}];" for r in reduced]
    lines += [*down("\t"), "\t__syncthreads();", f"\tif ({thread} % 32 == 0) {{"]
    lines += [f"\t\t{r.array}[{thread} / 32] = {values[r.array]};" for r in reduced]
    lines += ["\t}", "\t__syncthreads();", f"\tif ({thread} < 32) {{"]
    for r in reduced:
        # A neutral element for a sum; for a choice, any element that takes part anyway.
        neutral = "0" if r.operation == "+" else f"{r.array}[0]"
        lines.append(f"\t\t{values[r.array]} = {thread} < blockDim.x / 32 ? {r.array}[{thread}] : {neutral};")
    lines += down("\t\t")
    lines += ["\t\t__syncwarp();", f"\t\tif ({thread} == 0) {{"]
    lines += [f"\t\t\t{r.array}[0] = {values[r.array]};" for r in reduced]
    lines += ["\t\t}", "\t}", "\t__syncthreads();"]
    if whole:
        return ["{", *lines, "}"]
    return ["if (blockDim.x % 32 == 0) {", *lines, "} else {", "\t" + tree, "}"]


ASSIST = Assist(
    title="Reduce with warp shuffles",
    skill="warp-shuffle-reduction",
    pattern="shared_tree_reduction",
    make=_rewrite,
)
