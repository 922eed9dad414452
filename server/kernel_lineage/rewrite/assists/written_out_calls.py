"""Calls of a file's own device functions, written out in the kernel that calls them.

`d = squared_distance(p, q, n);` is what the function does, with names of its own, and then `d = …`. Nothing else
changes: this is no rewrite by itself, but what other rewrites start from, which look at a kernel's own statements.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import arguments_of, contains, declarators, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.written_out_bodies import Body
from kernel_lineage.rewrite.assists.written_out_places import (
    Formal,
    check_function,
    check_place,
    formals_of,
    is_changed,
    statement_of,
    type_of,
)
from kernel_lineage.rewrite.candidate import Edit

_QUALIFIERS = re.compile(r"\b(?:const|__restrict__|__restrict|restrict)\b|\s|\*")


def written_out_calls(kernel: Kernel) -> list[Edit]:
    """The edits that write out the first call of each statement that can be; none where there is none.

    What calls stand in the arguments of others, and in functions that are written out, is left for another time.
    """
    syntax = syntax_of(kernel)
    if any(n.type in ("goto_statement", "type_definition") for n in descendants(syntax.entry.node)):
        return []
    units: dict[str, list[Unit]] = {}
    for unit in syntax.units[1:]:
        units.setdefault(unit.name, []).append(unit)
    edits: list[Edit] = []
    done: list[Node] = []
    taken = _taken(syntax)
    for call in sorted(syntax.entry.calls, key=lambda c: (c.node.end_byte, -c.node.start_byte)):
        listed = units.get(call.name, [])
        if len(listed) != 1 or text_of(call.node.child_by_field_name("function")) != call.name:
            continue
        node, unit = call.node, listed[0]
        edit = attempt(partial(_written_out, kernel, syntax, unit, node, done, taken))
        if not isinstance(edit, Refusal):
            edits.append(edit)
    return edits


def _written_out(
    kernel: Kernel, syntax: CudaSyntax, unit: Unit, call: Node, done: list[Node], taken: set[str]
) -> Edit:
    statement = statement_of(call)
    if any(contains(d, statement) or contains(statement, d) for d in done):
        raise Refusal("another call of the statement is written out first")
    formals = formals_of(unit)
    check_function(kernel, syntax, unit, formals)
    check_place(syntax, unit, call, statement, formals)
    data, step = data_of(kernel), indent_unit(kernel)
    renamed: dict[str, str] = {}
    before: list[str] = []
    for formal, argument in zip(formals, arguments_of(call), strict=True):
        if formal.reference or _stands_for(syntax, unit, formal, argument):
            renamed[formal.name] = text_of(argument)
            continue
        renamed[formal.name] = taken_name(formal.name, taken)
        steady = not formal.pointer and "const" not in formal.declared and not is_changed(unit, formal.name)
        declared = formal.declared.format(renamed[formal.name])
        before.append(f"{'const ' * steady}{declared} = {text_of(argument)};")
    target = _target(syntax, type_of(unit), statement, call)
    kept = _kept(unit, target, statement, call)
    for variable in unit.variables:
        if variable.name not in renamed:
            renamed[variable.name] = target if variable.name == kept else taken_name(variable.name, taken)
    body = Body(data, tuple(statements_of(unit.node.child_by_field_name("body"))), renamed, step)
    lines = [*before, *_lines(unit, formals, body, call, statement, target, taken)]
    if any(line.lstrip().startswith("#") for line in lines) and not begins_line(data, statement.start_byte):
        raise Refusal(f"`{unit.name}` has a directive, which begins a line")
    done.append(statement)
    margin, newline = indent_at(data, statement.start_byte), newline_of(data)
    parent = statement.parent
    if parent is None or parent.type != "compound_statement":
        margin = indent_at(data, parent.start_byte) if parent is not None else margin
        lines = ["{", *(step + line for line in lines), "}"]
    text = newline.join([lines[0], *(margin + line for line in lines[1:])]) if lines else ";"
    return replace_between(kernel, statement.start_byte, statement.end_byte, text)


def _taken(syntax: CudaSyntax) -> set[str]:
    """The names that the kernel has, and those that functions and macros use without declaring them."""
    taken = identifiers_in(syntax.entry.node)
    for unit in syntax.units[1:]:
        taken |= identifiers_in(unit.node) - {v.name for v in unit.variables} - set(unit.parameters)
    for _, own, text in macros_of(syntax.kernel):
        taken |= set(WORD.findall(text)) - own
    return taken


def _returned(unit: Unit) -> str:
    """The function's own variable that it returns at its end, and nowhere else anything; "" where that is not so."""
    returns = [n for n in descendants(unit.node) if n.type == "return_statement"]
    name = text_of(returns[0].named_children[0]) if len(returns) == 1 and returns[0].named_children else ""
    variables = [v for v in unit.variables if v.name == name]
    if len(variables) != 1 or name in unit.parameters:
        return ""
    (one,) = variables
    plain = one.type == type_of(unit) and not (one.sizes or one.pointer)
    return name if plain and not any(n.type == "reference_declarator" for n in descendants(one.node)) else ""


