"""What the loop of a product does with the two values that it reads: the sum that their product is added to.

What is added may be something else of both values that is zero where both are: a distance, as `(a - b) * (a - b)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.cuda_forms import (
    arguments_of,
    bare,
    contains,
    declarators,
    field_of,
    operator_of,
    text_of,
)
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import changed_in, is_of_the_language
from kernel_lineage.rewrite.assists.loop_nests import statements_of_round
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.products import Beside, Operand, Product
from kernel_lineage.rewrite.assists.template_types import plain_type, pointee_of

LOADED = "\0"
"""Stands in a factor's text for the value that is read."""
BOTH = ("\1", "\2")
"""Stand for the two values in the text of what is made of both."""
_ALONE = re.compile(r"[\w.]+|\0[^\0]*\0")
"""A name, a number, or a place where something is read."""
TO_FLOAT = {"float16": "__half2float", "bfloat16": "__bfloat162float"}
FROM_FLOAT = {"float16": "__float2half", "bfloat16": "__float2bfloat16"}
_CONVERSIONS = frozenset({*TO_FLOAT.values(), *FROM_FLOAT.values(), "float", "double", "int"})
_MULTIPLIED = frozenset({"__hmul", "__fmul_rn", "__dmul_rn"})
_MULTIPLIED_AND_ADDED = frozenset({"fmaf", "fma", "__fmaf_rn", "__fma_rn", "__hfma"})
_ADDED = frozenset({"__hadd", "__fadd_rn", "__dadd_rn"})
_ZERO_OF_ZEROS = frozenset(
    {"abs", "fabs", "fabsf", "min", "max", "fmin", "fmax", "fminf", "fmaxf", "sqrt", "sqrtf"}
)


@dataclass(frozen=True, slots=True)
class Factor:
    """One operand, and what is made of each of its values before they are multiplied."""

    operand: Operand
    text: str
    """An expression in which `LOADED` stands for the value."""
    dtype: str
    """The element type of what lies in memory."""
    plain: bool
    """Nothing but a conversion is made of the value."""
    beside: tuple[Beside, ...] = ()
    """What else is read, for which `beside_at` stands in the text."""


def beside_at(one: Beside) -> str:
    """Stands in a factor's text for what is read besides it."""
    return f"\0{one.access.at}\0"


@dataclass(frozen=True, slots=True)
class SumOfProducts:
    """The variable that gathers the products."""

    name: str
    type: str
    """What the products are added up in: `float` for a variable of 16 bits."""
    stored: str
    """NumPy's name of the variable's own type."""
    loop: Node
    moved: frozenset[str]
    """Pointers that the loop moves on."""
    first: Factor
    second: Factor
    of_both: str = ""
    """What is added, with `BOTH` in it; "" for the product."""

    @property
    def added(self) -> str:
        """A statement that adds `LOADED` to the variable."""
        if self.stored in TO_FLOAT:
            to, back = TO_FLOAT[self.stored], FROM_FLOAT[self.stored]
            return f"{self.name} = {back}({to}({self.name}) + {LOADED});"
        return f"{self.name} += {LOADED};"


def sum_of(kernel: Kernel, syntax: CudaSyntax, product: Product) -> SumOfProducts:
    """What the loop adds up, or why that is not known."""
    loop = next(
        (p.node for p in syntax.entry.loops if (p.node.start_byte, p.node.end_byte) == product.loop.at), None
    )
    body = loop.child_by_field_name("body") if loop is not None else None
    if loop is None or body is None:
        raise Refusal(
            f"the loop in line {product.loop.line} stands in a function that is called, or in a macro"
        )
    own: dict[str, Node] = {}
    pointers = {p.name for p in kernel.parameters if p.pointer} | {
        v.name for v in syntax.entry.variables if v.pointer
    }
    moved = frozenset(name for name in changed_in(syntax, loop) & pointers)
    added: list[tuple[str, Node]] = []
    for statement in statements_of_round(body, [product.first.access.at, product.second.access.at]):
        if statement.type == "declaration":
            for name, value, sizes, _ in declarators(statement):
                if value is None or sizes:
                    raise Refusal(f"`{name}` is declared without a value in the loop")
                own[name] = value
            continue
        expression = bare(statement.named_children[0]) if statement.type == "expression_statement" else None
        target = _target(expression)
        if target in product.loop.counters or target in pointers:
            continue
        adds = _added(expression, target)
        if not target or adds is None:
            raise Refusal(
                f"`{' '.join(text_of(statement).split())}` in the loop adds no product to a variable"
            )
        added.append((target, adds))
    if len(added) != 1:
        raise Refusal("the loop adds up more than one value, or none")
    return _read(kernel, syntax, product, loop, moved, own, added[0])


