"""Python source → Triton kernels, launches and device functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point, Range

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.python_text import BrokenPiece, Module, module_of
from kernel_lineage.kernels.source import DeviceFunction, Kernel, Language, Launch, Parameter, SourceFile
from kernel_lineage.kernels.triton_definitions import all_nodes
from kernel_lineage.kernels.triton_launches import launches
from kernel_lineage.kernels.triton_parameters import parameters_of

_JIT = frozenset({"triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit"})
_JIT_LINE = re.compile(rb"@[\w.]*\bjit\b")


@cache
def grammar() -> Grammar:
    """The grammar of tree-sitter-python."""
    return Grammar(tree_sitter_python.language())


def parse(data: bytes) -> SourceFile:
    """All that is seen of a Python file with Triton kernels. Never raises on content."""
    module = module_of(data)
    names = _imports(module.tree)
    functions = list(_jit_functions(module.tree, names))
    parameters = {id(f): p for f, p in zip(functions, parameters_of(module, functions, names), strict=True)}
    signatures = {f.name: parameters[id(f)] for f in functions}
    launched = launches(module, signatures)
    called = _calls_between(functions)
    launched_names = {launch.kernel for launch in launched}
    devices = [f for f in functions if _is_device_function(f, launched_names, called)]
    kernels = [
        _kernel(module, f, parameters[id(f)], launched, [d.name for d in devices], called, names)
        for f in functions
        if f not in devices
    ]
    kernels.extend(kernel for piece in module.broken for kernel in _broken_kernels(module, piece))
    kernels.sort(key=lambda k: k.span.start)
    device_functions = tuple(_device_function(module, d) for d in devices)
    source = SourceFile(
        Language.TRITON, data, (), launched, device_functions, module.problems, module=module.tree
    )
    # A frozen value that holds values which point back at it: set once, before anyone sees it.
    object.__setattr__(source, "kernels", tuple(replace(kernel, source=source) for kernel in kernels))
    return source


def _imports(tree: ast.Module) -> dict[str, str]:
    """Local names → the dotted names that they were imported from."""
    names: dict[str, str] = {}
    for node in all_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(expression: ast.expr, names: Mapping[str, str]) -> str:
    """The dotted name of an expression with import aliases resolved; "" when it is none."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return ""
    parts.append(names.get(expression.id, expression.id))
    return ".".join(reversed(parts))


def _jit_functions(tree: ast.Module, names: Mapping[str, str]) -> Iterator[ast.FunctionDef]:
    calls = [
        n for n in all_nodes(tree) if isinstance(n, ast.Call) and n.args and isinstance(n.args[0], ast.Name)
    ]
    functions = [n for n in all_nodes(tree) if isinstance(n, ast.FunctionDef)]
    jit = _names_of_jit(tree, functions, calls, names)
    wrapped = {_first(c) for c in calls if _called(c, names) in jit}
    jit_functions = [
        f
        for f in functions
        if f.name in wrapped or any(_decorator_name(d, names) in jit for d in f.decorator_list)
    ]
    yield from sorted(jit_functions, key=lambda f: f.lineno)


