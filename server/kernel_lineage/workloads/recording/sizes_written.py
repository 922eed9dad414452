"""The sizes that host code writes out, made such that a program takes others when it is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_gate.expr.syntax import tree_of
from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.functions import declared_name, words_in
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.recording.tested_values import first_values, with_largest_first

_LEAST = 2
_MOST = 1 << 40
_DEEPEST = 40
"""Expressions within expressions."""
_FIXED = ("array_declarator", "template_argument_list", "case_statement", "static_assert_declaration", "enumerator",
          "bitfield_clause")  # fmt: skip
"""Where C++ asks for a number that is known when it compiles."""
_CONSTANT = (
    "number_literal",
    "binary_expression",
    "parenthesized_expression",
    "unary_expression",
    "cast_expression",
)
_OF_PARTS = ("argument_list", "parenthesized_expression", "cast_expression")
_WHOLE = r"(?:std::)?(?:unsigned|int|long|size_t|unsigned int|long long|u?int(?:32|64)_t)"
_LEAST_IN_ARRAY = 8
"""Smaller numbers of a list are as often places and orders of axes."""
_FLOAT = re.compile(r"(?:(?:float|double)[1-4]?|half|__half|__nv_bfloat16|bool|char|string|std::string|dim3)")
_SEEDED = re.compile(r"(?:std::|curand)?\w*(?:mt19937|minstd_rand|ranlux|knuth_b|random_engine)\w*")
"""Generators of random numbers: what they are made with is a seed."""
_LAUNCHERS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
"""What is called with a kernel, the grid and the block."""
_HEADER = 'extern "C" long klineage_size(const char *, long);\n#line 1\n'
_DEFINE = re.compile(
    r"^([ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+)([0-9][\w \t*+()<-]*?)([ \t]*(?://.*)?)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Size:
    """A number that host code writes out."""

    name: str
    value: int
    start: int
    end: int
    """Bytes of the text."""
    type: str = ""
    """What it is made where it stands; "" for what the number is."""


def with_sizes(text: str, with_headers: str = "") -> tuple[str, dict[str, int]]:
    """The text with its sizes asked of `klineage_size`, and the sizes by their names.

    `with_headers` is the text with the headers that define structures which it fills.
    """
    text = with_largest_first(text, _value)
    source = read(text.encode(), Language.CUDA)
    if source.root is None:
        return text, {}
    data = text.encode()
    sizes: dict[str, int] = {}
    replaced: list[tuple[int, int, str]] = []
    places: set[int] = set()
    whole = read(with_headers.encode(), Language.CUDA).root if with_headers else None
    fields = _fields(whole if whole is not None else source.root)
    for size in _sizes(source.root, unit_of(text), text, fields):
        if size.start in places:
            continue  # the variable that a call's value goes to names it, not the function's parameter
        places.add(size.start)
        name, count = size.name, 1
        while name in sizes and sizes[name] != size.value:
            count += 1
            name = f"{size.name}_{count}"
        sizes[name] = size.value
        written = data[size.start : size.end].decode()
        kind = size.type or f"decltype({written})"
        replaced.append((size.start, size.end, f'(({kind})klineage_size("{name}", {written}))'))
    parts, at = [], 0
    for start, end, new in sorted(replaced):
        if start >= at:
            parts += [data[at:start], new.encode()]
            at = end
    return _HEADER + b"".join((*parts, data[at:])).decode(), sizes


def _sizes(root: Node, unit: Unit, text: str, fields: _Fields) -> Iterator[Size]:
    inside_only = _fixed_names(root) | _threads(root)
    on_device = unit.device_words()
    for node in inside(root):
        if node.type == "field_declaration":
            yield from _default(node, inside_only, on_device)
            continue
        if node.type == "initializer_list":
            yield from _in_braces(node, fields, inside_only)
            continue
        if node.type not in ("init_declarator", "assignment_expression", "call_expression"):
            continue
        function = _function(node)
        if function is None:  # what stands outside of functions may be read on the device
            yield from _in(node, inside_only | on_device, unit, fields)
        elif is_of_host(function):
            yield from _in(node, inside_only, unit, fields)
    for one in first_values(root, fields) if "GetParam" in text else ():
        if one.name not in inside_only and not _FLOAT.fullmatch(one.type):
            yield from (replace(size, type=one.type) for size in _constants(one.node, one.name))
    for match in _DEFINE.finditer(text):
        value = _value(match[3])
        if value is not None and _LEAST <= value < _MOST and match[2] not in inside_only | on_device:
            start = len(text[: match.start(3)].encode())
            yield Size(match[2], value, start, start + len(match[3].encode()))


_STRUCTURES = ("struct_specifier", "class_specifier")
_Fields = dict[str, list[tuple[str, str]]]
"""Structure → the names and types of its fields, in their order."""


def _fields(root: Node) -> _Fields:
    fields: _Fields = {}
    for node in inside(root):
        body, name = (node.child_by_field_name(part) for part in ("body", "name"))
        if node.type not in _STRUCTURES or body is None or name is None:
            continue
        listed = [c for c in body.named_children if c.type == "field_declaration"]
        fields[text_of(name)] = [
            (text_of(d), text_of(c.child_by_field_name("type")))
            for c in listed
            for d in c.children_by_field_name("declarator")
        ]
    return fields


def _default(node: Node, fixed: frozenset[str], on_device: frozenset[str]) -> Iterator[Size]:
    """The size that a field of a structure has where nobody gives it another: `int rows = 512;`.

    Not of a structure that code of the device names, which may make one.
    """
    declarators, value = node.children_by_field_name("declarator"), node.child_by_field_name("default_value")
    structure = next((n for n in above(node) if n.type in _STRUCTURES), None)
    name = text_of(declarators[0]) if declarators else ""
    kind = text_of(node.child_by_field_name("type"))
    of = text_of(structure.child_by_field_name("name")) if structure is not None else ""
    is_free = name.isidentifier() and name not in fixed and of not in on_device and not _FLOAT.fullmatch(kind)
    if value is not None and value.type == "initializer_list" and value.named_child_count == 1:
        value = value.named_children[0]
    if value is not None and is_free and "static" not in text_of(node):
        yield from _constants(value, name)


def _in_braces(node: Node, fields: _Fields, fixed: frozenset[str]) -> Iterator[Size]:
    """The sizes that a structure is made with by host code: `Problem{4096, 1024}`, `Problem p = {4096, 1024};`, and
    `p.shape = {4096, 1024};` where all fields of this name have one type.
    """
    function = _function(node)
    of = node.parent
    if of is not None and of.type == "init_declarator":
        of = of.parent
    kind = text_of(of.child_by_field_name("type")) if of is not None else ""
    if of is not None and of.type == "assignment_expression":
        kind = _type_of_field(text_of(of.child_by_field_name("left")), fields)
    if not kind or function is None or not is_of_host(function):
        return
    written = [c for c in node.named_children if c.type != "comment"]
    for (field, type_), value in zip(fields.get(kind, ()), written, strict=False):
        name = field.partition("[")[0]
        if not name.isidentifier() or name in fixed or _FLOAT.fullmatch(type_):
            continue
        if value.type == "initializer_list":
            listed = [c for c in value.named_children if c.type != "comment"]
            sizes = [s for i, c in enumerate(listed) for s in _constants(c, f"{name}_{i}")]
            if all(s.value >= _LEAST_IN_ARRAY for s in sizes):
                yield from (replace(size, type=type_) for size in sizes)
        elif name == field:
            for size in _constants(value, name):
                yield replace(size, type=type_) if size.start == value.start_byte else size


def _type_of_field(place: str, fields: _Fields) -> str:
    """The type of a field, `p.shape` or `p->shape`, where all fields of its name have one; "" of what is none."""
    name = place.replace("->", ".").rpartition(".")[2]
    kinds = {type_ for listed in fields.values() for field, type_ in listed if field == name != place}
    return kinds.pop() if len(kinds) == 1 else ""


def _in(node: Node, fixed: frozenset[str], unit: Unit, fields: _Fields) -> Iterator[Size]:
    """The sizes in one declaration, assignment or call."""
    if node.type == "call_expression":
        name = text_of(node.child_by_field_name("function")).rsplit("::", 1)[-1].split("<")[0]
        functions = [f for f in unit.functions.get(name, ()) if f.of_host]
        listed = node.child_by_field_name("arguments")
        if not functions or listed is None or any(c.type == "kernel_call_syntax" for c in node.children):
            return
        arguments = [c for c in listed.named_children if c.type != "comment"]
        for parameter, argument in zip(functions[0].parameters, arguments, strict=False):
            if not _FLOAT.fullmatch(parameter.type) and parameter.name not in fixed:
                yield from _constants(argument, parameter.name)
        return
    left = node.child_by_field_name("declarator") or node.child_by_field_name("left")
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    declaration = node.parent
    if left is None or value is None or declaration is None or declaration.type == "for_statement":
        return
    kind = text_of(declaration.child_by_field_name("type")) if declaration.type == "declaration" else ""
    name, stars = declared_name(left) if node.type == "init_declarator" else (text_of(left), 0)
    if left.type == "field_expression" and (of_field := _type_of_field(name, fields)):
        kind, name = of_field, text_of(left.child_by_field_name("field"))
    above = declaration.parent
    in_for = above is not None and above.type == "for_statement"
    if (
        stars
        or not name.isidentifier()
        or name in fixed
        or in_for
        or (_FLOAT.fullmatch(kind.strip()) and kind != "dim3")
        or _SEEDED.fullmatch(kind.strip())
    ):
        return
    if "constexpr" in text_of(declaration).split("=")[0]:
        return
    yield from _constants(value, name)


def _constants(node: Node, name: str, depth: int = 0) -> Iterator[Size]:
    """The largest parts of an expression that are made of numbers alone, and that are no operands of others.

    A call gives its last argument alone: `integer("rows", 4096)`, `argument(argc, argv, 1, 4096)`, `at_least(n, 32)`.
    """
    written = text_of(node)
    value = _value(written) if node.type in (*_CONSTANT, "call_expression") else None
    if value is not None:
        if _LEAST <= value < _MOST:
            yield Size(name, value, node.start_byte, node.end_byte)
        return
    if depth == _DEEPEST:
        return
    inner: list[Node] = []
    if node.type in _OF_PARTS:
        inner = [c for c in node.named_children if c.type != "comment"]
    elif node.type == "conditional_expression":
        # `argc > 1 ? atoi(argv[1]) : 4096` is 4096 unless one is typed.
        inner = [c for c in map(node.child_by_field_name, ("consequence", "alternative")) if c is not None]
    elif node.type == "call_expression":
        listed = node.child_by_field_name("arguments")
        inner = [c for c in listed.named_children if c.type != "comment"][-1:] if listed is not None else []
    parts = [part for child in inner if (part := list(_constants(child, name, depth + 1)))]
    for position, part in enumerate(parts):
        for size in part:
            rest = size.name.removeprefix(name)
            yield size if len(parts) == 1 else replace(size, name=f"{name}_{position}{rest}")


def _value(text: str) -> int | None:
    """What an expression of whole numbers comes to; None for another one."""
    plain = re.sub(r"\b(\d+|0[xX][0-9a-fA-F]+)[uUlL]+\b", r"\1", text).replace("'", "").strip()
    # A cast, as C and as C++ write it: `(size_t)1 << 24`, `size_t(1) << 24`, `static_cast<size_t>(1) << 24`.
    plain = re.sub(rf"\(\s*{_WHOLE}\s*\)|\bstatic_cast\s*<\s*{_WHOLE}\s*>|\b{_WHOLE}\s*(?=\()", "", plain)
    try:
        return _evaluated(tree_of(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # nested beyond what a person writes
        return None


def _evaluated(tree: ast.expr) -> int | None:
    if isinstance(tree, ast.Constant):
        return tree.value if type(tree.value) is int else None
    if not isinstance(tree, ast.BinOp):
        return None
    left, right = _evaluated(tree.left), _evaluated(tree.right)
    if left is None or right is None:
        return None
    if isinstance(tree.op, ast.LShift):
        return left << right if 0 <= right < 48 else None
    if isinstance(tree.op, ast.Div):
        return left // right if right else None
    if isinstance(tree.op, ast.Mult):
        return left * right
    if isinstance(tree.op, ast.Add):
        return left + right
    return left - right if isinstance(tree.op, ast.Sub) else None


def _fixed_names(root: Node) -> frozenset[str]:
    """Names of which C++ asks the value when it compiles."""
    names: set[str] = set()
    for node in inside(root):
        if node.type in _FIXED or (
            node.type == "declaration"
            and text_of(node).lstrip().startswith(("constexpr", "static constexpr"))
        ):
            extent = node.child_by_field_name("size") if node.type == "array_declarator" else node
            names |= words_in(extent) if extent is not None else frozenset()
    return frozenset(names)


def _function(node: Node) -> Node | None:
    """The function that a piece of code stands in."""
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return above


def is_of_host(function: Node) -> bool:
    """Whether only the host runs a function."""
    body = function.child_by_field_name("body")
    text = text_of(function)
    head = text[: body.start_byte - function.start_byte] if body is not None else text
    return "__global__" not in head and "__device__" not in head


def _threads(root: Node) -> frozenset[str]:
    """Names that blocks are written with, and names that those are set to."""
    launches = [n for n in inside(root) if n.type == "kernel_call_syntax"]
    shapes = [[n for n in launch.named_children if n.type != "comment"] for launch in launches]
    calls = [n for n in inside(root) if text_of(n.child_by_field_name("function")) in _LAUNCHERS]
    shapes += [arguments_of(call.child_by_field_name("arguments"))[1:] for call in calls]
    names = {word for shape in shapes for node in shape[1:2] for word in words_in(node)}
    for node in inside(root) if names else ():
        value = node.child_by_field_name("value") if node.type == "init_declarator" else None
        if value is not None and declared_name(node)[0] in names:
            names |= words_in(value)
    return frozenset(names) - {"dim3", "x", "y", "z", "N", "n"}
