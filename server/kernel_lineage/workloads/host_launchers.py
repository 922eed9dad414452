"""A host function that launches kernels, read as a program: its launches, memsets and allocations in order.

The function is followed statement by statement: locals are expressions over the workload's arguments, calls of other
host functions of the file are followed too, a branch is taken where its condition is the same for every shape of the
workload. What cannot be followed is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.dtypes import DTYPES
from kernel_gate.expressions import Number
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Operand, Pointer, Scratch, Value
from kernel_gate.workload import Workload
from kernel_lineage.code import types
from kernel_lineage.kernels.cuda_launches import dimensions
from kernel_lineage.kernels.cuda_text import arguments as split_arguments
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.host_functions import (
    host_functions,
    line_of,
    name_of,
    parameters_of,
    streams_of,
    text_of,
)
from kernel_lineage.workloads.host_names import POINTER, Address, Scope, Unreadable
from kernel_lineage.workloads.launch_expressions import BLOCK_SIZES, NotExpressible

_MATTERS = re.compile(r"<<<|cudaM|(?<![=!<>])=(?!=)|\breturn\b")
"""What makes a branch worth following, besides calls of the file's own functions."""
_DEPTH = 6
_IGNORED = re.compile(
    r"assert|printf|fprintf|exit|cuda(?:GetLastError|PeekAtLastError|DeviceSynchronize|StreamSynchronize|Free\w*"
    r"|FuncSet\w+|Event\w+|GetDevice\w*|SetDevice|Stream(?:Create|Destroy)\w*)|(?:nvtx|NVTX)\w*"
)
_CHECKS = re.compile(r"\w*check\w*|\w*safe_?call\w*|gpu_?assert", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HostProgram:
    """What a host function does on the device."""

    steps: tuple[LaunchStep | MemsetStep, ...]
    scratch: tuple[Scratch, ...]


def read_host_function(
    source: SourceFile, name: str, workload: Workload, constants: Mapping[str, str]
) -> HostProgram:
    """What a host function launches, over the workload's arguments. Raises `Unreadable`."""
    functions = host_functions(source)
    walk = _Walk(source, functions, workload, constants)
    walk.follow(functions[name], walk.scope_of(functions[name]), _DEPTH)
    if not any(isinstance(step, LaunchStep) for step in walk.steps):
        raise Unreadable(line_of(functions[name]), f"`{name}` launches no kernel")
    return HostProgram(tuple(walk.steps), tuple(walk.scratch))


class _Walk:
    """Follows functions and collects what they do."""

    def __init__(
        self,
        source: SourceFile,
        functions: Mapping[str, Node],
        workload: Workload,
        constants: Mapping[str, str],
    ) -> None:
        self.steps: list[LaunchStep | MemsetStep] = []
        self.scratch: list[Scratch] = []
        self._kernels = {k.name: k for k in source.kernels}
        self._functions, self._workload = functions, workload
        self._constants = {**constants, "cudaSuccess": "0"}

    def scope_of(self, function: Node) -> Scope:
        """The function's parameters as the workload's arguments: by name where all are known, else by position."""
        scope = Scope(self._workload, self._constants)
        block = " * ".join(f"({extent})" for extent in self._workload.launch.block)
        known = {a.name for a in self._workload.args} | set(self._workload.dims)
        parameters = [p for p in parameters_of(function) if p not in streams_of(function)]
        by_name = all(p in known or p.lower() in BLOCK_SIZES for p in parameters)
        if not by_name and len(parameters) != len(self._workload.args):
            raise Unreadable(
                line_of(function),
                f"`{name_of(function)}` takes {', '.join(parameters)}; the workload declares "
                f"{', '.join(a.name for a in self._workload.args)}; make them agree",
            )
        for position, parameter in enumerate(parameters):
            given = parameter if by_name else self._workload.args[position].name
            argument = self._workload.argument(given)
            if argument is not None and argument.is_pointer:
                scope.pointers[parameter] = Address(given, argument.dtype)
            else:
                scope.values[parameter] = given if given in known else block
        return scope

    def follow(self, function: Node, scope: Scope, depth: int) -> None:
        """Follow a function's body."""
        if depth == 0:
            raise Unreadable(line_of(function), "calls are nested too deeply")
        body = function.child_by_field_name("body")
        self._block(body.named_children if body else (), scope, depth)

    def _block(self, statements: Sequence[Node], scope: Scope, depth: int) -> str:
        """Follow statements until one ends the block; `return`, `break` or ""."""
        for statement in statements:
            if ended := self._statement(statement, scope, depth):
                return ended
        return ""

    def _statement(self, node: Node, scope: Scope, depth: int) -> str:
        match node.type:
            case "comment" | ";" | "empty_statement" | "preproc_call" | "static_assert_declaration":
                return ""
            case "compound_statement":
                return self._block(node.named_children, scope, depth)
            case "return_statement":
                return "return"
            case "break_statement":
                return "break"
            case "declaration":
                self._declaration(node, scope)
                return ""
            case "if_statement":
                return self._if(node, scope, depth)
            case "switch_statement":
                return self._switch(node, scope, depth)
            case "expression_statement":
                for expression in node.named_children:
                    self._expression(expression, scope, depth)
                return ""
        if re.search(r"<<<|cudaMem", text_of(node)):
            what = node.type.replace("_", " ")
            raise Unreadable(line_of(node), f"a {what} around a launch is not followed")
        return ""

    def _declaration(self, node: Node, scope: Scope) -> None:
        kind = re.sub(r"\b(?:const|constexpr|static)\b", "", text_of(node.child_by_field_name("type")))
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            inner = declarator.child_by_field_name("declarator") or declarator
            name = re.sub(r"[^\w].*", "", text_of(inner).lstrip("*& \t").removeprefix("__restrict__").strip())
            if kind.strip() == "dim3":
                written = text_of(value) if value is not None else ""
                if declarator.type == "function_declarator":
                    # `dim3 block(x, y);` of names alone reads like the declaration of a function.
                    written = text_of(declarator.child_by_field_name("parameters"))
                written = f"dim3{written}" if written.startswith("(") else written
                scope.grids[name] = dimensions(written, {})
            elif "*" in text_of(declarator).split("=")[0]:
                dtype = types.DTYPES.get(kind.strip(), "uint8")
                address = scope.address(text_of(value)) if value is not None else None
                scope.pointers[name] = address or Address("", dtype)
            elif value is not None:
                self._assign(name, value, scope)

    def _assign(self, name: str, value: Node, scope: Scope) -> None:
        if value.type == "call_expression" and text_of(value).startswith("cuda"):
            scope.values[name] = "0"  # a call of the runtime that succeeds
            return
        try:
            scope.values[name] = f"({scope.translated(text_of(value))})"
            scope.unread.pop(name, None)
        except NotExpressible:
            scope.values.pop(name, None)
            scope.unread[name] = text_of(value)

    def _if(self, node: Node, scope: Scope, depth: int) -> str:
        text = text_of(node)
        if not _MATTERS.search(text) and self._functions.keys().isdisjoint(re.findall(r"\w+", text)):
            return ""
        condition = node.child_by_field_name("condition")
        holds = self._truth(condition, scope)
        branch = node.child_by_field_name("consequence" if holds else "alternative")
        if branch is None:
            return ""
        inner = branch.named_children if branch.type == "else_clause" else [branch]
        return self._block(inner, scope, depth)

    def _truth(self, condition: Node | None, scope: Scope) -> bool:
        text = text_of(condition)
        values = {bool(v) for v in scope.everywhere(condition, text)}
        if len(values) != 1:
            raise Unreadable(line_of(condition), f"`{text}` is true for some shapes and false for others")
        return values.pop()

    def _switch(self, node: Node, scope: Scope, depth: int) -> str:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        values = set(scope.everywhere(condition, text_of(condition)))
        if len(values) != 1:
            raise Unreadable(
                line_of(node), f"`switch {text_of(condition)}` goes different ways for different shapes"
            )
        value = values.pop()
        cases = [c for c in (body.named_children if body else ()) if c.type == "case_statement"]
        start = next((i for i, c in enumerate(cases) if self._is_case(c, value, scope)), None)
        if start is None:
            start = next(
                (i for i, c in enumerate(cases) if c.child_by_field_name("value") is None), len(cases)
            )
        for case in cases[start:]:
            label = case.child_by_field_name("value")
            inner = [c for c in case.named_children if c != label]
            if ended := self._block(inner, scope, depth):
                return "" if ended == "break" else ended
        return ""

    def _is_case(self, case: Node, value: Number, scope: Scope) -> bool:
        label = case.child_by_field_name("value")
        return label is not None and scope.everywhere(label, text_of(label))[0] == value

    def _expression(self, node: Node, scope: Scope, depth: int) -> None:
        if node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            name = text_of(left)
            if right is not None and name in scope.pointers:
                scope.pointers[name] = scope.address(text_of(right)) or scope.pointers[name]
            elif right is not None:
                self._assign(name, right, scope)
            return
        if node.type != "call_expression":
            return
        children = node.named_children
        configuration = next((c for c in children if c.type == "kernel_call_syntax"), None)
        given = node.child_by_field_name("arguments") or children[-1]
        if configuration is not None:
            self._launch(node, children[0], configuration, given, scope)
            return
        name = text_of(children[0]).split("<")[0].rsplit("::", 1)[-1]
        self._call(node, name, given, scope, depth)

    def _call(self, node: Node, name: str, given: Node, scope: Scope, depth: int) -> None:
        inner = given.named_children
        if name in {"cudaMemset", "cudaMemsetAsync"}:
            self._memset(node, inner, scope)
        elif name in {"cudaMalloc", "cudaMallocAsync"}:
            self._malloc(node, inner, scope)
        elif name in self._functions:
            self.follow(self._functions[name], self._called(node, name, inner, scope), depth - 1)
        elif _CHECKS.fullmatch(name):
            for argument in inner:
                self._expression(argument, scope, depth)
        elif not _IGNORED.fullmatch(name):
            raise Unreadable(line_of(node), f"the call of `{name}` is not followed")

    def _called(self, node: Node, name: str, given: Sequence[Node], scope: Scope) -> Scope:
        """The scope of a function that is called."""
        inner = Scope(self._workload, self._constants)
        for parameter, argument in zip(parameters_of(self._functions[name]), given, strict=False):
            if address := scope.address(text_of(argument)):
                inner.pointers[parameter] = address
                continue
            try:
                inner.values[parameter] = f"({scope.translated(text_of(argument))})"
            except NotExpressible:
                inner.unread[parameter] = f"{text_of(argument)} (line {line_of(node)})"
        return inner

    def _memset(self, node: Node, given: Sequence[Node], scope: Scope) -> None:
        address = scope.address(text_of(given[0]))
        if address is None or not address.buffer:
            raise Unreadable(line_of(node), f"`{text_of(given[0])}` is not a buffer that is known")
        value = scope.everywhere(given[1], text_of(given[1]))[0]
        size = DTYPES[address.dtype].itemsize
        nbytes = scope.read(given[2], text_of(given[2]))
        offset = f"({address.elements}) * {size}" if address.elements != "0" else "0"
        self.steps.append(MemsetStep(address.buffer, int(value) & 0xFF, nbytes, offset))

    def _malloc(self, node: Node, given: Sequence[Node], scope: Scope) -> None:
        match = POINTER.fullmatch(re.sub(r"\(\s*void\s*\*\s*\*\s*\)", "", text_of(given[0])))
        if match is None or match[1] not in scope.pointers:
            raise Unreadable(line_of(node), f"`{text_of(given[0])}` is not a local pointer")
        dtype = scope.pointers[match[1]].dtype
        nbytes = scope.read(given[1], text_of(given[1]))
        name = f"{match[1]}_{len(self.scratch)}"
        self.scratch.append(Scratch(name, dtype, (f"({nbytes}) // {DTYPES[dtype].itemsize}",)))
        scope.pointers[match[1]] = Address(name, dtype)

    def _launch(self, node: Node, callee: Node, configuration: Node, given: Node, scope: Scope) -> None:
        name, _, template = text_of(callee).partition("<")
        kernel = self._kernels.get(name.rsplit("::", 1)[-1].strip())
        if kernel is None:
            raise Unreadable(line_of(node), f"`{name}` is launched, and the file has no such kernel")
        parts = [text_of(c) for c in configuration.named_children if c.type != "comment"]
        grid, block = (self._extents(node, part, scope) for part in parts[:2])
        shared = scope.read(node, parts[2]) if len(parts) > 2 else "0"
        written = [c for c in given.named_children if c.type != "comment"]
        operands = tuple(self._operand(a, kernel, position, scope) for position, a in enumerate(written))
        arguments = tuple(
            self._template(node, a, scope) for a in split_arguments(template.rstrip().removesuffix(">"))
        )
        self.steps.append(LaunchStep(name.strip(), LaunchSpec(grid, block, shared), operands, arguments))

    def _template(self, node: Node, written: str, scope: Scope) -> str:
        """A template argument: a type as written, a number where it is a local."""
        if written in scope.values:
            values = set(scope.everywhere(node, written))
            if len(values) == 1:
                return str(values.pop())
            raise Unreadable(line_of(node), f"the template argument `{written}` differs from shape to shape")
        return written

    def _extents(self, node: Node, written: str, scope: Scope) -> tuple[str, ...]:
        parts = scope.grids.get(written) or dimensions(written, {})
        return tuple(scope.read(node, part) for part in parts)

    def _operand(self, node: Node, kernel: Kernel, position: int, scope: Scope) -> Operand:
        text = text_of(node)
        if address := scope.address(text):
            if not address.buffer:
                raise Unreadable(line_of(node), f"`{text}` points to nothing that is allocated here")
            if address.elements == "0":
                return address.buffer
            return Pointer(address.buffer, f"({address.elements}) * {DTYPES[address.dtype].itemsize}")
        written = scope.read(node, text)
        parameter = kernel.parameters[position] if position < len(kernel.parameters) else None
        dtype = parameter.dtype if parameter is not None else None
        argument = self._workload.argument(written.strip("()"))
        if argument is not None and argument.kind == "scalar" and dtype in (None, argument.dtype):
            return argument.name
        return Value(written, dtype or "int32")