def _names_of_jit(
    tree: ast.Module,
    functions: Sequence[ast.FunctionDef],
    calls: Sequence[ast.Call],
    names: Mapping[str, str],
) -> frozenset[str]:
    """The dotted names that `triton.jit` goes by: also after `jit = triton.jit`, and decorators that call it."""
    aliases = {
        target.id: dotted(node.value, names)
        for node in all_nodes(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    jit_names = set(_JIT)
    while True:
        more = {alias for alias, meant in aliases.items() if meant in jit_names}
        for call in (c for c in calls if _called(c, names) in jit_names):
            for function in functions:
                signatures = (n.args.args for n in ast.walk(function) if isinstance(n, ast.FunctionDef))
                inside = function.lineno <= call.lineno <= (function.end_lineno or 0)
                if inside and _first(call) in {a.arg for arguments in signatures for a in arguments}:
                    more.add(function.name)
        if more <= jit_names:
            return frozenset(jit_names)
        jit_names |= more


def _first(call: ast.Call) -> str:
    return call.args[0].id if isinstance(call.args[0], ast.Name) else ""


def _called(call: ast.Call, names: Mapping[str, str]) -> str:
    """What is called, with an options call in between taken off: `triton.jit(debug=True)(f)`."""
    return dotted(call.func.func if isinstance(call.func, ast.Call) else call.func, names)


def _decorator_name(decorator: ast.expr, names: Mapping[str, str]) -> str:
    return dotted(decorator.func if isinstance(decorator, ast.Call) else decorator, names)


def _calls_between(functions: Sequence[ast.FunctionDef]) -> dict[str, tuple[str, ...]]:
    """For each jit function, the jit functions that it names (calls, or hands to `tl.reduce` and its kin)."""
    own = {f.name for f in functions}
    return {
        f.name: tuple(
            dict.fromkeys(
                n.id
                for s in f.body
                for n in ast.walk(s)
                if isinstance(n, ast.Name) and n.id in own and n.id != f.name
            )
        )
        for f in functions
    }


def _is_device_function(
    function: ast.FunctionDef, launched: set[str], called: Mapping[str, tuple[str, ...]]
) -> bool:
    """Launched: a kernel. Else called by another jit function, or giving a value back: a device function."""
    if function.name in launched:
        return False
    if any(function.name in callees for callees in called.values()):
        return True
    return any(isinstance(n, ast.Return) and n.value is not None for s in function.body for n in ast.walk(s))


def _start(module: Module, function: ast.FunctionDef) -> int:
    """Where the first decorator begins; `ast` places it behind its `@`."""
    if not function.decorator_list:
        return module.range(function)[0]
    start = module.range(function.decorator_list[0])[0]
    return max(module.data.rfind(b"@", 0, start), 0)


def _name_range(module: Module, function: ast.FunctionDef) -> tuple[int, int]:
    start = module.range(function)[0]
    match = re.compile(rb"(?:async\s+)?def\s+(\w+)").match(module.data, start)
    return match.span(1) if match else (start, start)


def _device_function(module: Module, function: ast.FunctionDef) -> DeviceFunction:
    start, end = _start(module, function), module.range(function)[1]
    return DeviceFunction(function.name, module.span(start, end), module.read(start, end))


def _kernel(
    module: Module,
    function: ast.FunctionDef,
    parameters: tuple[Parameter, ...],
    launched: Sequence[Launch],
    devices: Sequence[str],
    called: Mapping[str, tuple[str, ...]],
    names: Mapping[str, str],
) -> Kernel:
    start, end = _start(module, function), module.range(function)[1]
    reached = reachable(called[function.name], lambda name: called.get(name, ()))
    return Kernel(
        language=Language.TRITON,
        name=function.name,
        span=module.span(start, end),
        name_span=module.span(*_name_range(module, function)),
        body_span=module.span(module.range(function.body[0])[0], end),
        text=module.read(start, end),
        parameters=parameters,
        attributes=_attributes(module, function, names),
        comment=_comment_above(module, start),
        launches=tuple(launch for launch in launched if launch.kernel == function.name),
        device_functions=tuple(name for name in devices if name in reached),
        function=function,
    )


def _attributes(module: Module, function: ast.FunctionDef, names: Mapping[str, str]) -> dict[str, str]:
    """Decorators by their last name → their arguments as written. Plain `jit` says nothing and is left out."""
    attributes: dict[str, str] = {}
    for decorator in function.decorator_list:
        name = _decorator_name(decorator, names).rsplit(".", 1)[-1] or module.written(decorator)
        if isinstance(decorator, ast.Call):
            inside = [module.written(a) for a in decorator.args]
            inside += [
                f"{k.arg}={module.written(k.value)}" if k.arg else f"**{module.written(k.value)}"
                for k in decorator.keywords
            ]
            attributes[name] = ", ".join(inside)
        elif name != "jit":
            attributes[name] = ""
    return attributes


def _comment_above(module: Module, start: int) -> str:
    line = module.span(start, start).first_line
    collected: list[str] = []
    for index in range(line - 2, -1, -1):
        raw = module.read(module.line_starts[index], module.line_starts[index + 1]).strip()
        if not raw.startswith("#"):
            break
        collected.append(raw.lstrip("#").strip())
    return "\n".join(reversed(collected)).strip()


def _broken_kernels(module: Module, piece: BrokenPiece) -> Iterator[Kernel]:
    """Kernels in a piece that does not parse: the name, the parameters and the tree-sitter node of each."""
    if not _JIT_LINE.search(module.data, piece.start, piece.end):
        return
    first, last = (module.span(at, at).first_line for at in (piece.start, piece.end))
    place = Range(
        Point(first - 1, piece.start - module.line_starts[first - 1]),
        Point(last - 1, piece.end - module.line_starts[last - 1]),
        piece.start,
        piece.end,
    )
    root = Parser(grammar(), included_ranges=[place]).parse(module.data).root_node
    decorator = _JIT_LINE.search(module.data, piece.start, piece.end)
    definition = re.compile(rb"^[ \t]*def\s+(\w+)\s*\(?", re.MULTILINE).search(
        module.data, decorator.end() if decorator else piece.start, piece.end
    )
    if definition is None or decorator is None:
        return
    node = root.descendant_for_byte_range(*definition.span(1)) or root
    while node.type != "function_definition" and node.parent is not None:
        node = node.parent
    end = piece.start + len(module.data[piece.start : piece.end].rstrip())
    yield Kernel(
        language=Language.TRITON,
        name=definition.group(1).decode(),
        span=module.span(decorator.start(), end),
        name_span=module.span(*definition.span(1)),
        body_span=module.span(min(definition.end(), end), end),
        text=module.read(decorator.start(), end),
        parameters=tuple(_broken_parameters(module, node)),
        comment=_comment_above(module, decorator.start()),
        node=node,
    )


def _broken_parameters(module: Module, function: Node) -> Iterator[Parameter]:
    listed = function.child_by_field_name("parameters")
    for child in listed.named_children if listed is not None else ():
        name = (
            child
            if child.type == "identifier"
            else next((c for c in child.named_children if c.type == "identifier"), None)
        )
        if name is None or name.text is None:
            continue
        annotation = child.child_by_field_name("type")
        written = module.read(annotation.start_byte, annotation.end_byte) if annotation is not None else ""
        default = child.child_by_field_name("value")
        yield Parameter(
            name=name.text.decode("utf-8", "replace"),
            type=written,
            span=module.span(child.start_byte, child.end_byte),
            constexpr=written.endswith("constexpr"),
            default=module.read(default.start_byte, default.end_byte) if default is not None else None,
        )
