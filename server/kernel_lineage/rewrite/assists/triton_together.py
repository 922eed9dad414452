"""The work of several Triton programs as one program's: the program's number becomes a block, along an axis of its own.

Every value that comes from the number gets that axis in front of its lanes, by Triton's own broadcasting; accesses
under it are masked by the number of programs, and what combined all lanes combines those of each program (`axis=1,
keep_dims=True`). What a loop carries along begins with the axis, too. Nothing of one program meets another's.

Followed are kernels whose blocks have one axis at most. A branch that ends the kernel, and a return, become masks
where comparisons of a program's number or data decide about them; so does the test of a `while` over
numbers (`triton_while_loops`). Refused is what cannot be done for several programs at once: other branches, and loops,
that these decide about, other shapes than plain ones, a load behind a store to the same buffer, a store that does not
depend on the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted, elements
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    insert_before,
    replace_between,
    start_of_line,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_digits import Digits
from kernel_lineage.rewrite.assists.triton_many import (
    AxisNames,
    Expressions,
    Many,
    arguments_of,
    axis_of,
    constant_of,
    shape_of,
)
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    calls_of,
    moved_out,
    span_of,
    stored_names,
)
from kernel_lineage.rewrite.assists.triton_values import CHECKS
from kernel_lineage.rewrite.assists.triton_while_loops import check_numbers_alone, with_programs_masked
from kernel_lineage.rewrite.candidate import Edit

_AXES = "xyz"
_RANGES = ("range", "static_range")


def names_of(
    function: ast.FunctionDef, axes: Sequence[int], counts: Mapping[int, str]
) -> dict[int, AxisNames]:
    """Names that the kernel does not use yet; `counts` are the parameters that are a number of programs already."""
    taken = names_in(function) | {a.arg for a in function.args.args}
    several = len({axis_of(c) for c in calls_of(function, "program_id")}) > 1
    made = {}
    for axis in axes:
        end = f"_{_AXES[axis]}" if several else ""
        made[axis] = AxisNames(
            f"SPAN{end.upper()}",
            counts.get(axis, f"COUNT{end.upper()}"),
            fresh_name(f"program{end}", taken),
            fresh_name(f"inside{end}", taken),
        )
    return made


def taken_together(
    kernel: Kernel, function: ast.FunctionDef, names: Mapping[int, AxisNames], digits: Digits | None = None
) -> tuple[list[Edit], bool]:
    """Edits of the kernel's body, and whether it multiplies matrices then. `digits`: those of the one number that
    programs have, where the axes are two of them.
    """
    if next(calls_of(function, "num_programs"), None) is not None:
        raise Refusal(f"{kernel.name} asks how many programs there are")
    begun: dict[int, frozenset[int]] = {}
    totals: set[str] = set()
    while True:
        walk = _Walk(kernel, function, names, begun, totals, digits)
        try:
            walk.block(function.body)
        except _Again:
            continue
        if walk.crossed:
            raise Refusal(
                f"{kernel.name} sums blocks that both axes of its grid and its own lanes make large"
            )
        return walk.finished(), walk.products > 0


class _Again(Exception):  # noqa: N818
    """Something has to begin with an axis that it only gets in a loop; noted, and the walk begins anew."""


class _Walk(Expressions):
    """The statements in their order, with what each name is, and the edits."""

    def __init__(
        self,
        kernel: Kernel,
        function: ast.FunctionDef,
        names: Mapping[int, AxisNames],
        begun: dict[int, frozenset[int]],
        totals: set[str],
        digits: Digits | None,
    ) -> None:
        parts = digits.parts.items() if digits is not None else ()
        super().__init__(
            kernel,
            function,
            names,
            {i: (digits.text(p), digits.taken(p)) for i, p in parts if digits is not None},
        )
        self.totals, self.digits = totals, digits
        self.begun = begun
        """Statement or loop → the axes that what it gives a value, or carries along, begins with."""
        self.assignments: dict[str, ast.stmt] = {}
        """The statement of this block, or of one around it, that gave a name its value."""
        self.uneven: dict[str, int] = {}
        """Names that are one for all programs on one way past a line, and not on the other."""

    # Statements

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """Statements that follow each other."""
        outer, self.assignments = self.assignments, dict(self.assignments)
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._give(name, statement, self.of(value))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._give(name, statement, self.of(value))
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()) if self._adds_product(statement):
                    self.assignments.pop(name, None)
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    self.values[name] = self.values.get(name, Many()) | self.of(value)
                    self.assignments.pop(name, None)
                case ast.Expr(value=ast.Call() as call) if called(call) not in CHECKS:
                    self._effect(call)
                case ast.For(target=ast.Name(), iter=ast.Call(), orelse=[]):
                    self._loop(statement)
                case ast.While(orelse=[]):
                    self._rounds(statement)
                case ast.If():
                    self._branch(statement)
                case ast.Expr(value=ast.Constant() | ast.Call()) | ast.Pass() | ast.Return(value=None):
                    pass
                case _:
                    raise self.unfollowed(statement)
        self.assignments = outer

    def _adds_product(self, statement: ast.AugAssign) -> bool:
        """Whether a statement adds a product of two axes' blocks to a name that is summed over its lanes afterwards:
        then it adds up the sums.
        """
        assert isinstance(statement.target, ast.Name)
        name, (value, where) = statement.target.id, _kept(statement.value)
        begins = self.assignments.get(name)
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
            return False
        if where is not None and self.of_again(where).axes:
            return False
        if name not in self.totals and not (
            begins is not None and _is_summed_only(self.function, name, begins, statement)
        ):
            return False
        product = self.product(statement.value, value, where)
        if product is None:
            return False
        if name not in self.totals:
            assert begins is not None
            self.totals.add(name)
            self.begun[id(begins)] = product.axes
            raise _Again
        return True

    def _give(self, name: str, statement: ast.Assign | ast.AnnAssign, value: Many) -> None:
        axes = self.begun.get(id(statement))
        if axes is not None and axes - value.axes:
            assert statement.value is not None
            value = Many(value.lanes and name not in self.totals, axes)
            self._begin(statement.value, axes, lanes=name not in self.totals)
        self.values[name] = value
        self.assignments[name] = statement

    def _loop(self, loop: ast.For) -> None:
        assert isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call)
        if dotted(loop.iter.func).rpartition(".")[2] not in _RANGES:
            raise self.unfollowed(loop)
        bounds = [self.of(b) for b in (*loop.iter.args, *(k.value for k in loop.iter.keywords))]
        if any(b.axes for b in bounds):
            raise Refusal(f"how often the loop in line {loop.lineno} goes round depends on the program")
        if wrong := self.stored_in(loop) & self.loaded_in(loop):
            raise Refusal(f"the loop in line {loop.lineno} loads and stores `{min(wrong)}`")
        self.values[loop.target.id] = Many()
        self._carried(loop, sorted(set(stored_names(loop)) & self.values.keys() - {loop.target.id}))

    def _carried(self, loop: ast.For | ast.While, changed: list[str], test: ast.expr | None = None) -> None:
        """Walk a loop's body, and let what it carries along begin with the axes that it gets there, or by its test."""
        before = {name: self.values[name] for name in changed}
        values = dict(self.assignments)
        self.block(loop.body)
        going_by = self.of_again(test).axes if test is not None else frozenset()
        for name in changed:
            self.values[name] |= Many(axes=going_by)
            missing = self.values[name].axes - before[name].axes
            if not missing:
                continue
            statement = values.get(name)
            value = getattr(statement, "value", None)
            if statement is None or not _can_begin(value):
                raise Refusal(
                    f"`{name}` does not begin as a number or a block before the loop in line {loop.lineno}"
                )
            self.begun[id(statement)] = self.begun.get(id(statement), frozenset()) | self.values[name].axes
            raise _Again

    def _rounds(self, loop: ast.While) -> None:
        check_numbers_alone(self, loop)
        self._carried(loop, sorted(set(stored_names(loop))), loop.test)
        if axes := self.of_again(loop.test).axes:
            with_programs_masked(self, loop, axes)

    def _branch(self, statement: ast.If) -> None:
        if self._has_become_mask(statement):
            return
        before = dict(self.values)
        self.block(statement.body)
        taken, self.values = self.values, before
        self.block(statement.orelse)
        for name in {*taken, *self.values}:
            one, other = taken.get(name), self.values.get(name)
            if one is not None and other is not None and one != other:
                self.uneven.setdefault(name, statement.lineno)
            self.values[name] = (one or Many()) | (other or Many())

    def _has_become_mask(self, statement: ast.If) -> bool:
        """Whether programs went different ways here, and those that left, or passed by the kernel's last branch, are
        masked from here on.
        """
        test, leaves = statement.test, len(statement.body) == 1 and isinstance(statement.body[0], ast.Return)
        split = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if leaves else ast.And)
        parts = test.values if isinstance(test, ast.BoolOp) and split else [test]
        values = [self.of_again(part) for part in parts]
        if not any(v.axes for v in values):
            return False
        own = all(
            isinstance(p, ast.Compare) and len(v.axes) == 1 and not v.lanes
            for p, v in zip(parts, values, strict=True)
        )
        calls = any(isinstance(n, ast.Call) for n in ast.walk(test))
        top = statement in self.function.body and (leaves or statement is self.function.body[-1])
        if not own or calls or not top or statement.orelse:
            raise Refusal(f"which way line {statement.lineno} goes depends on the program")
        here, data = span_of(self.kernel, statement), data_of(self.kernel)
        masks = []
        for part, value in zip(parts, values, strict=True):
            inside = self.names[min(value.axes)].inside
            masks.append(f"{inside} = {inside} & {'~' if leaves else ''}({ast.unparse(part)})")
        text = f"\n{indent_at(data, here.start)}".join(masks)
        if leaves:
            self.replaced.append(Edit(here, text))
            return True
        head = data.index(b":", span_of(self.kernel, test).end) + 1
        self.replaced.append(replace_between(self.kernel, here.start, head, text))
        self.replaced += moved_out(self.kernel, statement)
        self.block(statement.body)
        return True

    def _effect(self, call: ast.Call) -> None:
        name = called(call)
        if name != "store" and not name.startswith("atomic_"):
            raise self.unfollowed(call)
        names = ("pointer", "val") if name.startswith("atomic_") else ("pointer", "value")
        operands = arguments_of(call, (*names, "mask"))
        if not {*names} <= operands.keys():
            raise self.unfollowed(call)
        pointer, value = (self.of(operands[n]) for n in names)
        if pointer.axes < self.names.keys():
            raise Refusal(f"line {call.lineno} stores to places that are the same for several programs")
        if value.lanes and not value.axes:
            raise Refusal(f"line {call.lineno} stores a block that is the same for all programs")
        self.mask(call, pointer, operands.get("mask"))
        self.stored |= self.buffers(operands[names[0]])

    # Edits

    def _begin(self, node: ast.expr, axes: frozenset[int], *, lanes: bool) -> None:
        """Let a number, or a block of one, begin with axes, and without its lanes where they are added up."""
        extents = [self.names[a].size if a in axes else "1" for a in sorted(self.names)]
        if isinstance(node, ast.Call) and called(node) in ("zeros", "full"):
            shape = shape_of(node)
            own = [ast.unparse(e) for e in elements(shape)] if lanes else []
            listed = own or (["1"] if self.has_lanes else [])
            assert shape is not None
            self.replaced.append(Edit(span_of(self.kernel, shape), _tuple([*extents, *listed])))
            return
        here = span_of(self.kernel, node)
        number = data_of(self.kernel)[here.start : here.end].decode()
        kind = "int32" if isinstance(constant_of(node), int) else "float32"
        block = _tuple([*extents, *(["1"] if self.has_lanes else [])])
        self.replaced.append(Edit(here, f"tl.full({block}, {number}, tl.{kind})"))

    def finished(self) -> list[Edit]:
        """All edits, with the programs' numbers where the kernel asks for them, or else before everything."""
        for uneven, line in self.uneven.items():
            raise Refusal(f"`{uneven}` is one for all programs on one way past line {line} only")
        axes = sorted(self.names)
        places = len(axes) + self.has_lanes
        first = self.function.body[1 if ast.get_docstring(self.function) is not None else 0]
        data, before = data_of(self.kernel), list(self.digits.first_lines if self.digits is not None else ())
        for position, axis in enumerate(axes):
            name, own = self.names[axis], self.own.get(axis)
            index = ", ".join(":" if p == position else "None" for p in range(places))
            block = f"tl.arange(0, {name.size})" + (f"[{index}]" if places > 1 else "")
            numbers = f"{name.number or f'tl.program_id({axis})'} * {name.size} + {block}"
            if own is None:
                before += [f"{name.program} = {numbers}", f"{name.inside} = {name.program} < {name.count}"]
                continue
            asked, here = span_of(self.kernel, own.value), span_of(self.kernel, own)
            inside = (
                f"\n{indent_at(data, here.start)}{name.inside} = {ast.unparse(own.targets[0])} < {name.count}"
            )
            self.replaced.append(Edit(asked, numbers))
            self.inserted.append(insert_before(self.kernel, asked.end, inside))
        start = span_of(self.kernel, first).start
        begin = start_of_line(data, start)
        if data[begin:start].strip():
            raise Refusal(f"{self.kernel.name} begins on the line of its head")
        head = "".join(f"{indent_at(data, start)}{line}\n" for line in before)
        return [*self.replaced, *self.inserted, *([insert_before(self.kernel, begin, head)] if head else [])]

    def stored_in(self, node: ast.AST) -> set[str]:
        """The buffers that are stored to below a node."""
        calls = [c for c in ast.walk(node) if isinstance(c, ast.Call) and c.args]
        storing = [c for c in calls if called(c) == "store" or called(c).startswith("atomic_")]
        return {b for c in storing for b in self.buffers(c.args[0])}

    def loaded_in(self, node: ast.AST) -> set[str]:
        """The buffers that are loaded from below a node."""
        calls = [c for c in ast.walk(node) if isinstance(c, ast.Call) and c.args]
        return {b for c in calls if called(c) == "load" for b in self.buffers(c.args[0])}


