"""Edits at a kernel's launch site: new expressions for grid, block and shared bytes, or Triton's launch options.

Assists and the model lane both go through here, so that a launch can only ever be changed in these places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.kernels.source import Kernel, Language, Launch, Span
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.candidate import Edit

CUDA_FIELDS = ("grid", "block", "shared_bytes")
"""In the order of `<<<grid, block, shared_bytes, stream>>>`."""


class LaunchError(Exception):
    """The launch site cannot be changed as asked; the message says why."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One expression between `<<<` and `>>>`, with its place."""

    text: str
    span: Span


def configuration(kernel: Kernel, launch: Launch) -> tuple[Configuration, ...]:
    """The expressions of a CUDA launch, in order. Raises `LaunchError` when the launch is not written out there."""
    data = _data(kernel)
    text = data[launch.span.start : launch.span.end]
    opening = text.find(b"<<<")
    if opening < 0:
        raise LaunchError(
            f"{kernel.name} is not launched with <<<…>>> in this file (a macro or a launcher does it)."
        )
    parts: list[Configuration] = []
    depth, begin, at = 0, opening + 3, opening + 3
    while at < len(text):
        byte = text[at : at + 1]
        if byte in (b"(", b"[", b"{"):
            depth += 1
        elif byte in (b")", b"]", b"}"):
            depth -= 1
        ends = depth == 0 and text[at : at + 3] == b">>>"
        if ends or (depth == 0 and byte == b","):
            parts.append(_trimmed(data, launch.span.start + begin, launch.span.start + at))
            begin = at + 1
        if ends:
            return tuple(parts)
        at += 1
    raise LaunchError(f"The launch of {kernel.name} in line {launch.span.first_line} is not complete.")


def parameter_of_count(kernel: Kernel, extents: Sequence[str]) -> str:
    """The parameter to which every launch gives just the extent of its grid along an axis; "" where there is none."""
    beside = any(launch.span == kernel.name_span for launch in kernel.launches)
    for position, parameter in enumerate(kernel.parameters):
        arguments = [x.arguments[position] if position < len(x.arguments) else "" for x in kernel.launches]
        if arguments == list(extents) and not beside and not parameter.pointer:
            return parameter.name
    return ""


def launch_edits(kernel: Kernel, launch: Launch, fields: Mapping[str, str]) -> tuple[Edit, ...]:
    """Edits that set launch fields at one site. Raises `LaunchError`.

    CUDA: `grid`, `block`, `shared_bytes`, expressions in the launcher's scope. Triton: `grid`, and keyword arguments of
    the call such as `num_warps`; none where the launch is told beside the text (`with_own_launch`).
    """
    if kernel.language is Language.TRITON:
        return () if launch.span == kernel.name_span else _triton_edits(kernel, launch, fields)
    unknown = set(fields) - set(CUDA_FIELDS)
    if unknown:
        raise LaunchError(f"A CUDA launch has no {min(unknown)}.")
    present = configuration(kernel, launch)
    edits: list[Edit] = []
    for position, name in enumerate(CUDA_FIELDS):
        if name not in fields:
            continue
        if position < len(present):
            edits.append(Edit(present[position].span, fields[name]))
        else:
            # Only shared_bytes can be missing: a launch always has a grid and a block.
            end = present[-1].span.end
            line = present[-1].span.last_line
            edits.append(Edit(Span(end, end, line, line), f", {fields[name]}"))
    return tuple(edits)


def allowance_edit(kernel: Kernel, launch: Launch, shared_bytes: int) -> Edit:
    """An edit that lets the kernel have so many bytes of dynamic shared memory, before the launch; without it a device
    refuses more than 48 KiB. Raises `LaunchError` where the launch is no statement of a block.
    """
    data, root = _data(kernel), kernel.source.root if kernel.source is not None else None
    statement = (
        root.descendant_for_byte_range(launch.span.start, launch.span.end) if root is not None else None
    )
    while statement is not None and statement.type != "expression_statement":
        statement = statement.parent
    if statement is None or statement.parent is None or statement.parent.type != "compound_statement":
        raise LaunchError(
            f"The launch in line {launch.span.first_line} needs a statement before it and is none of a block: "
            "put it between { and }."
        )
    name = (
        data[launch.span.start : configuration(kernel, launch)[0].span.start].decode().split("<<<")[0].strip()
    )
    at, line = statement.start_byte, statement.start_point.row + 1
    begin = data.rfind(b"\n", 0, at) + 1
    indent = data[begin:at] if not data[begin:at].strip() else b""
    newline = "\r\n" if data[max(begin - 2, 0) : begin] == b"\r\n" else "\n"
    text = f"cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared_bytes});"
    return Edit(Span(at, at, line, line), f"{text}{newline}{indent.decode()}")