def _read(
    kernel: Kernel,
    syntax: CudaSyntax,
    product: Product,
    loop: Node,
    moved: frozenset[str],
    own: dict[str, Node],
    added: tuple[str, Node],
) -> SumOfProducts:
    name, expression = added
    variable = next(
        (v for v in syntax.entry.variables if v.name == name and not contains(loop, v.node)), None
    )
    if variable is None or variable.sizes or variable.pointer or variable.shared:
        raise Refusal(f"`{name}`, which the products are added to, is no variable of the thread")
    own_type = plain_type(kernel, variable.type)
    stored = DTYPES.get(own_type, "")
    fixed = {p.name for p in kernel.parameters if not p.pointer} - changed_in(syntax, syntax.entry.node)
    pair = attempt(lambda: _factors_of(kernel, product, own, fixed, name, expression, stored))
    of_both = ""
    if isinstance(pair, Refusal):
        of_both = _of_both(product, own, fixed, expression)
        operands = product.first, product.second
        pointees = {plain_type(kernel, pointee_of(kernel.parameter(o.root))) for o in operands}
        # A template's type is no dtype: one name for all that is added up and multiplied is enough.
        if not of_both or pointees != {own_type} or any(_memory_dtype(kernel, o) != stored for o in operands):
            raise pair
        first, second = (Factor(o, LOADED, stored, True) for o in operands)
        pair = first, second
    kind = "float" if stored in TO_FLOAT else own_type
    return SumOfProducts(name, kind, stored, loop, moved, *pair, of_both)


def _factors_of(
    kernel: Kernel,
    product: Product,
    own: dict[str, Node],
    fixed: set[str],
    name: str,
    expression: Node,
    stored: str,
) -> tuple[Factor, Factor]:
    """The two factors of what is added."""
    factors: list[Factor] = []
    scales: list[tuple[Operand, str, tuple[Beside, ...]]] = []
    for node in _factors(expression, own):
        inside = [o for o in (product.first, product.second) if _holds(node, o, own)]
        beside = tuple(o for o in product.beside if _holds(node, o, own))
        reads = {o.access.at: LOADED for o in inside} | {o.access.at: beside_at(o) for o in beside}
        text, plain = _text_of(node, reads, own, fixed)
        if len(inside) > 1 or not text:
            raise Refusal(f"`{text_of(node)}` is more than a factor of its own")
        by_axis = (o for o in (product.first, product.second) if any(b.axis == o.axis for b in beside))
        operand = inside[0] if inside else next(by_axis, product.first)
        for one in beside:
            if one.axis not in ("", operand.axis) or not set(one.bounds) <= set(operand.bounds):
                raise Refusal(f"`{one.access.text}` is not read wherever `{operand.access.text}` is")
        if inside:
            factors.append(Factor(operand, text, _memory_dtype(kernel, operand), plain, beside))
        else:
            scales.append((operand, text, beside))
    by_root = {id(f.operand): f for f in factors}
    first, second = (by_root.get(id(o)) for o in (product.first, product.second))
    if first is None or second is None or len(factors) != 2:
        raise Refusal(f"`{text_of(expression)}` is not the product of the two values that are read")
    whole = stored.startswith(("int", "uint"))
    if not stored or any(not f.dtype or (whole and not f.dtype.startswith(("int", "uint"))) for f in factors):
        raise Refusal(f"the type of `{name}` or of what is multiplied is not one that is added up in tiles")
    first, second = (_scaled(f, [s for s in scales if s[0] is f.operand]) for f in (first, second))
    return first, second


