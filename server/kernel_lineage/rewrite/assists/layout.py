"""Edits in the layout of the file that they are made in: its indentation, its line ends, its own spelling."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop
from kernel_lineage.kernels.cuda_nodes import descendants as descendants
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, cuda_syntax
from kernel_lineage.kernels.edits import Edit, edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, SourceFile, Span
from kernel_lineage.rewrite.assists.model import Refusal


def edited_kernel(kernel: Kernel, edits: Iterable[Edit]) -> Kernel | None:
    """The kernel as it is read once edits are made; None where it does not parse then."""
    again = read(edited(data_of(kernel), edits), kernel.language).kernel(kernel.name)
    return again if again is not None and again.node is not None and not again.node.has_error else None


def start_of_line(data: bytes, offset: int) -> int:
    """Where the line of an offset begins."""
    return data.rfind(b"\n", 0, offset) + 1


def begins_line(data: bytes, offset: int) -> bool:
    """Whether nothing but blanks stands before an offset on its line."""
    return not data[start_of_line(data, offset) : offset].strip()


def indent_at(data: bytes, offset: int) -> str:
    """The blanks that begin the line of an offset."""
    line = data[start_of_line(data, offset) :]
    return line[: len(line) - len(line.lstrip(b" \t"))].decode()


def indent_unit(kernel: Kernel) -> str:
    """One step of indentation as the kernel's body has it; four blanks when it has none."""
    data = kernel.source.data if kernel.source else kernel.text.encode()
    outer = indent_at(data, kernel.body_span.start) if kernel.source else ""
    body = (
        data[kernel.body_span.start : kernel.body_span.end].decode("utf-8", "replace")
        if kernel.source
        else ""
    )
    for line in body.splitlines()[1:]:
        if line.strip():
            indent = line[: len(line) - len(line.lstrip())]
            return indent[len(outer) :] or "    "
    return "    "


def newline_of(data: bytes) -> str:
    """The line end that the file uses first."""
    at = data.find(b"\n")
    return "\r\n" if at > 0 and data[at - 1 : at] == b"\r" else "\n"


def margin_at(data: bytes, offset: int) -> str:
    """What stands on the line of a statement before it, as blanks where it is something else."""
    before = data[start_of_line(data, offset) : offset]
    return before.decode() if not before.strip() else " " * len(before)


def dedented(data: bytes, statements: Sequence[Node], changes: Iterable[tuple[Node, str]]) -> list[str]:
    """The lines of statements that follow each other, with texts in the place of nodes, moved to the left."""
    start, end = statements[0].start_byte, statements[-1].end_byte
    return textwrap.dedent(
        margin_at(data, start) + with_changes(data[start:end], start, changes)
    ).splitlines()


def with_changes(text: bytes, start: int, changes: Iterable[tuple[Node, str]]) -> str:
    """A text that begins at `start` bytes of a file, with texts in the place of nodes."""
    for node, new in sorted(changes, key=lambda change: change[0].start_byte, reverse=True):
        text = text[: node.start_byte - start] + new.encode() + text[node.end_byte - start :]
    return text.decode()


def insert_before(kernel: Kernel, offset: int, text: str) -> Edit:
    """An edit that puts text before an offset of the kernel's file."""
    return replace_between(kernel, offset, offset, text)


def replace_between(kernel: Kernel, start: int, end: int, text: str) -> Edit:
    """An edit that puts text in the place of what lies between two offsets of the kernel's file."""
    data = kernel.source.data if kernel.source else kernel.text.encode()
    first = data.count(b"\n", 0, start) + 1
    return Edit(Span(start, end, first, first + data.count(b"\n", start, end)), text)


def syntax_of(kernel: Kernel) -> CudaSyntax:
    """The kernel's syntax. Refused where it does not parse: a rewrite of half-typed code would be a guess."""
    plain = kernel.node is not None and not kernel.node.has_error and kernel.source is not None
    syntax = cuda_syntax(kernel) if plain else None
    if syntax is None:
        raise Refusal(f"{kernel.name} does not parse completely")
    return syntax


def source_of(kernel: Kernel) -> SourceFile:
    """The file that the kernel was read from."""
    assert kernel.source is not None
    return kernel.source


def data_of(kernel: Kernel) -> bytes:
    """The contents of the kernel's file."""
    return source_of(kernel).data


def either_way(test: str, then: Sequence[str], other: Sequence[str], unit: str) -> list[str]:
    """The lines of an `if` and its `else`, one step further in; a side without lines is left out."""
    first, second = ([unit + line for line in side] for side in (then, other))
    if not first:
        return [f"if (!({test})) {{", *second, "}"] if second else []
    return [f"if ({test}) {{", *first, *(["} else {", *second] if second else []), "}"]


def laid_out(lines: list[str], indent: str, unit: str, newline: str) -> str:
    """Lines with a tab for each step of indentation, laid out as a file is; further lines of one move in by a step."""
    out: list[str] = []
    for line in lines:
        bare_line = line.lstrip("\t")
        steps = unit * (len(line) - len(bare_line))
        first, *rest = bare_line.splitlines()
        out.append(indent + steps + first)
        # The further lines of a piece of old code have their indentation already.
        out += [(unit + r if r.strip() else r) for r in rest]
    return newline.join(out)[len(indent) :]


def loop_at(loops: Iterable[Loop], span: Span) -> Loop | None:
    """The loop that a span names: the outermost one inside of it, else the innermost one around it."""
    inside: Loop | None = None
    around: Loop | None = None
    for loop in loops:
        node = loop.node
        if span.start <= node.start_byte and node.end_byte <= span.end and inside is None:
            inside = loop
        if node.start_byte <= span.start and span.end <= node.end_byte:
            around = loop
    return inside or around


def fresh_name(wanted: str, taken: set[str]) -> str:
    """The wanted name, or with `_` at its end as often as needed to be new."""
    while wanted in taken:
        wanted += "_"
    return wanted


def taken_name(wanted: str, taken: set[str]) -> str:
    """A new name like the wanted one, which is taken from here on."""
    name = fresh_name(wanted, taken)
    taken.add(name)
    return name


def statements_of(node: Node | None) -> list[Node]:
    """The statements of a block, or the one statement that is no block; comments left out. None has none."""
    if node is not None and node.type == "compound_statement":
        return [c for c in node.named_children if c.type != "comment"]
    return [node] if node is not None else []


def with_pragmas(loop: Node) -> Node:
    """What a loop begins with: nothing may stand between it and its #pragma."""
    first = loop
    while first.prev_sibling is not None and first.prev_sibling.type.startswith("preproc"):
        first = first.prev_sibling
    return first