def check_expression(kernel: Kernel, launch: Launch, name: str, expression: str) -> None:
    """Whether a launch expression from a model only computes with what the site computes with already.

    Raises `LaunchError` for a name, a call or a character that the site and its launcher do not use.
    """
    data = _data(kernel)
    place = launch.launcher_span or launch.span
    text = data[place.start : place.end].decode("utf-8", "replace")
    own = data[launch.span.start : launch.span.end].decode("utf-8", "replace")
    context = " ".join([own, *launch.definitions.values()])
    words = set(WORD.findall(text)) | set(launch.definitions) | {"dim3", "min", "max"}
    calls = set(re.findall(r"([A-Za-z_]\w*)\s*\(", context)) | {"dim3"} - {kernel.name}
    if kernel.language is Language.TRITON:
        words |= {"triton", "cdiv", "lambda", "meta"}
        calls |= {"cdiv", "min", "max"}
    calls.discard(kernel.name)
    if not re.fullmatch(r"""[\w\s+\-*/%(),.\[\]"':]*""", expression) or not expression.strip():
        raise LaunchError(f"The launch's {name} {expression!r} is no arithmetic expression.")
    for word in WORD.findall(expression):
        if word not in words:
            raise LaunchError(f"The launch's {name} uses {word}, which the launcher does not know.")
    for called in re.findall(r"([A-Za-z_]\w*)\s*\(", expression):
        if called not in calls:
            raise LaunchError(f"The launch's {name} calls {called}, which the launch does not call today.")
    _check_balanced(name, expression, python=kernel.language is Language.TRITON)


def _check_balanced(name: str, expression: str, *, python: bool) -> None:
    """An expression that closes a bracket of its surroundings, or adds an argument, would reach beyond its place."""
    if python:
        try:
            ast.parse(expression, mode="eval")
        except SyntaxError as error:
            raise LaunchError(f"The launch's {name} {expression!r} is no expression.") from error
        return
    depth = 0
    comment = "//" in expression or "/*" in expression
    for character in expression:
        depth += (character == "(") - (character == ")")
        if depth < 0 or (character == "," and depth == 0) or character in "[]\"':" or comment:
            raise LaunchError(f"The launch's {name} {expression!r} is not one expression.")
    if depth:
        raise LaunchError(f"The launch's {name} {expression!r} is not one expression.")


def _triton_edits(kernel: Kernel, launch: Launch, fields: Mapping[str, str]) -> tuple[Edit, ...]:
    data = _data(kernel)
    text = data[launch.span.start : launch.span.end].decode()
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise LaunchError(
            f"The launch in line {launch.span.first_line} does not parse: {error.msg}."
        ) from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
        raise LaunchError(
            f"{kernel.name} is not launched as {kernel.name}[grid](…) in line {launch.span.first_line}."
        )
    lines = text.encode().splitlines(keepends=True)
    starts = [launch.span.start + sum(map(len, lines[:n])) for n in range(len(lines) + 1)]

    def span(node: ast.expr) -> Span:
        assert node.end_lineno is not None and node.end_col_offset is not None
        first, last = node.lineno, node.end_lineno
        return Span(
            starts[first - 1] + node.col_offset,
            starts[last - 1] + node.end_col_offset,
            launch.span.first_line + first - 1,
            launch.span.first_line + last - 1,
        )

    edits: list[Edit] = []
    added: list[str] = []
    by_place = [] if any(isinstance(a, ast.Starred) for a in call.args) else call.args
    keywords = {p.name: a for p, a in zip(kernel.parameters, by_place, strict=False)}
    keywords |= {k.arg: k.value for k in call.keywords if k.arg}
    for name, expression in fields.items():
        if name == "grid":
            edits.append(Edit(span(call.func.slice), expression))
        elif name in ("block", "shared_bytes"):
            raise LaunchError(f"A Triton launch has no {name}; it has num_warps.")
        elif name in keywords:
            edits.append(Edit(span(keywords[name]), expression))
        else:
            added.append(f"{name}={expression}")
    if added:
        edits.append(_appended(call, launch, data, span, added))
    return tuple(sorted(edits, key=lambda e: e.span.start))


def _appended(call: ast.Call, launch: Launch, data: bytes, span, added: list[str]) -> Edit:  # type: ignore[no-untyped-def]
    """Keyword arguments after the last argument, on a line of their own where the last one has its own."""
    values = [*call.args, *(k.value for k in call.keywords)]
    if not values:
        end = launch.span.end - 1
        return Edit(Span(end, end, launch.span.last_line, launch.span.last_line), ", ".join(added))
    last = max((span(v) for v in values), key=lambda s: s.end)
    line = data[data.rfind(b"\n", 0, last.start) + 1 : last.start]
    own_line = last.first_line > launch.span.first_line and b"(" not in line
    indent = re.match(rb"[ \t]*", line)
    separator = f",\n{indent.group().decode()}" if own_line and indent else ", "
    return Edit(
        Span(last.end, last.end, last.last_line, last.last_line), "".join(separator + a for a in added)
    )


def _trimmed(data: bytes, start: int, end: int) -> Configuration:
    raw = data[start:end]
    start += len(raw) - len(raw.lstrip())
    text = raw.strip()
    first = data.count(b"\n", 0, start) + 1
    return Configuration(text.decode(), Span(start, start + len(text), first, first + text.count(b"\n")))


def _data(kernel: Kernel) -> bytes:
    if kernel.source is None:
        raise LaunchError(f"The file of {kernel.name} was not kept; read it again.")
    return kernel.source.data
