"""Kernels that differ in their parameters alone: `scale(float *, int)` and `scale(half *, int)`.

All else goes by names, so the second one is `scale_2`, in a text in which the launches that may mean it say so. Lines
stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.edits import edited, replace_node
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile

_QUALIFIERS = ("const", "volatile", "__restrict__", "__restrict", "struct")


def names_apart(source: SourceFile) -> tuple[str, ...]:
    """The name that each kernel of a file is told from the others by: `scale`, `scale_2`."""
    taken = Counter(k.name for k in source.kernels)
    seen: Counter[str] = Counter()
    names = []
    for kernel in source.kernels:
        seen[kernel.name] += 1
        name = kernel.name if seen[kernel.name] == 1 else f"{kernel.name}_{seen[kernel.name]}"
        while seen[kernel.name] > 1 and name in taken:
            name += "_"
        names.append(name)
    return tuple(names)


def without_overloads(source: SourceFile, place: int) -> Kernel:
    """The kernel at a place of a file in the text in which no other one has its name."""
    kernel = source.kernels[place]
    others = [i for i, k in enumerate(source.kernels) if k.name == kernel.name]
    if len(others) == 1 or source.language is not Language.CUDA or source.root is None:
        return kernel
    key = f"overload {place}"
    kept = source.derived.get(key)
    if not isinstance(kept, SourceFile):
        kept = source.derived[key] = _told_apart(source, source.root, place, others)
    return kept.kernels[place] if len(kept.kernels) == len(source.kernels) else kernel


def _told_apart(source: SourceFile, root: Node, place: int, others: Sequence[int]) -> SourceFile:
    names = names_apart(source)
    edits = [
        replace_node(node, names[at])
        for node in inside(root)
        if node.type == "identifier"
        and text_of(node) == names[others[0]]
        and (at := _meant(node, source.kernels, place, others)) is not None
    ]
    return read(edited(source.data, edits), Language.CUDA)


def _meant(node: Node, kernels: Sequence[Kernel], place: int, others: Sequence[int]) -> int | None:
    """The kernel that an identifier means: of several, the one at `place`; None where it means none of them."""
    if node.parent is not None and node.parent.type == "function_declarator":
        return next((i for i in others if kernels[i].name_span.start == node.start_byte), None)
    call = next((n for n in above(node) if n.type == "call_expression"), None)
    listed = call.child_by_field_name("arguments") if call is not None else None
    function = call.child_by_field_name("function") if call is not None else None
    if listed is None or function is None or not function.start_byte <= node.start_byte < function.end_byte:
        return place
    arguments = [c for c in listed.named_children if c.type != "comment"]
    able = [i for i in others if _takes(kernels[i], len(arguments))]
    types = _types_around(node)
    alike = [
        i
        for i in able
        if all(_fits(p.type, types, a) for p, a in zip(kernels[i].parameters, arguments, strict=False))
    ]
    able = alike or able or [*others]
    return place if place in able else able[0]


def _takes(kernel: Kernel, count: int) -> bool:
    needed = sum(p.default is None for p in kernel.parameters)
    return needed <= count <= len(kernel.parameters)


def _fits(wanted: str, types: dict[str, str], argument: Node) -> bool:
    """Whether an argument may be of a type: it is, or nothing tells what it is of."""
    own = types.get(text_of(argument)) if argument.type == "identifier" else None
    return own is None or own == _plain(wanted)


def _types_around(node: Node) -> dict[str, str]:
    """The types of the parameters of the function that some code stands in, but those of its template."""
    types: dict[str, str] = {}
    free: set[str] = set()
    for outer in above(node):
        if outer.type == "template_declaration":
            free |= {text_of(n) for n in _within(outer, "parameters") if n.type == "type_identifier"}
        if outer.type != "function_definition":
            continue
        for parameter in _within(outer, "declarator"):
            if parameter.type == "parameter_declaration":
                written = (text_of(n) for n in _within(parameter, "declarator") if n.type == "identifier")
                if name := next(written, ""):
                    types[name] = _plain(text_of(parameter)[: -len(name)])
    return {n: t for n, t in types.items() if t.rstrip("*& ") not in free}


def _within(node: Node, field: str) -> Iterator[Node]:
    part = node.child_by_field_name(field)
    return inside(part) if part is not None else iter(())


def _plain(written: str) -> str:
    """A type without qualifiers and white space: `float*` for `const float *__restrict__`."""
    spaced = written.replace("*", " * ").replace("&", " ")
    return "".join(word for word in spaced.split() if word not in _QUALIFIERS)
