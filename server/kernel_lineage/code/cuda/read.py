"""A CUDA C++ kernel, in a setting or as its text alone says it → what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tree_sitter import Node, Point, Range

from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.conversions import literal
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.inlining import parameters_of, template_arguments
from kernel_lineage.code.cuda.layouts import argument_of, element_of
from kernel_lineage.code.cuda.names import Names, names_of
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.cuda.snippets import needs_normalising, normalised
from kernel_lineage.code.cuda.statements import Statements
from kernel_lineage.code.model import Model, UnreadableError
from kernel_lineage.code.setting import LaunchSetting, Setting
from kernel_lineage.code.values import INT32, INTEGERS, Element, Int, Opaque, Pointer, Symbol, Value
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.kernels.source import Kernel, Parameter, SourceFile


def read_cuda(
    kernel: Kernel, setting: Setting, lines: Mapping[int, int], headers: tuple[SourceFile, ...] = ()
) -> Model:
    """The accesses of a kernel on all paths; `lines` says which lines to report. Raises `UnreadableError`."""
    if kernel.node is None or kernel.source is None or kernel.node.child_by_field_name("body") is None:
        raise UnreadableError(f"`{kernel.name}` could not be parsed")
    model = Model()
    model.unknowns |= setting.unknowns
    model.naturals |= {*setting.dims, *setting.naturals, *setting.addresses}
    model.ranges |= setting.addresses
    model.take_places("threadIdx", setting.launch.block)
    model.take_places("blockIdx", setting.launch.grid)
    model.constants |= {n for n, v in setting.constants.items() if v == Var(n)}
    names = names_of(kernel.source, headers)
    scope = Scope(setting, model, names, dict(setting.types), lines=lines, function=kernel.text)
    statements = Statements(scope)
    for parameter in kernel.parameters:
        scope.variables[parameter.name] = _argument(statements, parameter, names, setting)
    statements.run(_definition(kernel, names).child_by_field_name("body"))
    return model


def open_setting(kernel: Kernel, template: tuple[str, ...] = ()) -> Setting:
    """Nothing but what the text says: sizes and the launch stay symbols, template parameters without arguments too."""

    def three(what: str) -> tuple[Var, Var, Var]:
        return Var(f"{what}.x"), Var(f"{what}.y"), Var(f"{what}.z")

    values: dict[str, Term] = {}
    types: dict[str, str] = {}
    for number, parameter in enumerate(kernel.template_parameters):
        argument = template[number] if number < len(template) else ""
        if parameter.type is None and argument:
            types[parameter.name] = argument
        elif parameter.type is not None:
            value = literal({"true": "1", "false": "0"}.get(argument, argument)) if argument else None
            values[parameter.name] = value.term if isinstance(value, Int) else Var(parameter.name)
    extents = [*three("blockDim"), *three("gridDim")]
    launch = LaunchSetting(three("gridDim"), three("blockDim"), Var("shared bytes"))
    return Setting(
        (), (), {}, {}, launch, values, types, naturals=frozenset(e.name for e in extents), is_open=True
    )


def read_open(
    kernel: Kernel,
    headers: tuple[SourceFile, ...] = (),
    template: tuple[str, ...] | None = None,
    named: frozenset[str] = frozenset(),
) -> Model:
    """What a kernel does by its text alone, kept with its file; empty for one that cannot be parsed.

    `template` are the arguments of one instance; by default those of its launches, where all have the same. `named` are
    macros and constants that stay symbols, each of a natural number.
    """
    if template is None:
        launched = {launch.template_arguments for launch in kernel.launches}
        template = launched.pop() if len(launched) == 1 else ()
    key = f"open {kernel.span.start} {[id(h) for h in headers]} {template} {sorted(named)}"

    def whole() -> Model:
        setting = open_setting(kernel, template)
        constants = {**setting.constants, **{name: Var(name) for name in named}}
        setting = replace(setting, constants=constants, naturals=setting.naturals | named)
        return read_cuda(kernel, setting, {}, headers)

    return _kept(kernel, key, whole)


def read_function(kernel: Kernel, function: Node) -> Model:
    """What a device function in a kernel's file does for arguments of any value, kept with the file."""
    return _kept(kernel, f"function {function.start_byte}", lambda: _read_function(kernel, function))