def _kept(unit: Unit, target: str, statement: Node, call: Node) -> str:
    """What a function returns, where the variable that the statement declares can be that from the start."""
    name = _returned(unit)
    declared = next((v.node for v in unit.variables if v.name == name), None)
    const = declared is not None and any(n.type == "type_qualifier" for n in declared.children)
    alone = declared is not None and len(declared.children_by_field_name("declarator")) == 1
    used = set[str]().union(*(identifiers_in(a) for a in arguments_of(call)))
    words = identifiers_in(unit.node) - {name}
    fits = statement.type == "declaration" and target and target not in used | words
    return name if fits and alone and not const else ""


def _lines(
    unit: Unit,
    formals: list[Formal],
    body: Body,
    call: Node,
    statement: Node,
    target: str,
    taken: set[str],
) -> list[str]:
    """What stands in the place of a statement: what the function does, and the statement with its value."""
    kind = type_of(unit)
    alone = _whole(statement, call) == ""
    if kind == "void":
        if not alone:
            raise Refusal("a function that returns nothing is called for a value")
        return body.lines("")
    numbers = {"return": kind} | {f"{f.name}[]" if f.pointer else f.name: f.type for f in formals}
    value, first = body.value(numbers), list[str]()
    if value is None and body.returns_at_its_end:
        *early, last = body.statements
        first = replace(body, statements=tuple(early)).lines("")
        value = replace(body, statements=(last,)).value(numbers)
    declares = statement.type == "declaration"
    if value is not None and alone:
        return first
    if target and declares and value is not None:
        return first if value == target else [*first, f"{kind} {target} = {value};"]
    if target:
        return [*([f"{kind} {target};"] if declares else []), *body.lines(target)]
    if value is not None and value == body.renamed.get(_returned(unit)):
        return [*first, *_with(body.data, statement, call, value)]
    name = taken_name(unit.name, taken)
    if value is not None:
        first.append(f"const {kind} {name} = {value};")
    else:
        first = [f"{kind} {name};", *body.lines(name)]
    return first if alone else [*first, *_with(body.data, statement, call, name)]


def _with(data: bytes, statement: Node, call: Node, name: str) -> list[str]:
    start, end = statement.start_byte, statement.end_byte
    text = data[start : call.start_byte] + name.encode() + data[call.end_byte : end]
    first, *rest = text.decode().splitlines()
    margin = indent_at(data, start)
    return [first, *(line.removeprefix(margin) for line in rest)]


def _whole(statement: Node, call: Node) -> str | None:
    """What a statement that is nothing but a call, or gives its value to a variable, gives it to; "": nothing."""
    inner = statement.named_children[0] if statement.named_children else None
    if statement.type == "expression_statement":
        if inner == call:
            return ""
        if inner is not None and inner.type == "assignment_expression" and operator_of(inner) == "=":
            left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            return text_of(left) if right == call and left is not None and left.type == "identifier" else None
    if statement.type == "declaration":
        declared = list(declarators(statement))
        name, value, sizes, pointer = declared[0] if len(declared) == 1 else ("", None, (), False)
        return name if value == call and not sizes and not pointer else None
    return None


def _target(syntax: CudaSyntax, kind: str, statement: Node, call: Node) -> str:
    """The variable of the function's type that a statement gives the whole value to; "" where there is none."""
    name = _whole(statement, call)
    variables = [v for v in syntax.entry.variables if v.name == name]
    if not name or len(variables) != 1 or syntax.kernel.parameter(name) is not None:
        return ""
    variable = variables[0]
    plain = variable.type == kind and not variable.sizes and not variable.pointer and not variable.shared
    own = {n.type for n in variable.node.children} | {n.type for n in descendants(variable.node)}
    return (
        name
        if plain and not own & {"type_qualifier", "reference_declarator", "storage_class_specifier"}
        else ""
    )


def _stands_for(syntax: CudaSyntax, unit: Unit, formal: Formal, argument: Node) -> bool:
    """Whether an argument can stand where the function names its parameter: a name of the same type, which the function
    cannot change.
    """
    if argument.type != "identifier" or is_changed(unit, formal.name):
        return False
    name = text_of(argument)
    listed = [v for v in syntax.entry.variables if v.name == name]
    parameter = syntax.kernel.parameter(name)
    if len(listed) + (parameter is not None) != 1 or _address_taken(syntax, name):
        return False
    if parameter is not None:
        stars = parameter.type.count("*")
        return _QUALIFIERS.sub("", parameter.type) == formal.type.replace(" ", "") and stars == formal.pointer
    variable = listed[0]
    if "volatile" in text_of(variable.node) or variable.type != formal.type:
        return False
    if formal.pointer:
        flat = len(variable.sizes) == 1 and not variable.pointer
        return flat or (variable.pointer and not variable.sizes and text_of(variable.node).count("*") == 1)
    return not variable.sizes and not variable.pointer and not variable.shared


def _address_taken(syntax: CudaSyntax, name: str) -> bool:
    for node in descendants(syntax.entry.node):
        if node.type == "pointer_expression" and operator_of(node) == "&":
            if text_of(node.child_by_field_name("argument")) == name:
                return True
        elif node.type == "reference_declarator":
            return True
    return False
