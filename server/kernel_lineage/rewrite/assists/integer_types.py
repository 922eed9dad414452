"""Whether an index may be added up in two parts: in which numbers it is computed, and what cannot be negative.

Signed arithmetic that leaves its range is undefined, and 64 bits wrap around like an address does: there a sum may be
split anywhere. A sum in unsigned 32-bit numbers wraps around as a whole, so its parts must be small on their own.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants, identifiers_in
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_SIGNED = {"int", "short", "char", "signed", "signed int", "int32_t", "int16_t", "int8_t"}
_SIGNED |= {"long", "long int", "long long", "long long int", "int64_t", "ptrdiff_t", "ssize_t"}
_UNSIGNED_32 = {"unsigned", "unsigned int", "uint", "uint32_t"}
_UNSIGNED_64 = {
    "unsigned long",
    "unsigned long long",
    "unsigned long int",
    "uint64_t",
    "size_t",
    "std::size_t",
}
_BUILT_IN = re.compile(r"(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")
_MOST_STEPS = 12


class IntegerTypes:
    """Reads the integer expressions of one kernel."""

    def __init__(self, kernel: Kernel, syntax: CudaSyntax) -> None:
        self._unit = syntax.entry
        self._constants = constants_of(kernel)
        self._types = {p.name: p.type for p in kernel.parameters}
        self._types |= {t.name: t.type or "" for t in kernel.template_parameters}
        self._parameters = set(self._types)
        for variable in self._unit.variables:
            same = self._types.get(variable.name, variable.type) == variable.type
            self._types[variable.name] = variable.type if same else ""

    def check_split(self, index: Node, at: Node) -> None:
        """Refuse an index of which it is not known that any of its terms may be added to the pointer first."""
        unsigned = False
        for node in descendants(index):
            if node.type == "field_expression" and _BUILT_IN.fullmatch(text_of(node)):
                unsigned = True
            elif node.type == "identifier" and text_of(node) not in (
                "threadIdx",
                "blockIdx",
                "blockDim",
                "gridDim",
            ):
                kind = self._kind(text_of(node))
                if kind is None:
                    raise Refusal(f"the type of `{text_of(node)}` in `{text_of(index)}` is not known here")
                unsigned = unsigned or kind == "unsigned"
            elif node.type == "number_literal" and re.search(r"[uU]", text_of(node)):
                unsigned = True
        if not unsigned or self._never_negative(index, at):
            return
        doubtful = self._doubtful(index, at)
        raise Refusal(
            f"`{text_of(index)}` is computed in unsigned 32-bit numbers, "
            f"and nothing says that `{doubtful}` is not negative"
        )

    def _kind(self, name: str) -> str | None:
        """`signed` or `unsigned` (of 32 bits); 64 bits without a sign behave as signed here. None when unknown."""
        if name in self._types:
            written = " ".join(
                re.sub(r"\b(?:const|constexpr|volatile|static)\b", "", self._types[name]).split()
            )
            if written in _UNSIGNED_32:
                return "unsigned"
            return "signed" if written in _SIGNED or written in _UNSIGNED_64 else None
        return "signed" if name == "warpSize" or constant(name, self._constants) is not None else None

    def _doubtful(self, index: Node, at: Node) -> str:
        for node in descendants(index):
            if node.type == "identifier" and not self._never_negative(node, at):
                return text_of(node)
        return text_of(index)

    def _never_negative(self, node: Node | None, at: Node, steps: int = 0) -> bool:
        """Whether an expression is known to be 0 or more at a place, and not to have passed below 0 on the way."""
        node = bare(node)
        if node is None or steps > _MOST_STEPS:
            return False
        match node.type:
            case "number_literal":
                return True
            case "field_expression":
                return _BUILT_IN.fullmatch(text_of(node)) is not None
            case "identifier":
                return self._name_never_negative(text_of(node), at, steps)
            case "cast_expression":
                return self._never_negative(node.child_by_field_name("value"), at, steps + 1)
            case "binary_expression" if operator_of(node) in ("+", "*", "/", "%", "<<", ">>", "&"):
                sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
                return all(self._never_negative(side, at, steps + 1) for side in sides)
        return False

    def _name_never_negative(self, name: str, at: Node, steps: int) -> bool:
        if name in ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"):
            return True
        if name not in self._types:
            value = constant(name, self._constants)
            return value is not None and value >= 0
        for loop in self._unit.loops_around(at):
            condition = bare(loop.condition)
            upwards = loop.step == "1" or (loop.update is not None and operator_of(loop.update) == "+=")
            if (
                condition is None
                or operator_of(condition) not in ("<", "<=")
                or not upwards
                or loop.start is None
            ):
                continue
            counted = loop.counter and text_of(condition.child_by_field_name("left")) == loop.counter
            if (
                not counted
                or not contains(loop.node, at)
                or not self._never_negative(loop.start, loop.node, steps + 1)
            ):
                continue
            step = loop.update.child_by_field_name("right") if loop.update is not None else None
            forward = loop.step == "1" or self._never_negative(step, loop.node, steps + 1)
            if name == loop.counter and forward and not self._changed(name, loop.body):
                return True
            # Where a signed counter from 0 on is below a bound, the bound is more than 0.
            if name == text_of(bare(loop.bound)) and self._kind(loop.counter) == "signed" and forward:
                return not self._changed(name)
        if self._changed(name):
            return False
        if name in self._parameters:
            return self._kind(name) == "unsigned"
        values = [v.value for v in self._unit.variables if v.name == name]
        return len(values) == 1 and self._never_negative(values[0], at, steps + 1)

    def _changed(self, name: str, within: Node | None = None) -> bool:
        """Whether a variable is given another value than its first, in the whole kernel or a part of it."""
        for node in descendants(within or self._unit.node):
            if node.type == "assignment_expression" and name == text_of(field_of(node, "left")):
                return True
            if node.type in ("update_expression", "pointer_expression", "reference_declarator") and (
                name in identifiers_in(node)
                and (node.type != "pointer_expression" or operator_of(node) == "&")
            ):
                return True
        return False
