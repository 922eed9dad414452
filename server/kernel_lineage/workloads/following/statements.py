"""Host code followed statement by statement up to the launch of one kernel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.workloads.following.bodies import Frame, Returned
from kernel_lineage.workloads.following.changed_arrays import grown_lists
from kernel_lineage.workloads.following.clamps import Clamp, clamp_of
from kernel_lineage.workloads.following.fills import Fills
from kernel_lineage.workloads.following.functions import (
    HostCode,
    HostParameter,
    bare_type,
    declared_name,
)
from kernel_lineage.workloads.following.launches import Launched, Reached
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.lists import GivenList
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.places import whole_numbers
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import INTEGERS
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import (
    NOTHING,
    Buffer,
    ElementReference,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Tensor,
    Text,
    Typed,
    TypeName,
    Value,
    called,
    combined,
    plain,
)

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop", "switch_statement"})
"""What `break` leaves."""
_PAIR = ("first", "second")
_STEPS = 20_000
"""Statements that are followed at most."""
ROUNDS = 64
"""Rounds of a loop that are followed at most."""
_MOST_ROUNDS = 512
"""Rounds of a loop with a launch that are counted."""


class Left(Exception):  # noqa: N818
    """A loop or a switch is left, or its next round is begun."""


class Follower(Fills):
    """Follows one function of a unit until it launches a kernel."""

    rounds_to_launch = 1
    """Rounds that are followed of a loop that leads to the launch."""

    def __init__(
        self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str], passes: int = 0
    ) -> None:
        super().__init__(unit, sizes)
        self.kernel, self.leading, self.passes = kernel, leading, passes
        self.statements = 0

    def follow(self, entry: HostCode, taken: Mapping[str, Value] | None = None) -> Launched | None:
        """The first launch that a function comes to; None where it comes to none."""
        self.function = entry.name
        names = Names(Names())
        self.take_types(entry, names)
        for parameter in entry.parameters:
            value = (taken or {}).get(parameter.name)
            if entry.name == "main":
                value = self._of_program(parameter)
            names.values[parameter.name] = value if value is not None else self.parameter(parameter, names)
        self.frames = [Frame(entry)]
        try:
            self.entered(entry, names)
            self.run(entry.body, names)
        except Reached as reached:
            return reached.launch
        except (Returned, Left, RecursionError, NotFollowed):
            return None
        return None

    def _of_program(self, parameter: HostParameter) -> Value | None:
        """What a program is run with: nothing, or one word that it asks for."""
        words: list[Value] = [Text(""), *([Typed()] if self.sizes.with_typed else [])]
        if parameter.type in INTEGERS and not parameter.stars:
            return plain(len(words))
        return words if self.sizes.with_typed else None

    def run(self, node: Node, names: Names) -> None:
        try:
            self.do(node, names)
        except NotFollowed:
            if self.statements > _STEPS:
                raise

    def do(self, node: Node, names: Names) -> None:
        """What a statement does. Raises `NotFollowed`."""
        self.statements += 1
        if self.statements > _STEPS:
            raise NotFollowed("more statements than are followed")
        method = getattr(self, f"_do_{node.type}", None)
        if method is not None:
            method(node, names)
        elif node.type.startswith("preproc_") or node.type in ("ERROR", "labeled_statement", "try_statement"):
            for child in node.named_children:
                self.run(child, names)

    def _do_compound_statement(self, node: Node, names: Names) -> None:
        inner = Names(names)
        for child in node.named_children:
            self.run(child, inner)

    def _do_expression_statement(self, node: Node, names: Names) -> None:
        if node.named_child_count:
            self.value(node.named_child(0), names)

    def _do_return_statement(self, node: Node, names: Names) -> None:
        raise Returned(self.either(node.named_child(0), names) if node.named_child_count else NOTHING)

    def _do_break_statement(self, _node: Node, _names: Names) -> None:
        raise Left

    _do_continue_statement = _do_break_statement

    def _do_alias_declaration(self, node: Node, names: Names) -> None:
        kind = self.type_at(node.child_by_field_name("type"), names)
        names.types[text_of(node.child_by_field_name("name"))] = kind

    def _do_type_definition(self, node: Node, names: Names) -> None:
        kind = bare_type(text_of(node.child_by_field_name("type")))
        names.types[text_of(node.child_by_field_name("declarator"))] = self.type_named(kind, names)

    def _do_if_statement(self, node: Node, names: Names) -> None:
        condition = node.child_by_field_name("condition")
        then, otherwise = (node.child_by_field_name(side) for side in ("consequence", "alternative"))
        test = self.either(condition, names)
        number = test if isinstance(test, Number) else None
        if isinstance(test, Pointer) and (test.buffer is not None or not self.unit.may_be_set(test.place)):
            number = plain(test.buffer is not None)
        if isinstance(test, Tensor):  # one that may be left out, and is there
            number = plain(True)
        clamp = clamp_of(condition, then) if otherwise is None else None
        if clamp is not None and self._clamped(clamp, names):
            return
        there, here = self.leads(otherwise), self.leads(then)
        if here and otherwise is None and number is not None and then is not None and _leaves(then):
            there = any(map(self.leads, _behind(node)))
        if here != there:
            # The side that leads to the launch is taken; what it asks for is kept by the sizes.
            taken = then if here else otherwise
            if (here and number is None) or (
                here and number is not None and number.is_constant and not number.value
            ):
                self._assume(condition, names)
            if number is not None and not number.is_constant:
                self.sizes.require(number, here)
            self._branch(taken, names)
            return
        if number is None:
            if then is not None and (_leaves(then) or self._ends_way(then)):
                taken = otherwise
            else:
                taken = then
        else:
            taken = then if number.value else otherwise
            if here and not number.is_constant:
                # Both sides lead there, each with what it is written for.
                self.sizes.require(number, bool(number.value))
            elif not number.is_constant and then is not None and _leaves(then):
                self._deny(condition, number, names)
                taken = otherwise
        self._branch(taken, names)

    def _ends_way(self, then: Node) -> bool:
        """Whether a branch leaves a loop, or begins its next round, whose body leads to the launch."""
        left = next((n for n in inside(then) if n.type in ("break_statement", "continue_statement")), None)
        around = next((n for n in above(left) if n.type in _LOOPS), None) if left is not None else None
        return around is not None and around.start_byte < then.start_byte and self.leads(around)

    def _clamped(self, clamp: Clamp, names: Names) -> bool:
        """Whether a variable is set to the smaller or larger of two numbers, where both are told."""
        sides = [self.either(side, names) for side in clamp.sides]
        numbers = [side for side in sides if isinstance(side, Number)]
        if len(numbers) == len(sides):
            names.set(clamp.name, called(clamp.function, *numbers))
        return len(numbers) == len(sides)

    def _deny(self, condition: Node | None, number: Number, names: Names) -> None:
        """Note that a condition does not hold: each part of it by itself, where it is read."""
        try:
            if condition is not None:
                self.hold(condition, names, holds=False)
        except NotFollowed:
            self.sizes.require(number, holds=False)

    def _assume(self, condition: Node | None, names: Names) -> None:
        """Note that a condition holds, where it can be told what it says."""
        if condition is None or condition.named_child_count == 0:
            return
        node = condition.named_child(condition.named_child_count - 1) or condition
        self._give_memory(node, names)
        try:
            self.hold(node, names)
        except NotFollowed as error:
            self.sizes.say(f"`{text_of(condition)}` is taken to hold: nothing tells {error}")

    def _give_memory(self, condition: Node, names: Names) -> None:
        """Let null pointers be none that a condition asks for, as it holds on the way to the launch."""
        sides = [condition.child_by_field_name(side) for side in ("left", "right")]
        operator = text_of(condition.child_by_field_name("operator"))
        for node in sides if operator == "&&" else ():
            if node is not None:
                self._give_memory(node, names)
        asked = condition if condition.type == "identifier" else sides[0] if operator == "!=" else None
        if asked is None or asked.type != "identifier":
            return
        value, name = names.get(text_of(asked)), text_of(asked)
        if isinstance(value, Pointer) and value.buffer is None:
            names.set(name, replace(value, buffer=Buffer(name)))

    def _branch(self, node: Node | None, names: Names) -> None:
        if node is not None:
            for child in node.named_children if node.type == "else_clause" else (node,):
                self.run(child, names)

    def _do_for_statement(self, node: Node, names: Names) -> None:
        inner = Names(names)
        first, before = node.child_by_field_name("initializer"), {*self.sizes.dims}
        condition, update = (node.child_by_field_name(part) for part in ("condition", "update"))
        if first is not None:
            (self.run if first.type == "declaration" else self.either)(first, inner)
        if self.leads(node.child_by_field_name("body")):
            self.sizes.going |= set(inner.values)
            self._number_rounds(condition, update, inner, before)
        self.loop(node, condition, update, inner)

    def _number_rounds(
        self, condition: Node | None, update: Node | None, names: Names, before: Collection[str]
    ) -> None:
        """Let variables that number the rounds of a loop be dims, where such are asked for; `before` are the dims that
        were there before the loop.
        """
        for name, start in [*names.values.items()]:
            if not self.sizes.is_round(name) or not isinstance(start, Number) or not start.whole:
                continue
            if start.text in self.sizes.in_code and start.text not in before:
                start = plain(self.sizes.forgotten(start.text))  # where it begins is no size
            values = [int(start.value)]
            names.values[name] = plain(start.value)
            while len(values) < _MOST_ROUNDS:
                self.either(update, names)
                test, number = self.either(condition, names), names.values[name]
                if not isinstance(test, Number) or not test.value or not isinstance(number, Number):
                    break
                values.append(int(number.value))
            names.values[name] = self.sizes.of_round(name, start, values, self.function)

    def _do_while_statement(self, node: Node, names: Names) -> None:
        self.loop(node, node.child_by_field_name("condition"), None, names)

    def _do_do_statement(self, node: Node, names: Names) -> None:
        with self._around(node.child_by_field_name("body")):
            self._round(node.child_by_field_name("body"), names)

    def _do_for_range_loop(self, node: Node, names: Names) -> None:
        with self._around(node.child_by_field_name("body")):
            self._go_over(node, names)

    def _go_over(self, node: Node, names: Names) -> None:
        values = self.either(node.child_by_field_name("right"), names)
        body = node.child_by_field_name("body")
        inner = Names(names)
        if isinstance(values, GivenList):
            values.is_counted = True
        declarator = node.child_by_field_name("declarator")
        name, _ = declared_name(declarator)
        numbers = whole_numbers(values)
        if (
            (buffer := buffer_at(values)) is not None
            and not isinstance(values, list)
            and not self.leads(body)
        ):
            self.fill_each(name, buffer, body, names)
        if len(numbers) > 1 and self.leads(body):
            inner.values[name] = self.sizes.of_list(name, numbers, self.function)
        elif isinstance(values, list) and values:
            is_size = self.leads(body)
            for at in range(min(len(values), self.rounds_to_launch if is_size else ROUNDS)):
                element = self.with_element(
                    declarator, ElementReference(values, at, name), names, is_size=is_size
                )
                if not self._round(body, element):
                    return
            return
        elif not self.leads(body):
            self.forget(body, names)
            return
        self._round(body, inner)

    def with_element(
        self, declarator: Node | None, element: ElementReference, names: Names, *, is_size: bool = False
    ) -> Names:
        """The names in a round of a loop in which a declarator stands for an element: `item`, `[rows, cols]`."""
        inner, value = Names(names), element.elements[element.at]
        nodes = inside(declarator) if declarator is not None and not is_size else ()
        if any(n.type == "reference_declarator" for n in nodes) and not isinstance(value, list):
            inner.references[element.array] = element
            return inner
        if declarator is not None and declarator.type == "structured_binding_declarator":
            self.take_apart(declarator, value, inner)
        else:
            if is_size and isinstance(value, list) and len(value) == len(_PAIR):
                parts = zip(value, _PAIR, strict=True)
                value = [self.sizes.of_literal(part, field, self.function) for part, field in parts]
            inner.values[declared_name(declarator)[0]] = value
        for name, part in inner.values.items() if is_size else ():
            inner.values[name] = self.sizes.of_literal(part, name, self.function)
        return inner

    def forget(self, body: Node | None, names: Names) -> None:
        """Variables that a loop sets that cannot be followed: their values before it are not those after it."""
        for node in inside(body) if body is not None else ():
            side = {"assignment_expression": "left", "update_expression": "argument"}.get(node.type)
            target = node.child_by_field_name(side) if side is not None else None
            if (
                target is not None
                and target.type == "identifier"
                and names.holder(text_of(target)) is not None
            ):
                names.set(text_of(target), Opaque(f"`{text_of(node)}` in a loop over what nothing tells"))
        if body is not None:
            self.forget_lists(body, names)

    def forget_lists(self, node: Node, names: Names) -> None:
        """Lists of which a statement that cannot be followed may change how many elements they have."""
        for name in grown_lists(node):
            if names.holder(name) is not None:
                names.set(name, Opaque(f"how many elements `{name}` has"))

    def loop(self, node: Node, condition: Node | None, update: Node | None, names: Names) -> None:
        body = node.child_by_field_name("body")
        if not self.leads(body) and body is not None and self.fills(body, condition, names):
            self.forget_lists(body, names)
            return
        with self._around(body):
            self._turns(body, condition, update, names)

    @contextmanager
    def _around(self, body: Node | None) -> Iterator[None]:
        """Count a loop around what is followed, if it leads to the launch; there its loops stay counted."""
        leads = self.leads(body)
        self.sizes.loops += leads
        try:
            yield
        except Reached:
            raise
        except Exception:
            self.sizes.loops -= leads
            raise
        self.sizes.loops -= leads

    def _turns(self, body: Node | None, condition: Node | None, update: Node | None, names: Names) -> None:
        is_counted = True
        for _ in range(self.rounds_to_launch if self.leads(body) else ROUNDS):
            test = self.either(condition, names)
            is_counted &= isinstance(test, Number) and test.is_constant
            holds = bool(test.value) if isinstance(test, Number) else self.leads(body)
            if isinstance(test, Number) and not test.is_constant and self.leads(body):
                self.sizes.require(test)
                holds = True
            if not holds or not self._round(body, names):
                break
            self.either(update, names)
        else:
            is_counted &= self.leads(body)
        if body is not None and not is_counted:
            self.forget_lists(body, names)

    def _round(self, body: Node | None, names: Names) -> bool:
        """One round of a loop; whether another one may follow."""
        try:
            if body is not None:
                self.run(body, names)
        except Left:
            return False
        return True

    def _do_switch_statement(self, node: Node, names: Names) -> None:
        value = self.branches_on(node.child_by_field_name("condition"), names)
        body = self.with_cases(node.child_by_field_name("body"))
        cases = list(_cases(body)) if body is not None else []
        chosen = next((c for c in cases if self._is_case(c, value, names)), None)
        chosen = chosen or next((c for c in cases if _is_default(c)), None)
        leading = [c for c in cases if self.leads(c)]
        if leading and (chosen is None or chosen not in leading):
            chosen = leading[0] if chosen is None or not _falls_to(cases, chosen, leading) else chosen
        taken = chosen.child_by_field_name("value") if chosen is not None and chosen in leading else None
        number = self.either(taken, names)
        if isinstance(number, Number) and isinstance(value, Number):
            self.sizes.require(combined("==", value, number))
        for case in cases[cases.index(chosen) :] if chosen is not None else ():
            label = case.child_by_field_name("value")
            try:
                for child in case.named_children if case.type == "case_statement" else (case,):
                    if label is None or child.id != label.id:
                        self.run(child, names)
            except Left:
                return

    def _condition_clause(self, node: Node, names: Names) -> Value:
        """A condition, behind what stands before its semicolon: `if (int rows = n / 2; rows > 8)`."""
        first = node.child_by_field_name("initializer")
        if first is not None:
            self.run(first.named_child(0) or first, names)
        return self.value(node.child_by_field_name("value"), names)

    def branches_on(self, node: Node | None, names: Names) -> Value:
        """The value by which a switch goes one of its ways."""
        return self.either(node, names)

    def _is_case(self, case: Node, value: Value, names: Names) -> bool:
        label = case.child_by_field_name("value")
        if label is None:
            return False
        constant = self.either(label, names)
        if isinstance(constant, Number) and isinstance(value, Number):
            return constant.value == value.value
        if isinstance(constant, (TypeName, Text)) and isinstance(value, (TypeName, Text)):
            return constant == value
        return False


def _cases(node: Node) -> Iterator[Node]:
    """The cases of a switch, those in branches of the preprocessor too, and what such branches have after a case."""
    for child in node.named_children:
        if child.type.startswith("preproc_") and any(n.type == "case_statement" for n in inside(child)):
            yield from _cases(child)
        else:
            yield child


def _is_default(case: Node) -> bool:
    return case.type == "case_statement" and case.child_by_field_name("value") is None


def _behind(node: Node) -> Iterator[Node]:
    """The statements that follow one in its block."""
    following = node.next_named_sibling
    while following is not None:
        yield following
        following = following.next_named_sibling


def _leaves(node: Node) -> bool:
    """Whether a branch ends the function or the program."""
    text = text_of(node)
    return re.search(r"\b(?:return|throw|exit|abort|TORCH_CHECK|AT_ERROR|goto)\b", text) is not None


def _falls_to(cases: list[Node], chosen: Node, leading: list[Node]) -> bool:
    """Whether a case without statements of its own goes on into one that leads to the launch."""
    at = cases.index(chosen)
    while at < len(cases) and not any(c.type.endswith("statement") for c in cases[at].named_children):
        at += 1
    return at < len(cases) and cases[at] in leading
