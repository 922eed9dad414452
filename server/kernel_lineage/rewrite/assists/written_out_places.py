"""Which functions of a file can be written out where a kernel calls them, and in front of which statements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import (
    above,
    arguments_of,
    changed_by,
    contains,
    declarators,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language, only_gives_a_value
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.ways_through import is_under_a_condition

_STATEMENTS = {"declaration", "expression_statement", "if_statement"}
_ASIDE = {
    "goto_statement",
    "labeled_statement",
    "lambda_expression",
    "gnu_asm_expression",
    "preproc_if",
    "preproc_ifdef",
    "preproc_def",
    "type_definition",
    "alias_declaration",
    "struct_specifier",
    "enum_specifier",
    "using_declaration",
    "class_specifier",
    "comma_expression",
    "storage_class_specifier",
    "try_statement",
    "sizeof_expression",
}
"""What a function that is written out has none of."""
_WRITES = {"assignment_expression", "update_expression"}


@dataclass(frozen=True, slots=True)
class Formal:
    """A parameter of a function."""

    name: str
    type: str
    """What it is declared as, or points to, without qualifiers."""
    declared: str
    """Its declaration with another name in the place of `{}`."""
    pointer: bool
    reference: bool


def formals_of(unit: Unit) -> list[Formal]:
    """The parameters of a function."""
    declarator = unit.node.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    formals: list[Formal] = []
    for node in listed.named_children if listed is not None else ():
        if node.type == "comment":
            continue
        names = list(declarators(node))
        text = " ".join(text_of(node).split())
        if (
            node.type != "parameter_declaration"
            or len(names) != 1
            or "volatile" in text
            or text.count("*") > 1
        ):
            raise Refusal(f"the parameters of {unit.name} are not all plain")
        (name, _, sizes, pointer), kind = names[0], text_of(node.child_by_field_name("type"))
        if len(sizes) > 1 or (sizes and pointer) or kind == "auto":
            raise Refusal(f"the parameters of {unit.name} are not all plain")
        const = "const " if re.search(r"\bconst\b", text.split("*")[0].split("&")[0]) else ""
        points = bool(sizes) or pointer
        declared = f"{const}{kind}{'*' if points else ''} {{}}"
        reference = any(n.type == "reference_declarator" for n in descendants(node))
        formals.append(Formal(name, kind, declared, points, reference and not const))
    return formals


def type_of(unit: Unit) -> str:
    """What a function returns, as written."""
    declarator = unit.node.child_by_field_name("declarator")
    kind = text_of(unit.node.child_by_field_name("type"))
    if (
        declarator is None
        or declarator.type != "function_declarator"
        or kind in ("", "auto", "decltype(auto)")
    ):
        raise Refusal(f"what {unit.name} returns is not written plainly")
    return kind


def check_function(kernel: Kernel, syntax: CudaSyntax, unit: Unit, formals: list[Formal]) -> None:
    """Refuse a function whose text would mean something else within the kernel."""
    entry, node = syntax.entry, unit.node
    body = node.child_by_field_name("body")
    if node.type != "function_definition" or body is None or scope_of(node) != scope_of(entry.node):
        raise Refusal(f"{unit.name} is no plain function beside {kernel.name}")
    if (
        node.start_byte > entry.node.start_byte
        or node.has_error
        or (node.parent is not None and node.parent.type == "template_declaration")
    ):
        raise Refusal(f"{unit.name} is a template, or defined behind {kernel.name}")
    if any(n.type in _ASIDE for n in descendants(body)) or any(c.name == unit.name for c in unit.calls):
        raise Refusal(f"{unit.name} has more in it than plain statements")
    if any(v.shared for v in unit.variables):
        raise Refusal(f"{unit.name} has shared memory of its own")
    own = {v.name for v in unit.variables} | {f.name for f in formals}
    outer = {v.name for v in entry.variables} | {p.name for p in kernel.parameters}
    outer |= {p.name for p in kernel.template_parameters}
    words = {text_of(n) for n in descendants(node) if n.type in ("identifier", "type_identifier")}
    if hidden := (words - own) & outer:
        raise Refusal(f"`{min(hidden)}` means something else in {kernel.name} than in {unit.name}")
    bodies: dict[str, list[set[str]]] = {}
    for name, taken, text in macros_of(kernel):
        bodies.setdefault(name, []).append(set(WORD.findall(text)) - taken)
    reached = reachable(words, lambda word: set[str]().union(*bodies.get(word, ())))
    for name in reached & bodies.keys():
        if len(bodies[name]) != 1 or bodies[name][0] & (own | outer):
            raise Refusal(f"the macro {name} may mean something else in {kernel.name} than in {unit.name}")


def scope_of(node: Node) -> int:
    """Where the namespace begins that a node stands in, in bytes; -1 for none."""
    return next((n.start_byte for n in above(node) if n.type == "namespace_definition"), -1)


def statement_of(call: Node) -> Node:
    """The statement that a call can be written out in front of."""
    node: Node | None = call
    while node is not None and node.type not in _STATEMENTS:
        if node.type in ("condition_clause", "parenthesized_expression") or node.type.endswith("expression"):
            node = node.parent
            continue
        if node.type in ("init_declarator", "argument_list", "subscript_argument_list", "initializer_list"):
            node = node.parent
            continue
        raise Refusal(f"`{text_of(call)}` stands in no plain statement")
    parent = node.parent if node is not None else None
    if node is None or parent is None:
        raise Refusal(f"`{text_of(call)}` stands in no statement")
    single = [parent.child_by_field_name(f) for f in ("body", "consequence")]
    if parent.type not in ("compound_statement", "else_clause") and node not in single:
        raise Refusal(f"`{text_of(call)}` stands in the head of a loop")
    if node.type == "declaration" and parent.type != "compound_statement":
        raise Refusal(f"`{text_of(call)}` stands in the head of a loop")
    if node.type == "declaration" and len(node.children_by_field_name("declarator")) != 1:
        raise Refusal(f"several variables are declared beside `{text_of(call)}`")
    if node.type == "if_statement":
        head = node.child_by_field_name("condition")
        if head is None or not contains(head, call) or head.child_by_field_name("initializer") is not None:
            raise Refusal(f"`{text_of(call)}` stands in no plain condition")
    if is_under_a_condition(node, call):
        raise Refusal(f"`{text_of(call)}` is called under a condition")
    return node


def check_place(syntax: CudaSyntax, unit: Unit, call: Node, statement: Node, formals: list[Formal]) -> None:
    """Refuse a call where its statement does something before it that the function may see, or the other way round."""
    part = statement.child_by_field_name("condition") if statement.type == "if_statement" else statement
    assert part is not None
    top = part.named_children[0] if part.type == "expression_statement" and part.named_children else None
    beside = [n for n in descendants(part) if not contains(call, n) and not contains(n, call)]
    around = [n for n in descendants(part) if contains(n, call) and n not in (call, top)]
    if any(n.type == "comma_expression" or n.type in _WRITES for n in [*beside, *around]):
        raise Refusal(f"the statement of `{text_of(call)}` changes something else")
    if top is not None and top.type == "assignment_expression" and contains(call, top):
        raise Refusal(f"`{text_of(call)}` is given a value")
    others = {text_of(n.child_by_field_name("function")) for n in beside if n.type == "call_expression"}
    quiet = {u.name for u in syntax.units[1:]} - {u.name for u in syntax.units[1:] if _does_more(u)}
    if not all(is_of_the_language(name) or name in quiet for name in others):
        raise Refusal(f"another function is called beside `{text_of(call)}`")
    arguments = arguments_of(call)
    if len(arguments) != len(formals) or any(
        n.type == "call_expression" for a in arguments for n in _own_calls(syntax, a)
    ):
        raise Refusal(f"the arguments of `{text_of(call)}` are worked out first")
    used = {text_of(n) for n in beside if n.type == "identifier"}
    for formal, argument in zip(formals, arguments, strict=True):
        if formal.reference and (argument.type != "identifier" or text_of(argument) in used):
            raise Refusal(f"`{text_of(argument)}` is handed over by reference")
    left = (
        top.child_by_field_name("left") if top is not None and top.type == "assignment_expression" else None
    )
    plain = top is not None and top.type == "assignment_expression" and operator_of(top) == "="
    reads = [
        n for n in beside if n.type in ("subscript_expression", "pointer_expression", "field_expression")
    ]
    if left is not None and plain:
        reads = [n for n in reads if n != left]
    if reads and _does_more(unit):
        raise Refusal(f"the statement of `{text_of(call)}` reads memory that the function may write")


def _own_calls(syntax: CudaSyntax, node: Node) -> list[Node]:
    names = {unit.name for unit in syntax.units[1:]}
    return [
        n
        for n in descendants(node)
        if n.type == "call_expression" and text_of(n.child_by_field_name("function")) in names
    ]


def _does_more(unit: Unit) -> bool:
    """Whether a function may change something besides its own variables."""
    own = {v.name for v in unit.variables if not v.pointer} | set(unit.parameters)
    for node in descendants(unit.node):
        if node.type in _WRITES:
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if target is None or target.type != "identifier" or text_of(target) not in own:
                return True
    return any(not only_gives_a_value(c.qualified) or c.name.startswith("__sync") for c in unit.calls)


def is_changed(unit: Unit, name: str) -> bool:
    """Whether a function gives a parameter another value, or its address to something."""
    return any(changed_by(node, addressed=True) == name for node in descendants(unit.node))
