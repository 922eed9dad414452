"""Host functions of a CUDA file as tree-sitter nodes: names, parameters, and the kernels that they launch."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.source import SourceFile


def host_functions(source: SourceFile) -> dict[str, Node]:
    """The functions of a CUDA file that are not kernels, by name."""
    kernels = {k.name for k in source.kernels} | {f.name for f in source.device_functions}
    found: dict[str, Node] = {}
    waiting = [source.root] if source.root is not None else []
    while waiting:
        node = waiting.pop()
        if node.type == "function_definition":
            name = name_of(node)
            if name and name not in kernels:
                found[name] = node
        else:
            waiting.extend(node.named_children)
    return found


def launched_kernels(source: SourceFile, function: str) -> tuple[str, ...]:
    """The kernels that a host function names in launches, directly or through functions that it calls."""
    functions, kernels = host_functions(source), {k.name for k in source.kernels}
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for word in re.findall(r"[A-Za-z_]\w*", text_of(functions[name])):
            if word in kernels:
                found[word] = None
            waiting.append(word)
    return tuple(k for k in (k.name for k in source.kernels) if k in found)


def text_of(node: Node | None) -> str:
    """A node's text; "" for none."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text is not None else ""


def line_of(node: Node | None) -> int:
    """The line that a node starts in; 0 for none."""
    return node.start_point[0] + 1 if node is not None else 0


def _declarator(function: Node) -> Node | None:
    node = function.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator")
    return node


def name_of(function: Node) -> str:
    """The name of a function definition."""
    declarator = _declarator(function)
    return text_of(declarator.child_by_field_name("declarator")) if declarator is not None else ""


def parameters_of(function: Node) -> list[str]:
    """The names of its parameters; "" for one without."""
    declarator = _declarator(function)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    names = []
    for parameter in listed.named_children if listed is not None else ():
        if parameter.type in {"parameter_declaration", "optional_parameter_declaration"}:
            words = re.findall(r"[A-Za-z_]\w*", text_of(parameter.child_by_field_name("declarator")))
            names.append(words[-1] if words else "")
    return names


def streams_of(function: Node) -> frozenset[str]:
    """The names of its parameters that are streams, of which a workload has none."""
    declarator = _declarator(function)
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    return frozenset(
        text_of(parameter.child_by_field_name("declarator"))
        for parameter in (listed.named_children if listed is not None else ())
        if text_of(parameter.child_by_field_name("type")) == "cudaStream_t"
    )
