"""Compile a kernel a second time for the small sizes that its launches pass, and take that code where they come.

Before:
    __global__ void pool(float* out, const float* in, int n, int k) { … for (int i = 0; i < k; i++) … }
    … pool<<<blocks, 256>>>(out, in, n, 3);
After:
    __device__ __forceinline__ void pool_with(float* out, const float* in, int n, int k) { … }
    __global__ void pool(float* out, const float* in, int n, int k) {
        if (k == 3) {
            pool_with(out, in, n, 3);
        } else {
            pool_with(out, in, n, k);
        }
    }

The compiler then unrolls loops over a window, keeps what they hold in registers and computes their addresses once.
Other sizes take the code of before. Fields of a structure that is passed by value are sizes as well: the second code
gets a copy in which they are set. Refused where no loop is bounded by a small number that all launches pass.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import above, text_of
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel, Parameter, Span
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    source_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.usual_sizes import passed_by_callers, passed_by_launches
from kernel_lineage.rewrite.candidate import Candidate, Edit

_MOST = 32
"""A window or a radius is no larger; loops over more rounds are not unrolled as a whole."""
_STEPS = 8
"""Nor is a step, an edge or a dilation."""
_FIELD = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_ONLY_KERNELS = re.compile(r"__launch_bounds__|__cluster_dims__|__grid_constant__")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    node = syntax.entry.node
    declarator, body = (node.child_by_field_name(field) for field in ("declarator", "body"))
    if declarator is None or body is None or declarator.type != "function_declarator":
        raise Refusal(f"{kernel.name} is not a plain function")
    head = data_of(kernel)[node.start_byte : body.start_byte].decode("utf-8", "replace")
    if only := _ONLY_KERNELS.search(head):
        raise Refusal(f"`{only[0]}` says something of {kernel.name} that device functions may not say")
    bounds, used = _bounds_of_loops(body), _places_in(body)
    passed = _small_sizes(kernel, used)
    sizes = {n: size for n, size in passed.items() if n in bounds or (n in used and size <= _STEPS)}
    if not bounds & sizes.keys():
        raise Refusal(f"no loop of {kernel.name} is bounded by a small number that all its launches pass")
    if done := next((n for n in sizes if re.search(rf"\b{re.escape(n)} == \d", text_of(body))), None):
        raise Refusal(f"{kernel.name} asks for a number of {done} already")
    root = source_of(kernel).root
    name = fresh_name(f"{kernel.name}_with", identifiers_in(root if root is not None else node))
    settled = " && ".join(f"{size} == {number}" for size, number in sizes.items())
    return ASSIST.candidate(
        kernel,
        [_helper(kernel, node, declarator, body, name), _calls(kernel, node, body, name, settled, sizes)],
        explanation=f"Compiled for {settled.replace('==', '=').replace(' && ', ', ')} as well, with loops unrolled; "
        "other sizes take the code of before.",
    )


def _small_sizes(kernel: Kernel, used: set[str]) -> dict[str, int]:
    """Integers among `used` that all launches and callers give one small number, as they are written: `p.stride`."""
    plain = {p.name for p in kernel.parameters if not p.pointer and _is_whole(p)}
    by_value = {p.name for p in kernel.parameters if not p.pointer and "&" not in p.type} - plain
    sizes = passed_by_launches(kernel)
    if any("." in name for name in used) or not plain & sizes.keys():
        sizes |= {n: size for n, size in passed_by_callers(kernel).items() if n not in sizes}
    numbers = {name: sizes.get(name.replace(".", "_"), -1) for name in sorted(used)}
    return {
        name: number
        for name, number in numbers.items()
        if 0 <= number <= _MOST and name.partition(".")[0] in (by_value if "." in name else plain)
    }


def _is_whole(parameter: Parameter) -> bool:
    """Whether a parameter is a whole number that the kernel has a copy of."""
    return (parameter.dtype or "").startswith(("int", "uint")) and "&" not in parameter.type


def _places_in(node: Node) -> set[str]:
    """The names in a piece of code, and the fields of structures, as they are written: `p.stride`."""
    fields = {
        text_of(n) for n in descendants(node) if n.type == "field_expression" and _FIELD.fullmatch(text_of(n))
    }
    return identifiers_in(node) | fields


def _bounds_of_loops(body: Node) -> set[str]:
    """The names and fields in the conditions of `for` loops."""
    conditions = (n.child_by_field_name("condition") for n in descendants(body) if n.type == "for_statement")
    return {name for condition in conditions if condition is not None for name in _places_in(condition)}


def _helper(kernel: Kernel, node: Node, declarator: Node, body: Node, name: str) -> Edit:
    """The kernel's code as a device function, in front of the kernel."""
    data, newline, outer = data_of(kernel), newline_of(data_of(kernel)), _whole(node)
    template = data[outer.start_byte : node.start_byte].decode("utf-8", "replace")
    if outer.parent is not None and outer.parent.type == "linkage_specification":
        outer = outer.parent  # `extern "C"` is the kernel's
    parameters = declarator.child_by_field_name("parameters")
    assert parameters is not None
    taken = data[parameters.start_byte : parameters.end_byte].decode("utf-8", "replace")
    work = data[body.start_byte : body.end_byte].decode("utf-8", "replace")
    margin = indent_at(data, outer.start_byte)
    text = f"{template}__device__ __forceinline__ void {name}{taken}{newline}{margin}{work}{newline}{newline}{margin}"
    line = outer.start_point[0] + 1
    return Edit(Span(outer.start_byte, outer.start_byte, line, line), text)