def _of_both(product: Product, own: dict[str, Node], fixed: set[str], expression: Node) -> str:
    """What is added, with `BOTH` for the values that are read; "" where it is not known to be zero for zeros, which
    stand beyond the edges of tiles.
    """
    reads = {o.access.at: text for o, text in zip((product.first, product.second), BOTH, strict=True)}
    if product.beside or not _is_zero_of_zeros(expression, reads.keys(), own):
        return ""
    parts = [expression]
    if expression.type == "call_expression" and _called(expression) in _MULTIPLIED_AND_ADDED:
        parts = list(arguments_of(expression)[:2])
    texts = [_text_of(part, reads, own, fixed)[0] for part in parts]
    return " * ".join(f"({t})" if len(texts) > 1 else t for t in texts) if all(texts) else ""


def _is_zero_of_zeros(node: Node, reads: Set[tuple[int, int] | None], own: dict[str, Node]) -> bool:
    """Whether an expression is zero where each value that is read is."""
    if (node.start_byte, node.end_byte) in reads:
        return True
    inner = bare(node)
    if inner is None:
        return False
    if inner.type == "identifier":
        return text_of(inner) in own and _is_zero_of_zeros(own[text_of(inner)], reads, own)
    if (
        inner.type == "call_expression"
        and _called(inner) in _ZERO_OF_ZEROS | _MULTIPLIED | _MULTIPLIED_AND_ADDED
    ):
        parts = arguments_of(inner)[: 2 if _called(inner) in _MULTIPLIED_AND_ADDED else None]
        return all(_is_zero_of_zeros(part, reads, own) for part in parts)
    if inner.type == "binary_expression" and (sign := operator_of(inner)) in ("+", "-", "*"):
        sides = [inner.child_by_field_name(f) for f in ("left", "right")]
        # Zero times anything else that is no number may be NaN.
        zeros = [
            side is not None
            and (_is_zero_of_zeros(side, reads, own) or (sign == "*" and side.type == "number_literal"))
            for side in sides
        ]
        return all(zeros) and any(side is not None and side.type != "number_literal" for side in sides)
    return inner != node and _is_zero_of_zeros(inner, reads, own)


def _scaled(factor: Factor, scales: list[tuple[Operand, str, tuple[Beside, ...]]]) -> Factor:
    """A factor times what stands in the product as factors of their own."""
    if not scales:
        return factor
    own = as_float(factor)
    parts = [
        own if factor.plain else f"({own})",
        *(t if _ALONE.fullmatch(t) else f"({t})" for _, t, _ in scales),
    ]
    text = " * ".join(parts)
    beside = (*factor.beside, *(one for _, _, read in scales for one in read))
    return replace(factor, text=text, plain=False, beside=beside)


def as_float(factor: Factor) -> str:
    """The factor's text as a number of 32 or 64 bits."""
    convert = TO_FLOAT.get(factor.dtype)
    return f"{convert}({LOADED})" if factor.text == LOADED and convert else factor.text


def _target(expression: Node | None) -> str:
    """The plain variable that an expression changes."""
    if expression is None or expression.type not in ("assignment_expression", "update_expression"):
        return ""
    target = bare(expression.child_by_field_name("left") or expression.child_by_field_name("argument"))
    return text_of(target) if target is not None and target.type == "identifier" else ""


def _added(expression: Node | None, target: str) -> Node | None:
    """What `target += E`, `target = target + E`, `target = fmaf(x, y, target)` and their like add: E, or the call."""
    if expression is None or expression.type != "assignment_expression":
        return None
    value = field_of(expression, "right")
    if operator_of(expression) == "+=":
        return value
    if operator_of(expression) != "=" or value is None:
        return None
    if value.type == "binary_expression" and operator_of(value) == "+":
        parts = [value.child_by_field_name("left"), value.child_by_field_name("right")]
    elif value.type == "call_expression" and _called(value) in _ADDED:
        parts = list(arguments_of(value))
    elif value.type == "call_expression" and _called(value) in _MULTIPLIED_AND_ADDED:
        arguments = arguments_of(value)
        return value if len(arguments) == 3 and text_of(bare(arguments[2])) == target else None
    else:
        return None
    rest = [p for p in parts if text_of(bare(p)) != target]
    return rest[0] if len(parts) == 2 and len(rest) == 1 else None