def _kept(node: ast.expr) -> tuple[ast.expr, ast.expr | None]:
    """What a round adds, without its conversion to float32, and where it does: elsewhere it adds 0."""
    where = None
    match node:
        case ast.Call(args=[test, taken, ast.Constant(value=0)], keywords=[]) if called(node) == "where":
            node, where = taken, test
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[kind]) if not called(node):
            node = inner if dotted(kind).endswith("float32") else node
    return node, where


def _is_summed_only(function: ast.FunctionDef, name: str, begins: ast.stmt, adds: ast.AugAssign) -> bool:
    """Whether a block of float32 zeros is added to in one place, and summed over all of its lanes everywhere else."""
    value = getattr(begins, "value", None)
    zeros = isinstance(value, ast.Call) and (
        called(value) == "zeros"
        or (called(value) == "full" and [constant_of(a) for a in value.args[1:2]] == [0])
    )
    wide = isinstance(value, ast.Call) and ast.unparse(value).count("float32") == 1
    sums = [
        c
        for c in calls_of(function, "sum")
        if c.args and isinstance(c.args[0], ast.Name) and c.args[0].id == name and not c.args[2:]
        if {k.arg for k in c.keywords} <= {"axis"}
        if constant_of(arguments_of(c, ("input", "axis")).get("axis", c.args[0])) in (0, ...)
    ]
    inside = {id(n) for n in ast.walk(adds)}
    read = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
    ]
    used = len(read) == len(sums) and not any(
        isinstance(n, ast.Name) and n.id == name for n in ast.walk(adds.value)
    )
    return zeros and wide and used and stored_names(function).count(name) == 2


def _tuple(extents: Sequence[str]) -> str:
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _can_begin(node: ast.expr | None) -> bool:
    """Whether an expression is a number, or a block of one."""
    if isinstance(node, ast.Call) and called(node) in ("zeros", "full"):
        return True
    return isinstance(constant_of(node), int | float) and not isinstance(constant_of(node), bool)
