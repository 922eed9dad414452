"""What an expression of a Triton kernel is for several programs at once: which of them it differs for, and what has to
change in accesses and reductions. Refused is what cannot be done for several programs at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted, elements
from kernel_lineage.rewrite.assists.layout import data_of, insert_before, replace_between
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import assignments, called, calls_of, sources, span_of
from kernel_lineage.rewrite.assists.triton_values import OF_LANES, OF_TYPES, number_of
from kernel_lineage.rewrite.candidate import Edit

_OVER_LANES = ("sum", "max", "min")
_BY_ORDER = ("argmax", "argmin")
"""Which element they find where one is NaN depends on who is compared with whom: on the shape of the block."""
_ALONG_LANES = ("cumsum", "cumprod")


@dataclass(frozen=True, slots=True)
class Many:
    """What an expression is for one program, and which programs it differs for."""

    lanes: bool = False
    """It is a block, of one axis."""
    axes: frozenset[int] = frozenset()
    """The axes of the grid that it depends on, of those that are taken together."""

    def __or__(self, other: Many) -> Many:
        return Many(self.lanes or other.lanes, self.axes | other.axes)


@dataclass(frozen=True, slots=True)
class AxisNames:
    """The names of one axis of the grid in the rewritten kernel."""

    size: str
    """The parameter that says how many programs are taken together."""
    count: str
    """How many there are: a parameter, or what is made of some."""
    program: str
    inside: str
    number: str = ""
    """Which of the programs that are left this one is; "" for its own number along the axis."""


def axis_of(call: ast.Call) -> int:
    """The axis that `tl.program_id` is asked for. Refused where it is no number."""
    arguments = [*call.args, *(k.value for k in call.keywords)]
    axis = constant_of(arguments[0]) if len(arguments) == 1 else None
    if isinstance(axis, int) and axis in (0, 1, 2):
        return axis
    raise Refusal(f"`{ast.unparse(call)}` does not say its axis as a number")


class Expressions:
    """What the expressions of a kernel are for several programs, and the edits that make them so."""

    def __init__(
        self,
        kernel: Kernel,
        function: ast.FunctionDef,
        names: Mapping[int, AxisNames],
        parts: Mapping[int, tuple[str, frozenset[int]]],
    ) -> None:
        self.kernel, self.function, self.names, self.parts = kernel, function, names, parts
        self.values: dict[str, Many] = {}
        self.stored: set[str] = set()
        """The buffers that were stored to."""
        self.products = 0
        """Sums that have become products of matrices."""
        self.totals: set[str] = set()
        """Names that add up such products, and no longer what their lanes have."""
        self.crossed = False
        """Blocks of both axes and of lanes are summed as they are, of as many elements as all three make."""
        self.replaced = list[Edit]()
        self.inserted = list[Edit]()
        self.flow = assignments(function)
        self.own = {} if parts else _own_numbers(function)
        self.pointers = {p.name for p in kernel.parameters if p.pointer}
        blocks = [c for n in ("arange", "zeros", "full") for c in calls_of(function, n)]
        self.has_lanes = any(called(c) == "arange" or elements(shape_of(c)) for c in blocks)

    def of_again(self, node: ast.expr) -> Many:
        """What an expression is that was walked already: without its edits."""
        kept = list(self.replaced), list(self.inserted)
        value = self.of(node)
        self.replaced, self.inserted = kept
        return value

    def of(self, node: ast.expr) -> Many:
        """What an expression is."""
        if id(node) in self.parts:
            text, axes = self.parts[id(node)]
            self.replaced.append(Edit(span_of(self.kernel, node), text))
            return Many(axes=axes)
        match node:
            case ast.Constant():
                return Many()
            case ast.Name(id=name):
                return self.values.get(name, Many())
            case ast.Attribute(value=inner, attr=attribute):
                if attribute in OF_TYPES or not self.of(inner).axes:
                    return Many()
            case ast.UnaryOp(op=op, operand=inner):
                value = self.of(inner)
                if not (isinstance(op, ast.Not) and value.axes):
                    return value
            case ast.BinOp(left=left, right=right):
                return self.of(left) | self.of(right)
            case ast.Compare(left=left, comparators=[right]):
                return self.of(left) | self.of(right)
            case ast.BoolOp(values=parts):
                value = _joined(self.of(p) for p in parts)
                if not value.axes:
                    return value
            case ast.IfExp(test=test, body=body, orelse=other):
                ways = self.of(body), self.of(other)
                if not self.of(test).axes and ways[0] == ways[1]:
                    return ways[0]
            case ast.Call(func=ast.Attribute(value=inner, attr="to")) if not called(node):
                return self.of(inner)
            case ast.Call(func=ast.Name(id="float")) if number_of(node) is not None:
                return Many()
            case ast.Call(func=ast.Name(id="abs"), args=[inner]):
                return self.of(inner)
            case ast.Call(func=ast.Attribute()):
                return self._call(node, called(node) or dotted(node.func).rpartition(".")[2])
        raise self.unfollowed(node)

    def _call(self, call: ast.Call, name: str) -> Many:
        match name:
            case "program_id" if called(call):
                axis = axis_of(call)
                if axis in self.names and axis not in self.own:
                    self.replaced.append(Edit(span_of(self.kernel, call), self.names[axis].program))
                return Many(axes=frozenset({axis} & self.names.keys()))
            case "arange" if called(call):
                return Many(lanes=True)
            case "zeros" | "full" if called(call):
                listed = elements(shape_of(call))
                if len(listed) > 1 or any(self.of(a).axes for a in call.args[1:]):
                    raise self.unfollowed(call)
                return Many(lanes=bool(listed))
            case "load" if called(call):
                return self._load(call)
            case _ if name in _BY_ORDER and called(call):
                raise Refusal(
                    f"what `{ast.unparse(call)}` finds among NaNs depends on the shape of its block"
                )
            case _ if name in (*_OVER_LANES, *_ALONG_LANES) and called(call):
                return self._over_lanes(call, name)
            case "where" if len(call.args) == 3 and not call.keywords:
                return _joined(self.of(a) for a in call.args)
            case _ if name in OF_LANES and name not in ("min", "max"):
                return _joined(self.of(a) for a in (*call.args, *(k.value for k in call.keywords)))
        raise self.unfollowed(call)

    def _load(self, call: ast.Call) -> Many:
        operands = arguments_of(call, ("pointer", "mask", "other"))
        if not operands.keys() & {"pointer"} or any(k.arg == "boundary_check" for k in call.keywords):
            raise self.unfollowed(call)
        pointer = self.of(operands["pointer"])
        buffers = self.buffers(operands["pointer"])
        if again := buffers & self.stored:
            raise Refusal(f"line {call.lineno} loads `{min(again)}`, which was stored to before")
        mask = self.of(operands["mask"]) if "mask" in operands else Many()
        other = self.of(operands["other"]) if "other" in operands else Many()
        if other.axes - pointer.axes or (other.lanes and not other.axes and pointer.axes):
            raise self.unfollowed(call)
        if not pointer.axes:
            if mask.axes:
                raise Refusal(f"line {call.lineno} masks by a program that its address does not depend on")
            return pointer
        self.mask(call, pointer, operands.get("mask"))
        return pointer

    def _over_lanes(self, call: ast.Call, name: str) -> Many:
        """A reduction of a block, or a running one; a sum of products of two axes' blocks is a product of matrices."""
        operands = arguments_of(call, ("input", "axis"))
        axis = operands.get("axis")
        plain = not {k.arg for k in call.keywords} - {"axis"} and len(call.args) <= 2
        if not plain or (axis is not None and constant_of(axis) not in (0, None)):
            raise self.unfollowed(call)
        match call.args[0]:
            case ast.Name(id=total) if total in self.totals and name == "sum":
                self.replaced.append(Edit(span_of(self.kernel, call), total))
                return self.values[total]
            case ast.BinOp(op=ast.Mult()) as multiplied if name == "sum":
                if (product := self.product(call, multiplied)) is not None:
                    return product
                value = self.of(multiplied)
            case other:
                value = self.of(other)
        if not value.lanes:
            raise self.unfollowed(call)
        self.crossed |= value.lanes and len(value.axes) > 1
        running = name in _ALONG_LANES
        if value.axes:
            place = str(len(self.names))
            kept = "" if running else ", keep_dims=True"
            if axis is not None:
                self.replaced.append(Edit(span_of(self.kernel, axis), f"{place}{kept}"))
            else:
                self._add_argument(call, f"axis={place}{kept}")
        return value if running else replace(value, lanes=False)

    def product(self, whole: ast.expr, multiplied: ast.BinOp, where: ast.expr | None = None) -> Many | None:
        """What stands at `whole` as `tl.dot`: what one axis' programs have by what the other one's have, along lanes.

        None where it is no such product. Both are 0 where `where` does not hold.
        """
        left, right = multiplied.left, multiplied.right
        sides = self.of_again(left), self.of_again(right)
        axes = sides[0].axes | sides[1].axes
        if not all(s.lanes and len(s.axes) == 1 for s in sides) or len(axes) != 2:
            return None
        extents = {ast.unparse(c.args[1]) for c in calls_of(self.function, "arange") if len(c.args) == 2}
        if len(extents) != 1:
            raise self.unfollowed(whole)
        (depth,) = extents
        self.of(left)
        self.of(right)
        turned = min(sides[0].axes) != min(self.names)
        first, second = (self.names[a].size for a in sorted(self.names, reverse=turned))
        here, one, other = (span_of(self.kernel, n) for n in (whole, _as_loaded(left), _as_loaded(right)))
        opened, closed = ("tl.trans(", ")") if turned else ("", "")
        kept, rest = (f"tl.where({ast.unparse(where)}, ", ", 0)") if where is not None else ("", "")
        between = f"{rest}, ({first}, {depth})), tl.trans(tl.reshape({kept}"
        end = f'{rest}, ({second}, {depth}))), input_precision="ieee"){closed}[:, :, None]'
        for start, stop, text in (
            (here.start, one.start, f"{opened}tl.dot(tl.reshape({kept}"),
            (one.end, other.start, between),
            (other.end, here.end, end),
        ):
            self.replaced.append(replace_between(self.kernel, start, stop, text))
        self.products += 1
        return Many(axes=axes)

    def mask(self, call: ast.Call, pointer: Many, mask: ast.expr | None) -> None:
        """Mask an access by the programs that there are."""
        inside = " & ".join(self.names[a].inside for a in sorted(pointer.axes))
        if mask is None:
            self._add_argument(call, f"mask={inside}")
            return
        if self.of_again(mask).axes - pointer.axes:
            raise Refusal(f"line {call.lineno} masks by a program that its address does not depend on")
        here = span_of(self.kernel, mask)
        plain = isinstance(mask, ast.Name | ast.Call) or (
            isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd)
        )
        if isinstance(mask, ast.Constant):
            self.replaced.append(Edit(here, inside))
            return
        if not plain and data_of(self.kernel)[here.start - 1 : here.start] != b"(":
            self.inserted.append(insert_before(self.kernel, here.start, "("))
            self.inserted.append(insert_before(self.kernel, here.end, f") & {inside}"))
            return
        end = here.end if plain else here.end + 1
        self.inserted.append(insert_before(self.kernel, end, f" & {inside}"))

    def _add_argument(self, call: ast.Call, text: str) -> None:
        data, here = data_of(self.kernel), span_of(self.kernel, call)
        inner = data[here.start : here.end - 1].rstrip()
        separator = " " if inner.endswith(b",") else ", "
        self.inserted.append(insert_before(self.kernel, here.start + len(inner), f"{separator}{text}"))

    def buffers(self, pointer: ast.expr) -> set[str]:
        """The pointers among the parameters that an address comes from."""
        return sources(pointer, self.flow)[0] & self.pointers

    def unfollowed(self, node: ast.AST) -> Refusal:
        """The refusal of what stands at a node."""
        text = " ".join(ast.unparse(node).split())
        return Refusal(
            f"line {getattr(node, 'lineno', 0)} is not followed for several programs: `{text[:60]}`"
        )


