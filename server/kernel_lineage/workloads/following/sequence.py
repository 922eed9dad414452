"""A host function followed exactly: every statement in its order, every launch in its turn. Nothing is guessed."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernel_gate.expressions import Number as Plain
from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.bodies import Frame, Returned
from kernel_lineage.workloads.following.clamps import clamp_of
from kernel_lineage.workloads.following.functions import HostCode, declared_name, host_code, words_in
from kernel_lineage.workloads.following.library import note_write
from kernel_lineage.workloads.following.maps import Maps
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import Asked, Sizes
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    Buffer,
    ElementReference,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Value,
    plain,
    selected,
)

_ROUNDS = 64
_NO_STATEMENTS = frozenset(
    {"comment", ";", "using_declaration", "static_assert_declaration", "preproc_call", "preproc_def",
     "preproc_function_def"}
)  # fmt: skip
_WITHOUT_EFFECT = re.compile(
    r"f?printf|exit|abort|(?:nvtx|NVTX)\w*|(?:C10|AT)_CUDA\w*|\w*check\w*|\w*safe_?call\w*|gpu_?assert"
    r"|cuda(?:GetLastError|PeekAtLastError|DeviceSynchronize|StreamSynchronize|Free\w*|FuncSet\w+|Event\w+"
    r"|GetDevice\w*|DeviceGet\w*|SetDevice|Stream(?:Create|Destroy)\w*)",
    re.IGNORECASE,
)
"""Calls that change no memory of the device."""
_RUNTIME = re.compile(r"(?:cuda|cu|cublas|cudnn|hip|nccl)[A-Z]\w*")
_PRINTS = re.compile(r"(?:std\s*::\s*)?(?:cout|cerr|clog)\s*<<")
_LEAVES = frozenset({"return", "break", "continue", "goto"})


class Unreadable(Exception):  # noqa: N818
    """A statement that cannot be followed, at a line of the file."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


class _Next(Exception):  # noqa: N818
    """The next round of a loop begins."""


