"""Two kernels that a host function launches one right behind the other, and what it does with their buffers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from kernel_lineage.kernels.anchors.launched_in_turn import launched_behind
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    above,
    arguments_of,
    changed_by,
    contains,
    declarators,
    field_of,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.layout import descendants, source_of
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.launch_site import configuration
from kernel_lineage.workloads.following.functions import HostCode, host_code
from kernel_lineage.workloads.following.library import ALLOCATORS
from kernel_lineage.workloads.following.unit import unit_of

_FREES = frozenset({"cudaFree", "cudaFreeAsync", "hipFree"})
_MADE = re.compile(r"(?:torch|at)::(?:empty|zeros|ones|full)(?:_like)?$|\bnew_(?:empty|zeros|ones|full)$")
"""Functions and methods of torch that make a tensor of its own memory."""
_SAME = frozenset({"contiguous", "view", "reshape", "flatten", "detach", "squeeze", "unsqueeze"})
"""Methods of a tensor that give its own memory, or a copy."""
_START = re.compile(
    r"(?P<base>[A-Za-z_]\w*)(?:\s*\.\s*(?:mutable_|const_)?data(?:_ptr)?\s*(?:<[^<>]*>)?\s*\(\s*\))?"
)
"""A buffer from its start: `y`, `y.data_ptr<float>()`."""


@dataclass(frozen=True)
class Host:
    """A function of the host, and what it does with its buffers."""

    function: HostCode

    @cached_property
    def uses(self) -> dict[str, list[Node]]:
        """Where each name stands."""
        uses: dict[str, list[Node]] = {}
        for node in descendants(self.function.body):
            if node.type == "identifier":
                uses.setdefault(text_of(node), []).append(node)
        return uses

    def is_parameter(self, base: str) -> bool:
        """Whether the function is given a buffer, and leaves the name to it."""
        declared = any(p.name == base for p in self.function.parameters)
        return declared and not any(self._is_changed(use) for use in self.uses.get(base, ()))

    def is_own(self, base: str) -> bool:
        """Whether the function makes a buffer itself, by one call, so that it is no part of another one."""
        made = 0
        for use in self.uses.get(base, ()):
            if self._allocates(use) or self._makes(use):
                made += 1
            elif self._is_changed(use):
                return False
        return made == 1 and not any(p.name == base for p in self.function.parameters)

    def origin(self, base: str) -> str:
        """The buffer that a name stands for, or a copy of it, where methods of a tensor give it: `x` for
        `auto y = x.contiguous();`. The name itself where nothing shows another one.
        """
        values = [v for use in self.uses.get(base, ()) if (v := _initial_value(use)) is not None]
        if len(values) != 1 or any(p.name == base for p in self.function.parameters):
            return base
        if any(self._is_changed(use) and _initial_value(use) is None for use in self.uses[base]):
            return base
        value: Node | None = values[0]
        while value is not None and value.type == "call_expression":
            called = field_of(value, "function")
            if called is None or text_of(field_of(called, "field")) not in _SAME:
                return base
            value = field_of(called, "argument")
        return self.origin(text_of(value)) if value is not None and value.type == "identifier" else base

    def only_keeps(self, use: Node) -> bool:
        """Whether a use does nothing but declare a buffer, allocate or free it."""
        return bool(self._allocates(use)) or self.declares(use) or _call_of(use, _FREES) is not None

    def _allocates(self, use: Node) -> Node | None:
        call = _call_of(use, ALLOCATORS)
        first = next(iter(arguments_of(call)), None) if call is not None else None
        return call if first is not None and contains(first, use) and "&" in text_of(first) else None

    def _makes(self, use: Node) -> bool:
        declarator = use.parent
        value = field_of(declarator, "value") if declarator is not None else None
        if declarator is None or declarator.type != "init_declarator" or value is None:
            return False
        called = field_of(value, "function") if value.type == "call_expression" else None
        return called is not None and _MADE.search("".join(text_of(called).split())) is not None

    def declares(self, use: Node) -> bool:
        """Whether a use declares the name, without a value or with one that is no buffer."""
        for node in above(use):
            if node.type == "init_declarator" and field_of(node, "declarator") is not None:
                value = text_of(field_of(node, "value"))
                return value in ("nullptr", "NULL", "0") or self._makes(use)
            if node.type == "declaration":
                return any(name == text_of(use) for name, *_ in declarators(node))
            if node.type != "pointer_declarator":
                return False
        return False

    def _is_changed(self, use: Node) -> bool:
        parent = use.parent
        if self._allocates(use) or parent is None:
            return False
        if parent.type == "pointer_expression" and operator_of(parent) == "&":
            return True
        if parent.type == "argument_list" and text_of(field_of(parent.parent, "function")).endswith("swap"):
            return True
        if parent.type in ("pointer_declarator", "init_declarator", "reference_declarator", "declaration"):
            value = field_of(parent, "value")
            is_declared = value is None or not contains(value, use)
            return is_declared and not self.declares(use)
        return changed_by(parent) == text_of(use)


@dataclass(frozen=True)
class Turn:
    """Two kernels that a host function launches one right behind the other, by as many threads."""

    first: Kernel
    then: Kernel
    launches: tuple[Launch, Launch]
    statements: tuple[Node, Node]
    """Those that launch them."""
    host: Host

    @property
    def launcher(self) -> str:
        """The host function that launches both."""
        return self.host.function.name

    def base(self, argument: str) -> str:
        """The variable of the host that an argument is the buffer of. Refused where it is another place."""
        base = _base(argument)
        if not base:
            raise Refusal(f"`{argument}` is not a buffer from its start, so that it may lie in another one")
        return base

    def may_be_one(self, one: str, other: str) -> bool:
        """Whether two buffers of the host may be one. Refused where nothing tells which buffer one of them is.

        Two that the host function is given are separate where its callers in the file give it buffers of their own.
        """
        one, other = map(self.host.origin, (one, other))
        for base in (one, other):
            if not self.host.is_own(base) and not self.host.is_parameter(base):
                raise Refusal(f"nothing tells where `{base}` lies, which may be in another buffer")
        if one == other:
            return True
        if self.host.is_own(one) or self.host.is_own(other):
            return False
        calls = list(self._calls)
        return not calls or not all(
            caller.is_own(a) and caller.is_own(b) and a != b
            for caller, a, b in (
                (caller, passed.get(one, ""), passed.get(other, "")) for caller, passed in calls
            )
        )

    def is_between(self, base: str) -> bool:
        """Whether a buffer holds nothing but what the two kernels give to each other: nothing else reads it."""
        return self.host.is_own(base) and all(
            self.host.only_keeps(use) or any(contains(s, use) for s in self.statements)
            for use in self.host.uses[base]
        )

    def upkeep(self, bases: Collection[str]) -> Iterator[tuple[Node, str]]:
        """The statements that do nothing but declare, allocate or free some buffers, each with what is left of it.

        Those of a buffer stay where one of them does something else as well, such as to keep an error.
        """
        uses = {base: [(use, _statement_of(use)) for use in self.host.uses[base]] for base in bases}
        gone = {base for base, pairs in uses.items() if all(self._is_upkeep(*pair) for pair in pairs)}
        statements = {s.start_byte: s for base in gone for _, s in uses[base] if s is not None}
        for statement in statements.values():
            if statement in self.statements:
                continue
            parts = statement.children_by_field_name("declarator") if statement.type == "declaration" else []
            others = [text_of(p) for p in parts if _declared_by(p) not in gone]
            left = f"{text_of(statement.child_by_field_name('type'))} {', '.join(others)};"
            yield statement, left if others else ""

    def _is_upkeep(self, use: Node, statement: Node | None) -> bool:
        if statement is None or statement in self.statements:
            return statement is not None
        if statement.type == "declaration":
            return self.host.declares(use)
        does = next(iter(statement.named_children), None)
        return (
            statement.type == "expression_statement" and does is not None and does.type == "call_expression"
        )

    @property
    def _calls(self) -> Iterator[tuple[Host, dict[str, str]]]:
        """The calls of the host function in the file: who calls, and its buffer for each parameter."""
        own = self.host.function
        functions = unit_of(source_of(self.first).data.decode("utf-8", "replace")).functions
        for code in (code for codes in functions.values() for code in codes if own.name in code.words):
            for node in descendants(code.body):
                if node.type == "call_expression" and text_of(field_of(node, "function")) == own.name:
                    names = [p.name for p in own.parameters]
                    yield (
                        Host(code),
                        dict(zip(names, map(_base, map(text_of, arguments_of(node))), strict=False)),
                    )


def turn_of(kernel: Kernel) -> Turn:
    """A kernel and the one that is launched right behind it. Raises `Refusal`, also where other things lie between."""
    reason = f"no kernel is launched right behind {kernel.name} with the same grid and block"
    for launch in kernel.launches:
        behind = launched_behind(kernel, launch)
        then = source_of(kernel).kernel(behind.kernel) if behind is not None else None
        if behind is None or then is None:
            continue
        statements = _launching(kernel, launch), _launching(then, behind)
        function = next(
            (
                code
                for n in above(statements[0])
                if n.type == "function_definition" and (code := host_code(n))
            ),
            None,
        )
        if function is None or statements[0].parent != statements[1].parent:
            reason = f"{then.name} is not launched in the same block of statements as {kernel.name}"
            continue
        if (why := _apart(kernel, launch, then, behind)) or (
            why := _between(kernel, then, launch, *statements)
        ):
            reason = why
            continue
        return Turn(kernel, then, (launch, behind), statements, Host(function))
    raise Refusal(reason)


def _initial_value(use: Node) -> Node | None:
    """The value that a declaration gives the name that it declares there."""
    above_it = use.parent
    while above_it is not None and above_it.type in ("reference_declarator", "pointer_declarator"):
        above_it = above_it.parent
    if above_it is None or above_it.type != "init_declarator":
        return None
    declared = field_of(above_it, "declarator")
    return field_of(above_it, "value") if declared is not None and contains(declared, use) else None


def _launching(kernel: Kernel, launch: Launch) -> Node:
    root = source_of(kernel).root
    node = root.descendant_for_byte_range(launch.span.start, launch.span.end) if root is not None else None
    statement = _statement_of(node) if node is not None else None
    if (
        statement is None
        or statement.type != "expression_statement"
        or statement.parent is None
        or statement.parent.type != "compound_statement"
        or "".join(text_of(statement).rstrip("; \n").split()) != _dense(kernel, launch)
    ):
        raise Refusal(
            f"the launch of {kernel.name} in line {launch.span.first_line} is no statement of its own"
        )
    return statement


def _dense(kernel: Kernel, launch: Launch) -> str:
    return "".join(source_of(kernel).text(launch.span).split())


def _apart(first: Kernel, launch: Launch, then: Kernel, behind: Launch) -> str:
    """How two launches differ; "" where they have the same shape and are of the same instance."""
    if launch.template_arguments != behind.template_arguments:
        return f"{first.name} and {then.name} are launched as instances of different types"
    one, other = ([p.text for p in configuration(k, x)] for k, x in ((first, launch), (then, behind)))
    if ["".join(text.split()) for text in one] != ["".join(text.split()) for text in other]:
        return (
            f"{first.name} and {then.name} are launched with `{', '.join(one)}` and with `{', '.join(other)}`"
        )
    return ""


def _between(first: Kernel, then: Kernel, launch: Launch, one: Node, other: Node) -> str:
    """What stands between two launches and may need the first one's results, or change what it is given."""
    unit = unit_of(source_of(first).data.decode("utf-8", "replace"))
    named = identifiers_in(one) | identifiers_in(other)
    buffers = {
        word
        for p, argument in zip(first.parameters, launch.arguments, strict=False)
        if p.pointer
        for word in re.findall(r"[A-Za-z_]\w*", argument)
    }
    node = one.next_named_sibling
    while node is not None and node != other:
        line = node.start_point.row + 1
        if node.type not in ("comment", "declaration", "expression_statement"):
            return f"line {line} stands between the launches of {first.name} and {then.name}"
        for part in descendants(node):
            if part.type == "identifier" and text_of(part) in buffers:
                return f"line {line} may need what {first.name} leaves in `{text_of(part)}`"
            if part.type == "lambda_expression" or changed_by(part, addressed=True) in named - {""}:
                return f"line {line} changes what the launches of {first.name} and {then.name} are given"
            if part.type == "call_expression":
                name = text_of(field_of(part, "function")).rpartition("::")[2]
                if unit.launched_by(name):
                    return f"line {line} launches a kernel between {first.name} and {then.name}"
        node = node.next_named_sibling
    return ""


def _statement_of(node: Node) -> Node | None:
    here: Node | None = node
    while here is not None and not here.type.endswith("statement") and here.type != "declaration":
        here = here.parent
    return here


def _base(argument: str) -> str:
    """The variable that an argument is the buffer of; "" where it is something else."""
    match = _START.fullmatch(argument.strip())
    return match["base"] if match is not None else ""


def _declared_by(declarator: Node) -> str:
    """The name that a declarator declares."""
    return next((text_of(n) for n in descendants(declarator) if n.type == "identifier"), "")


def _call_of(use: Node, names: frozenset[str]) -> Node | None:
    """The call of one of some functions that a use is an argument of."""
    for node in above(use):
        if node.type == "call_expression":
            return node if text_of(field_of(node, "function")) in names else None
        if node.type.endswith("statement"):
            return None
    return None