def _factors(node: Node, own: dict[str, Node]) -> Iterator[Node]:
    """The factors of a product, through conversions of the whole and through variables of the loop."""
    inner = bare(node)
    if inner is None:
        return
    if inner.type == "identifier" and text_of(inner) in own:
        yield from _factors(own[text_of(inner)], own)
    elif inner.type == "binary_expression" and operator_of(inner) == "*":
        for side in ("left", "right"):
            part = inner.child_by_field_name(side)
            if part is not None:
                yield from _factors(part, own)
    elif inner.type == "call_expression" and _called(inner) in _MULTIPLIED | _MULTIPLIED_AND_ADDED:
        for part in arguments_of(inner)[:2]:
            yield from _factors(part, own)
    elif (converted := _converted(inner)) is not None and len(list(_factors(converted, own))) > 1:
        yield from _factors(converted, own)
    else:
        yield inner


def _converted(node: Node) -> Node | None:
    """What a conversion to a number of another precision converts."""
    if node.type == "cast_expression":
        return node.child_by_field_name("value")
    arguments = arguments_of(node) if node.type == "call_expression" else ()
    cast = _called(node).startswith("static_cast<")
    return arguments[0] if len(arguments) == 1 and (cast or _called(node) in _CONVERSIONS) else None


def _called(node: Node) -> str:
    return text_of(node.child_by_field_name("function")).replace(" ", "")


def _holds(node: Node, operand: Operand | Beside, own: dict[str, Node]) -> bool:
    """Whether an operand is read within an expression, or within what a variable of the loop in it was given."""
    at = operand.access.at
    assert at is not None
    for part in descendants(node):
        if (part.start_byte, part.end_byte) == at:
            return True
        value = own.get(text_of(part)) if part.type == "identifier" else None
        if value is not None and part != value and _holds(value, operand, own):
            return True
    return False


def _text_of(
    node: Node, reads: Mapping[tuple[int, int] | None, str], own: dict[str, Node], fixed: set[str]
) -> tuple[str, bool]:
    """An expression with what stands for its reads in their places, and whether only conversions are made of `LOADED`;
    "" where it uses anything but arguments of the kernel, numbers, and functions of the language.
    """
    if (text := reads.get((node.start_byte, node.end_byte))) is not None:
        return text, text == LOADED
    inner = bare(node)
    if inner is not None and inner != node:
        text, plain = _text_of(inner, reads, own, fixed)
        return (text if text in ("", LOADED) else f"({text})"), plain
    if node.type == "identifier":
        name = text_of(node)
        if name in own:
            text, plain = _text_of(own[name], reads, own, fixed)
            return (text if text in ("", LOADED) or text.endswith(")") else f"({text})"), plain
        return (name if name in fixed else ""), False
    if node.type == "number_literal":
        return text_of(node), False
    converted = _converted(node)
    if converted is not None:
        text, plain = _text_of(converted, reads, own, fixed)
        return _around(node, converted, text), plain
    if node.type == "call_expression" and is_of_the_language(_called(node)):
        parts = [(a, _text_of(a, reads, own, fixed)[0]) for a in arguments_of(node)]
    elif node.type in ("unary_expression", "binary_expression"):
        sides = [node.child_by_field_name(f) for f in ("left", "right", "argument")]
        parts = [(s, _text_of(s, reads, own, fixed)[0]) for s in sides if s is not None]
    else:
        return "", False
    whole, end = "", node.start_byte
    data = text_of(node).encode()
    for part, text in parts:
        if not text:
            return "", False
        whole += data[end - node.start_byte : part.start_byte - node.start_byte].decode() + text
        end = part.end_byte
    return whole + data[end - node.start_byte :].decode(), False


def _around(whole: Node, part: Node, text: str) -> str:
    if not text:
        return ""
    data, begin = text_of(whole).encode(), whole.start_byte
    return data[: part.start_byte - begin].decode() + text + data[part.end_byte - begin :].decode()


def _memory_dtype(kernel: Kernel, operand: Operand) -> str:
    """The type that the operand's parameter points to, where that is what is read."""
    parameter = kernel.parameter(operand.root)
    dtype = parameter.dtype if parameter is not None and parameter.pointer else None
    element = operand.access.element
    return dtype if dtype and DTYPES.get(element, element) == dtype else ""
