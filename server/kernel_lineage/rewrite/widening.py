"""The 64-bit form of an operation that does not fit 32 bits: an operand is cast, the variable that keeps the result is
declared wider. CUDA C++ and Triton; what another function, a macro or a caller owns is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.code.cuda.scope import shown as shown_node
from kernel_lineage.kernels.cuda_forms import above, contains, inside, operator_of, text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.python_text import module_lines
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.proofs.triton.scope import shown as shown_ast

_WIDE = "long long"
_SPINE = ("+", "-", "*", "<<")
_NARROW = {"int", "signed", "signed int", "unsigned", "unsigned int", "uint", "int32_t", "uint32_t"}
_NARROW |= {"std::int32_t", "std::uint32_t"}
_TIGHT = (
    "identifier",
    "field_expression",
    "call_expression",
    "subscript_expression",
    "parenthesized_expression",
)
_INDICES = ("program_id", "arange")


class NotWidenableError(Exception):
    """The operation cannot be widened where it stands; the message says why."""


def widened(kernel: Kernel, line: int, operation: str) -> tuple[Edit, ...]:
    """The edits of the kernel's file that compute an operation in 64 bits.

    `operation` is how a proof names it (`Obligation.cause`), `line` where it stands (1-based). Raises
    `NotWidenableError`.
    """
    edits = (
        _triton(kernel, line, operation)
        if kernel.language is Language.TRITON
        else _cuda(kernel, line, operation)
    )
    made = tuple(dict.fromkeys(edits))
    if not made:
        raise NotWidenableError(
            f"`{operation}` (line {line}) stands in no statement of {kernel.name} itself: a function, a macro or a "
            "parameter holds it"
        )
    return made


def _cuda(kernel: Kernel, line: int, operation: str) -> Iterator[Edit]:
    if kernel.node is None:
        return
    for node in inside(kernel.node):
        if node.start_point.row + 1 != line or shown_node(node) != operation:
            continue
        match node.type:
            case "binary_expression":
                yield _cast(node)
                yield from _kept_in(kernel.node, node)
            case "init_declarator" | "identifier":
                yield from _declared(kernel.node, node, node.child_by_field_name("declarator") or node)
            case "assignment_expression" | "update_expression":
                kept = node.child_by_field_name("left") or node.child_by_field_name("argument")
                yield from _declared(kernel.node, node, kept)
            case _:  # the value of an initialiser or an assignment
                yield from _kept_in(kernel.node, node)


def _cast(node: Node) -> Edit:
    """The first operand of a chain of sums and products that is no literal, in 64 bits: so are all behind it."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    assert left is not None
    assert right is not None
    if left.type == "binary_expression" and operator_of(left) in _SPINE:
        return _cast(left)
    operand = right if left.type == "number_literal" and operator_of(node) != "<<" else left
    text = text_of(operand)
    return replace_node(operand, f"({_WIDE}){text if operand.type in _TIGHT else f'({text})'}")


def _kept_in(root: Node, node: Node) -> Iterator[Edit]:
    """The declaration of the variable that a value is kept in, where it is."""
    inner = ("binary_expression", "parenthesized_expression")
    around = next((n for n in above(node) if n.type not in inner), None)
    if around is None:
        return
    if around.type == "init_declarator":
        yield from _declared(root, node, around.child_by_field_name("declarator"))
    elif around.type == "assignment_expression" and around.child_by_field_name("left") != node:
        yield from _declared(root, node, around.child_by_field_name("left"))


def _declared(root: Node, at: Node, name: Node | None) -> Iterator[Edit]:
    """The nearest declaration of a variable before a place, with a wider type; none where it is wide already."""
    if name is None or name.type != "identifier":
        return
    declarations = [
        node
        for node in inside(root)
        if node.type == "declaration"
        and node.start_byte <= at.start_byte
        and node.parent is not None
        and contains(node.parent, at)
        and any(text_of(d) == text_of(name) for d in map(_name, _declarators(node)))
    ]
    if not declarations:
        return
    declaration = declarations[-1]
    type_ = declaration.child_by_field_name("type")
    if type_ is None or " ".join(text_of(type_).split()) not in _NARROW:
        return
    if not all(_name(d).type == "identifier" for d in _declarators(declaration)):
        raise NotWidenableError(f"`{text_of(declaration)}` declares more than integers")
    yield replace_node(type_, _WIDE)


def _declarators(declaration: Node) -> list[Node]:
    return declaration.children_by_field_name("declarator")


def _name(declarator: Node) -> Node:
    """What a declarator names, without its first value."""
    return (
        declarator.child_by_field_name("declarator") or declarator
        if (declarator.type == "init_declarator")
        else declarator
    )


def _triton(kernel: Kernel, line: int, operation: str) -> Iterator[Edit]:
    if kernel.function is None or kernel.source is None:
        return
    own = {
        node.id
        for node in ast.walk(kernel.function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert kernel.source.module is not None
    module = module_lines(kernel.source.data, kernel.source.module)
    for node in ast.walk(kernel.function):
        if isinstance(node, ast.BinOp) and node.lineno == line and shown_ast(node) == operation:
            operand = next((o for o in _operands(node) if _is_index(o, own)), None)
            if operand is None:
                raise NotWidenableError(
                    f"no operand of `{operation}` (line {line}) is an index of the kernel's own"
                )
            place = module.range(operand)
            yield Edit(module.span(*place), f"{module.read(*place)}.to({_language(kernel)}.int64)")


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of a chain of sums and products, in the order of the text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        yield from _operands(node.left)
        yield node.right if not isinstance(node.right, ast.BinOp) else next(_operands(node.right))
    else:
        yield node


def _is_index(node: ast.expr, own: set[str]) -> bool:
    """Whether a value surely is a tensor: a number, a parameter or what the compiler knows has no type to change."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in _INDICES
    return isinstance(node, ast.Name) and node.id in own


def _language(kernel: Kernel) -> str:
    """What the module calls `triton.language`."""
    module = kernel.source.module if kernel.source is not None else None
    for node in ast.walk(module) if module is not None else ():
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if alias.name in ("triton.language", "language"):
                return alias.asname or alias.name
    return "triton.language"