def _own_numbers(function: ast.FunctionDef) -> dict[int, ast.Assign]:
    """The statements that give a name a program's number and do nothing else, of the axes that are asked for once."""
    asked = [axis_of(c) for c in calls_of(function, "program_id")]
    return {
        axis_of(s.value): s
        for s in function.body
        if isinstance(s, ast.Assign)
        and len(s.targets) == 1
        and isinstance(s.targets[0], ast.Name)
        and isinstance(s.value, ast.Call)
        and called(s.value) == "program_id"
        and asked.count(axis_of(s.value)) == 1
    }


def _joined(values: Iterable[Many]) -> Many:
    made = Many()
    for value in values:
        made |= value
    return made


def _as_loaded(node: ast.expr) -> ast.expr:
    """An operand without its conversion to float32, in which products of matrices add up by themselves."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[kind]) if not called(node) and dotted(
            kind
        ).endswith("float32"):
            return inner
    return node


def arguments_of(call: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
    """A call's arguments by their names."""
    by_place = dict(zip(names, call.args, strict=False))
    return by_place | {k.arg: k.value for k in call.keywords if k.arg and k.arg in names}


def shape_of(call: ast.Call) -> ast.expr | None:
    """What `tl.zeros` or `tl.full` is told as its shape."""
    return next((k.value for k in call.keywords if k.arg == "shape"), call.args[0] if call.args else None)


def constant_of(node: ast.expr | None) -> object:
    """The number or None that an expression is; another object for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return node.operand.value
    return ... if number_of(node) is None else float(number_of(node) or 0)
