"""A `while` of a Triton kernel for several programs at once: it goes on as long as any of them does.

Before: `while i * (i + 1) // 2 <= p: i += 1`, where `p` is the program's own.
After: `going` tells which programs go on. The loop does while one does, and gives names a value where their program
goes on. A program that is done keeps what it has, and its test stays what it was; numbers beyond those of the programs
that there are never go on.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    insert_before,
    replace_between,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_many import Expressions
from kernel_lineage.rewrite.assists.triton_places import span_of, stored_names
from kernel_lineage.rewrite.candidate import Edit


def check_numbers_alone(walk: Expressions, loop: ast.While) -> None:
    """Refuse a loop that does more than to compare numbers and to give names that have a value another one."""
    plain = isinstance(loop.test, ast.Compare) and not any(isinstance(n, ast.Call) for n in ast.walk(loop))
    steps = all(isinstance(s, ast.Assign | ast.AugAssign) and _name_of(s) for s in loop.body)
    below = loop.body[0].lineno > loop.lineno
    if not plain or not steps or not below or walk.parts or walk.of_again(loop.test).lanes:
        raise walk.unfollowed(loop)
    if new := sorted(set(stored_names(loop)) - walk.values.keys()):
        raise Refusal(f"`{new[0]}` has no value before the loop in line {loop.lineno}")


def with_programs_masked(walk: Expressions, loop: ast.While, axes: frozenset[int]) -> None:
    """The edits of a loop whose test depends on the programs along some axes."""
    kernel, data, here = walk.kernel, data_of(walk.kernel), span_of(walk.kernel, loop)
    going = fresh_name("going", names_in(walk.function) | {a.arg for a in walk.function.args.args})
    inside = " & ".join(walk.names[a].inside for a in sorted(axes))
    asked = f"{going} = ({ast.unparse(loop.test)}) & {inside}"
    walk.inserted.append(insert_before(kernel, here.start, f"{asked}\n{indent_at(data, here.start)}"))
    walk.replaced.append(Edit(span_of(kernel, loop.test), f"tl.max({going}.to(tl.int32)) != 0"))
    last = loop.body[-1]
    for step in loop.body:
        again = f"\n{indent_at(data, span_of(kernel, last).start)}{asked}" if step is last else ""
        _where(walk, step, going, again)


def _where(walk: Expressions, step: ast.stmt, going: str, behind: str) -> None:
    """Let a statement give its name a value where a program goes on, and leave it what it was elsewhere. `behind` is
    what follows it.
    """
    assert isinstance(step, ast.Assign | ast.AugAssign)
    target = step.targets[0] if isinstance(step, ast.Assign) else step.target
    value, name, end = span_of(walk.kernel, step.value), _name_of(step), span_of(walk.kernel, target).end
    sign = data_of(walk.kernel)[end : value.start].decode().strip().removesuffix("=")
    opened, closed = ("(", ")") if sign and not isinstance(step.value, ast.Constant | ast.Name) else ("", "")
    own = f"{name} {sign} {opened}" if sign else ""
    walk.replaced.append(replace_between(walk.kernel, end, value.start, f" = tl.where({going}, {own}"))
    walk.inserted.append(insert_before(walk.kernel, value.end, f"{closed}, {name}){behind}"))


def _name_of(step: ast.Assign | ast.AugAssign) -> str:
    """The one name that a statement gives a value; "" where it gives it to something else."""
    targets = step.targets if isinstance(step, ast.Assign) else [step.target]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