def _calls(kernel: Kernel, node: Node, body: Node, name: str, settled: str, sizes: dict[str, int]) -> Edit:
    """The kernel's body as a choice between the code for its usual sizes and that for all others."""
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, _whole(node).start_byte), newline_of(data)
    names, taken = [p.name for p in kernel.parameters], identifiers_in(node)
    own = name + _template_arguments(node)
    fields = [(*n.split("."), size) for n, size in sizes.items() if "." in n]
    copies = {owner: fresh_name(f"usual_{owner}", taken) for owner, _, _ in fields}
    usual = f"{own}({', '.join(str(sizes.get(n, copies.get(n, n))) for n in names)});"
    lines = [
        f"if ({settled}) {{",
        *(f"{unit}auto {copy} = {owner};" for owner, copy in copies.items()),
        *(f"{unit}{copies[owner]}.{field} = {size};" for owner, field, size in fields),
        f"{unit}{usual}",
        "} else {",
        f"{unit}{own}({', '.join(names)});",
        "}",
    ]
    text = newline.join(f"{margin}{unit}{line}" for line in lines)
    return replace_node(body, f"{{{newline}{text}{newline}{margin}}}")


def _whole(node: Node) -> Node:
    """A function with its template's head."""
    return next((n for n in above(node) if n.type == "template_declaration"), node)


def _template_arguments(node: Node) -> str:
    """A template's own parameters as the arguments of another with the same head; "" without one."""
    whole = _whole(node)
    listed = whole.child_by_field_name("parameters") if whole is not node else None
    names = []
    for parameter in listed.named_children if listed is not None else ():
        idents = [n for n in descendants(parameter) if n.type in ("type_identifier", "identifier")]
        if parameter.type.startswith("variadic") or not idents:
            raise Refusal(f"the template parameter `{text_of(parameter)}` cannot be passed on")
        default = parameter.child_by_field_name("default_value") or parameter.child_by_field_name(
            "default_type"
        )
        own = [n for n in idents if default is None or n.end_byte <= default.start_byte]
        names.append(text_of(own[-1]))
    return f"<{', '.join(names)}>" if names else ""


ASSIST = Assist(
    title="Compile for usual sizes",
    skill="compile-time-sizes",
    pattern="launch_configuration",
    make=_rewrite,
)
