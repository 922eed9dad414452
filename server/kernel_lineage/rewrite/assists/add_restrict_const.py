"""Promise the compiler that pointers do not overlap, and that what is only read is only read.

Before: `__global__ void scale(float* out, float* x)`.
After: `__global__ void scale(float* __restrict__ out, const float* __restrict__ x)`.

Refused when a launch site passes overlapping pointers, or when the kernel is declared elsewhere in the file, where the
new signature would no longer match.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import above, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.hidden_reads import macros_of
from kernel_lineage.rewrite.assists.layout import descendants, source_of, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.candidate import Candidate, Edit

_POINTER = re.compile(r"(?P<head>[^*&]*?)(?P<star>\s*\*)(?P<gap>\s*)(?P<name>[A-Za-z_]\w*)", re.DOTALL)


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    pointers = [p for p in kernel.parameters if p.pointer]
    if all(p.restrict for p in pointers):
        raise Refusal(f"every pointer of {kernel.name} is __restrict__ already")
    if _declared_elsewhere(kernel):
        raise Refusal(
            f"{kernel.name} is declared or instantiated elsewhere in this file; its signature must match there"
        )
    overlap = _overlapping(kernel, pointers)
    if overlap is not None:
        raise Refusal(overlap)
    edits: list[Edit] = []
    read_only: list[str] = []
    for parameter in pointers:
        text = source_of(kernel).text(parameter.span)
        match = _POINTER.fullmatch(text)
        if match is None:
            raise Refusal(f"the parameter `{text}` is not a plain pointer")
        head, gap = match["head"], match["gap"]
        own = _only_read(syntax, parameter.name)
        if not parameter.const and own and _macros_only_read(kernel, parameter.name):
            head = "const " + head
            read_only.append(parameter.name)
        qualifier = "" if parameter.restrict else "__restrict__ "
        new = f"{head}{match['star']}{gap}{qualifier}{match['name']}"
        if new != text:
            edits.append(Edit(parameter.span, new))
    note = f" {', '.join(read_only)} is only read." if read_only else ""
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"The compiler may assume that the buffers do not overlap.{note}",
    )


def _declared_elsewhere(kernel: Kernel) -> bool:
    root = source_of(kernel).root
    if root is None:
        return True
    for node in descendants(root):
        if node.type == "function_declarator" and not kernel.span.start <= node.start_byte < kernel.span.end:
            name = node.child_by_field_name("declarator")
            if name is not None and re.match(rf"{re.escape(kernel.name)}\b", text_of(name)):
                return True
    return False


def _overlapping(kernel: Kernel, pointers: list[Parameter]) -> str | None:
    positions = {p.name: n for n, p in enumerate(kernel.parameters)}
    for launch in kernel.launches:
        seen: dict[str, str] = {}
        for parameter in pointers:
            if positions[parameter.name] >= len(launch.arguments):
                return f"the launch in line {launch.span.first_line} does not tell all arguments"
            base = _base(launch.arguments[positions[parameter.name]])
            if base in seen:
                return (
                    f"{seen[base]} and {parameter.name} overlap: both come from `{base}` "
                    f"in the launch in line {launch.span.first_line}"
                )
            seen[base] = parameter.name
    return None


def _base(argument: str) -> str:
    """The variable or field that a pointer argument starts from: `acts.ln1` of `acts.ln1 + l * B`."""
    bare = re.sub(r"\(\s*(?:const\s+)?\w+(?:\s+const)?\s*\*+\s*\)", "", argument).strip(" &(")
    match = re.match(r"[A-Za-z_]\w*(?:(?:\.|->)\w+)*", bare)
    return match[0] if match else bare


def _only_read(syntax: CudaSyntax, name: str) -> bool:
    """Whether each use of a pointer is a read of an element, or becomes a pointer to const."""
    body = syntax.entry.node.child_by_field_name("body")
    return body is not None and all(
        _is_read(node) for node in descendants(body) if node.type == "identifier" and text_of(node) == name
    )


def _macros_only_read(kernel: Kernel, name: str) -> bool:
    """Whether macros of the file that name a pointer do so to read elements alone, as the reader sees them."""
    bodies = [body for _, own, body in macros_of(kernel) if name not in own]
    uses = [body for body in bodies if name in WORD.findall(body)]
    if any(re.search(rf"\b{re.escape(name)}\b(?!\s*\[)|&\s*{re.escape(name)}\b", body) for body in uses):
        return False
    model = read_open(kernel)
    return not uses or not (model.problems or any(a.writes and a.root == name for a in model.accesses))


def _is_read(node: Node) -> bool:
    parent = node.parent
    if (
        parent is None
        or parent.type != "subscript_expression"
        or parent.child_by_field_name("argument") != node
    ):
        return _starts_const_pointer(node)
    while parent is not None and parent.type in (
        "subscript_expression",
        "parenthesized_expression",
        "field_expression",
    ):
        node, parent = parent, parent.parent
    if parent is None or parent.type in ("update_expression", "reference_declarator"):
        return False
    if parent.type == "assignment_expression":
        return parent.child_by_field_name("left") != node
    if parent.type == "pointer_expression":
        return not text_of(parent).startswith("&")
    if parent.type == "init_declarator":
        declarator = parent.child_by_field_name("declarator")
        return declarator is None or declarator.type != "reference_declarator"
    return True


def _starts_const_pointer(node: Node) -> bool:
    """`const float* row = x + i * C`: the pointer goes on as a pointer to const."""
    inner = ("binary_expression", "parenthesized_expression")
    parent = next((n for n in above(node) if n.type not in inner), None)
    if parent is None or parent.type != "init_declarator" or parent.parent is None:
        return False
    declaration = parent.parent
    declarator = parent.child_by_field_name("declarator")
    qualified = any(c.type == "type_qualifier" and text_of(c) == "const" for c in declaration.children)
    return qualified and declarator is not None and declarator.type == "pointer_declarator"


ASSIST = Assist(
    title="Mark pointers const and __restrict__",
    skill="restrict-const-pointers",
    pattern="pointer_parameters",
    make=_rewrite,
)