class Sequence(Maps):
    """Follows one function of a unit to its end. What it launches is told to `_reached`."""

    def __init__(self, unit: Unit, file: Unit) -> None:
        super().__init__(unit, Sizes({}, {}, Asked({}, {}), has_constants=False), "", frozenset())
        self._file = file
        """The file as it stands, without its headers: lines are told as it has them."""
        self._line = 1
        self.outside = Names()
        """Variables outside of functions, as calls leave them."""

    @abstractmethod
    def runtime(self, name: str, args: list[Value]) -> bool:
        """Do what a function of the runtime does to memory of the device; False for one that is not followed."""

    def to_end(self, entry: HostCode, values: Mapping[str, Value]) -> Value | None:
        """What a function gives for its parameters. Raises `Unreadable`."""
        names = Names(self.outside, dict(values))
        if isinstance(this := values.get("this"), Record):
            self.enter(this, names)
        self.function, self.frames = entry.name, [Frame(entry)]
        self._line = self._line_of(entry.node) or 1
        try:
            self.run(entry.body, names)
        except Returned as returned:
            return returned.value
        except RecursionError as error:
            raise Unreadable(self._line, "calls that are nested too deeply") from error
        return None

    def object_of(self, method: HostCode, values: Mapping[str, Value]) -> dict[str, Value]:
        """The object of a method as its constructor makes it of the method's first parameters, as `this`; nothing for a
        function that is no method. Raises `Unreadable`.
        """
        if method.of_class not in self.unit.classes:
            return {}
        self._line = self._line_of(method.node) or 1
        made = self.unset(method.of_class, 0, "this")
        this = made if isinstance(made, Record) else Record(method.of_class)
        maker = method.made_by
        if maker is None:
            return {"this": this}
        own = zip(maker.parameters, method.parameters, strict=False)
        names = Names(self.outside, {p.name: values[of_method.name] for p, of_method in own})
        self.enter(this, names)
        self.function, self.frames = method.of_class, [Frame(maker)]
        try:
            self.initialised(this, maker, names)
            self.run(maker.body, names)
        except NotFollowed as error:
            raise self._unreadable(str(error)) from error
        except Returned:
            pass
        return {"this": this}

    def is_wanted(self, _kernel: str) -> bool:
        return True

    def _argument(self, node: Node, names: Names) -> Value:
        return self.value(node, names)

    def entered(self, function: HostCode, names: Names) -> None:
        """A function is no target."""

    def check(self, name: str, listed: Node | None, names: Names) -> None:
        """A check that holds does nothing."""

    def take_types(self, function: HostCode, names: Names) -> None:
        """A type that no argument tells stays unknown."""

    def _by_its_values(self, function: HostCode, argument: Value | None) -> Number | None:
        """A function that launches is followed once."""
        return None if self._acts(function.body) else super()._by_its_values(function, argument)

    def launched_by_function(self, name: str, args: list[Value], node: Node) -> bool:
        if super().launched_by_function(name, args, node):
            return True
        if _WITHOUT_EFFECT.fullmatch(name):
            return not name.startswith("cuda")  # the library knows what those give
        if self.runtime(name, args):
            return True
        if _RUNTIME.fullmatch(name):
            raise self._unreadable(f"`{name}()`")
        return False

    def run(self, node: Node, names: Names) -> None:
        if node.type in _NO_STATEMENTS:
            return
        around, self._line = self._line, self._line_of(node) or self._line
        try:
            if getattr(self, f"_do_{node.type}", None) is None and not node.type.startswith("preproc_"):
                raise NotFollowed(f"the statement `{text_of(node)}`")
            self.do(node, names)
        except NotFollowed as error:
            raise self._unreadable(str(error)) from error
        finally:
            self._line = around

    def _unreadable(self, what: str) -> Unreadable:
        return Unreadable(self._line, f"{what} cannot be followed")

    def _line_of(self, node: Node) -> int | None:
        """The line of a piece of code in the file; None for one of a header or of a macro's text."""
        code = None
        above = node
        while above.parent is not None:
            if above.type == "function_definition":
                code = above
            above = above.parent
        named = host_code(code) if code is not None and above == self.unit.root else None
        there = self._file.defined(named.name) if named is not None else []
        if code is None or len(there) != 1:
            return None
        return there[0].node.start_point[0] + node.start_point[0] - code.start_point[0] + 1

    def _equal(self, left: Value, right: Value) -> bool | None:
        """Whether two values are the same; a pointer that is null here is null."""
        if not (isinstance(left, Pointer) and isinstance(right, Pointer)):
            return super()._equal(left, right)
        is_same_place = left.buffer is None or left.offset == right.offset
        return None if left.buffer is right.buffer and not is_same_place else left.buffer is right.buffer

    def branches_on(self, node: Node | None, names: Names) -> Value:
        value = self.value(node, names)
        if isinstance(value, Opaque):
            raise NotFollowed(value.why)
        return plain(self.decided(value)) if isinstance(value, Number) else value

    def _holds(self, condition: Node | None, names: Names) -> bool:
        test = self.branches_on(condition, names)
        if isinstance(test, Number):
            return bool(test.value)
        if isinstance(test, Pointer):
            return test.buffer is not None
        raise NotFollowed(f"`{text_of(condition)}`")

    def _do_expression_statement(self, node: Node, names: Names) -> None:
        if not _PRINTS.match(text_of(node)):
            super()._do_expression_statement(node, names)

    def _do_if_statement(self, node: Node, names: Names) -> None:
        sides = [node.child_by_field_name(side) for side in ("consequence", "alternative")]
        if not self._acts(node) and all(map(_only_sets, sides)) and self._selects(node, sides, names):
            return
        try:
            holds = self._holds(node.child_by_field_name("condition"), names)
        except NotFollowed as error:
            self._pass_over(node, names, error)
            return
        self._branch(sides[0 if holds else 1], names)

    def _selects(self, node: Node, sides: list[Node | None], names: Names) -> bool:
        """Whether an `if` that only sets variables gives each a number, which hangs on the condition at other sizes."""
        condition = node.child_by_field_name("condition")
        test = self.either(condition, names)
        if not isinstance(test, Number) or test.is_constant:
            return False
        clamp = clamp_of(condition, sides[0]) if sides[1] is None else None
        if clamp is not None and self._clamped(clamp, names):
            return True
        before = {name: names.get(name) for name, _ in _set_in(node)}
        ways: list[dict[str, Value | None]] = []
        for side in sides:
            self._branch(side, names)
            ways.append({name: names.get(name) for name in before})
            for name, value in before.items():
                names.set(name, value if value is not None else Opaque(f"`{name}`"))
        pairs = {name: (ways[0][name], ways[1][name]) for name in before}
        if not all(isinstance(value, Number) for pair in pairs.values() for value in pair):
            return False
        for name, (then, otherwise) in pairs.items():
            assert isinstance(then, Number) and isinstance(otherwise, Number)
            names.set(name, selected(test, then, otherwise))
        return True

    def loop(self, node: Node, condition: Node | None, update: Node | None, names: Names) -> None:
        body = node.child_by_field_name("body")
        try:
            self._rounds(body, condition, update, names)
        except NotFollowed as error:
            self._pass_over(node, names, error)

    def _rounds(self, body: Node | None, condition: Node | None, update: Node | None, names: Names) -> None:
        for _ in range(_ROUNDS):
            if condition is not None and not self._holds(condition, names):
                return
            if not self._round(body, names):
                return
            if update is not None:
                self.value(update, names)
        raise NotFollowed(f"a loop of more than {_ROUNDS} rounds")

    def _round(self, body: Node | None, names: Names) -> bool:
        try:
            return super()._round(body, names)
        except _Next:
            return True

    def _do_continue_statement(self, _node: Node, _names: Names) -> None:
        raise _Next

    def _do_do_statement(self, node: Node, names: Names) -> None:
        body, condition = (node.child_by_field_name(part) for part in ("body", "condition"))
        if self._round(body, names):
            self._rounds(body, condition, None, names)

    def _do_for_range_loop(self, node: Node, names: Names) -> None:
        values = self.either(node.child_by_field_name("right"), names)
        body = node.child_by_field_name("body")
        if not isinstance(values, list):
            why = (
                values.why
                if isinstance(values, Opaque)
                else f"`{text_of(node.child_by_field_name('right'))}`"
            )
            self._pass_over(node, names, NotFollowed(why))
            return
        declarator = node.child_by_field_name("declarator")
        name, _ = declared_name(declarator)
        for at in range(len(values)):
            element = ElementReference(values, at, name)
            if not self._round(body, self.with_element(declarator, element, names)):
                return

    def _pass_over(self, node: Node, names: Names, error: NotFollowed) -> None:
        """Forget what a statement sets that cannot be followed. Raises the error where it does more than that."""
        if self._acts(node):
            raise error
        for name, is_element in _set_in(node):
            if is_element and isinstance(held := names.get(name), (Buffer, Pointer)):
                note_write(held)
            elif names.holder(name) is not None:
                names.set(name, Opaque(f"`{name}`, which is set on a way that is not known"))
        self.forget_lists(node, names)

    def _acts(self, node: Node) -> bool:
        """Whether a statement may do something to the device, or leave its function or loop."""
        words = words_in(node)
        return (
            bool(
                words & (_LEAVES | self.unit.kernels | self.unit.functions.keys() | self.unit.methods.keys())
            )
            or any(_RUNTIME.fullmatch(w) and not _WITHOUT_EFFECT.fullmatch(w) for w in words)
            or "<<<" in text_of(node)
        )

    def decided(self, number: Number) -> Plain:
        """A number that a way depends on. Raises `NotFollowed` where it is not one number."""
        if number.is_constant:
            return number.value
        raise NotFollowed(f"`{number.text}`")


def _only_sets(side: Node | None) -> bool:
    """Whether a branch does nothing but assign to variables."""
    if side is None or side.type in _NO_STATEMENTS:
        return True
    if side.type in ("compound_statement", "else_clause"):
        return all(map(_only_sets, side.named_children))
    of = side.named_child(0) if side.type == "expression_statement" else None
    sets = {"assignment_expression": "left", "update_expression": "argument"}
    target = of.child_by_field_name(sets[of.type]) if of is not None and of.type in sets else None
    return target is not None and target.type == "identifier"


def _set_in(node: Node) -> Iterator[tuple[str, bool]]:
    """The variables that a statement sets, or whose addresses it hands on; and whether it only sets an element."""
    for inner in inside(node):
        side = {
            "assignment_expression": "left",
            "update_expression": "argument",
            "pointer_expression": "argument",
        }
        target = inner.child_by_field_name(side[inner.type]) if inner.type in side else None
        is_element = target is not None and target.type == "subscript_expression"
        while target is not None and target.type not in ("identifier", "call_expression"):
            target = target.named_child(0) if target.named_child_count else None
        if target is not None and target.type == "identifier":
            yield text_of(target), is_element