def expressions_of(kernel: Kernel) -> Expressions | None:
    """Evaluates what stands anywhere in a kernel's file, the kernel's parameters as symbols; None without a file."""
    source = kernel.source
    if source is None:
        return None
    key = f"expressions {kernel.span.start}"
    kept = source.derived.get(key)
    if not isinstance(kept, Expressions):
        scope = Scope(open_setting(kernel), Model(), names_of(source))
        scope.variables |= {p.name: Symbol(p.name) for p in kernel.parameters}
        kept = source.derived[key] = Statements(scope).at
    return kept


def _kept(kernel: Kernel, key: str, read: Callable[[], Model]) -> Model:
    source = kernel.source
    kept = source.derived.get(key) if source is not None else None
    if isinstance(kept, Model):
        return kept
    try:
        model = read()
    except (UnreadableError, RecursionError) as error:
        model = Model()
        model.problems.append((kernel.span.first_line, str(error) or "nested too deeply"))
    if source is not None:
        source.derived[key] = model
    return model


def _read_function(kernel: Kernel, function: Node) -> Model:
    if function.type == "template_declaration":
        function = next((c for c in function.named_children if c.type == "function_definition"), function)
    body = function.child_by_field_name("body")
    if kernel.source is None or body is None:
        raise UnreadableError(f"a function that `{kernel.name}` calls could not be parsed")
    model, names = Model(), names_of(kernel.source)
    scope = Scope(open_setting(kernel), model, names, function=text_of(function))
    statements = Statements(scope)
    scope.variables |= template_arguments(statements.at, function)
    for formal in parameters_of(function):
        if formal.pointer:
            pointee = element_of(statements.at, formal.type)
            scope.variables[formal.name] = Pointer(formal.name, "global", Num(0), pointee)
        else:
            scope.variables[formal.name] = argument_of(statements.at, formal.name, formal.type)
    statements.run(body)
    return model


def _definition(kernel: Kernel, names: Names) -> Node:
    """The kernel's node, parsed again at its place where attributes or `#if` stand in it."""
    node, source = kernel.node, kernel.source
    assert node is not None
    if source is None or not (needs_normalising(kernel.text) or node.has_error):
        return node
    start, end = kernel.span.start, kernel.span.end
    changed = normalised(source.data[start:end].decode("latin-1"), names.macros).encode("latin-1")
    data = source.data[:start] + changed + source.data[end:]
    line = data.rfind(b"\n", 0, start) + 1
    behind = data.rfind(b"\n", 0, end) + 1
    first = Point(kernel.span.first_line - 1, start - line)
    last = Point(data.count(b"\n", 0, end), end - behind)
    root = parsed(data, ranges=[Range(first, last, start, end)])[0].root_node
    waiting = list(root.named_children)
    while waiting:
        here = waiting.pop(0)
        body = here.child_by_field_name("body")
        if here.type == "function_definition" and body is not None and body.end_byte >= end - 1:
            return here
        if here.type in ("template_declaration", "linkage_specification", "declaration_list", "ERROR"):
            waiting += here.named_children
    return node


def _argument(statements: Statements, parameter: Parameter, names: Names, setting: Setting) -> Value:
    name, written, at = parameter.name, parameter.type, statements.at
    if parameter.pointer:
        pointee = written.replace("*", "", 1) if "*" in written else written.split("[")[0]
        element = element_of(at, pointee)
        buffer = setting.buffers.get(name)
        if not element.nbytes and buffer is not None and names.has_alternatives(names.base(pointee, {})):
            # A type that is one of several by `#if`: the workload, whose data the kernel is given, says which.
            element = Element(buffer.dtype, buffer.itemsize, element.name)
        return Pointer(name, "global", Num(0), element)
    if name in setting.scalars:
        return Int(setting.scalars[name], INTEGERS.get(at.scope.element(written).dtype, INT32))
    return argument_of(at, name, written) if setting.is_open else Opaque()
