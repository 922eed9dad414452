"""CUDA C++ source → kernels, launches and device functions.

Extents come from bracket structure (`cuda_outline`), because a macro at the level of declarations makes a grammar lose
its footing; within them tree-sitter-cuda gives the nodes. Where its tree of the whole file has no node for a kernel,
the kernel is parsed by itself, at its own place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point, Range, Tree

from kernel_lineage.kernels.cuda_launches import launches
from kernel_lineage.kernels.cuda_outline import Declaration, What, outline
from kernel_lineage.kernels.cuda_parameters import parameters, template_parameters, type_aliases
from kernel_lineage.kernels.cuda_text import Text, closing, one_line, text_of
from kernel_lineage.kernels.source import DeviceFunction, Kernel, Language, Launch, Problem, SourceFile

_BOUNDS = re.compile(rb"\b(__launch_bounds__|__cluster_dims__|__block_size__|__maxnreg__)\s*\(")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_COMMENT_LINE = re.compile(r"^\s*(?://[/!]*<?|\*(?!/))\s?")


@cache
def grammar() -> Grammar:
    """The grammar of tree-sitter-cuda."""
    return Grammar(tree_sitter_cuda.language())


def parse(data: bytes, tree: Tree | None = None) -> SourceFile:
    """All that is seen of a CUDA C++ file; a tree of the same bytes saves the parse. Never raises on content."""
    text = text_of(data)
    if tree is None:
        tree = Parser(grammar()).parse(data)
    declarations = outline(text)
    functions = [d for d in declarations if d.what is What.FUNCTION and d.defined]
    global_words, device_words = _qualifiers(text)
    kernel_heads = [f for f in functions if _has_word(text, f, global_words)]
    device_heads = [f for f in functions if _has_word(text, f, device_words) and f not in kernel_heads]
    names = frozenset(f.name for f in kernel_heads)
    launched = launches(text, functions, names) if b"<<<" in data or b"cudaLaunch" in data else ()
    joined = _by_kernel(launched)
    reached = _Reach(text, device_heads)
    aliases = type_aliases(text)
    problems = list(_problems(text, declarations))
    kernels = [_kernel(text, head, tree.root_node, aliases, joined, reached) for head in kernel_heads]
    devices = tuple(
        DeviceFunction(f.name, text.span(f.start, f.end), text.read(f.start, f.end)) for f in device_heads
    )
    source = SourceFile(Language.CUDA, data, (), launched, devices, tuple(problems), tree.root_node)
    bound = tuple(replace(kernel, source=source) for kernel in kernels)
    # A frozen value that holds values which point back at it: set once, before anyone sees it.
    object.__setattr__(source, "kernels", bound)
    return source


def _by_kernel(launched: Sequence[Launch]) -> Mapping[str, list[Launch]]:
    joined: dict[str, list[Launch]] = {}
    for launch in launched:
        joined.setdefault(launch.kernel, []).append(launch)
    return joined


def _qualifiers(text: Text) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The words that make a kernel and a device function: CUDA's own and macros that stand for them."""
    of_kernel, of_device = {b"__global__"}, {b"__device__"}
    for macro in text.macros:
        if macro.parameters is None:
            if "__global__" in macro.body:
                of_kernel.add(macro.name.encode())
            elif "__device__" in macro.body:
                of_device.add(macro.name.encode())
    return frozenset(of_kernel), frozenset(of_device)


def _has_word(text: Text, function: Declaration, words: frozenset[bytes]) -> bool:
    head = text.code[function.start : function.name_at[0]]
    return not words.isdisjoint(_WORD.findall(head))


def _problems(text: Text, declarations: Sequence[Declaration]) -> Iterator[Problem]:
    try:
        text.data.decode()
    except UnicodeDecodeError as error:
        yield Problem(f"not UTF-8 at byte {error.start}; the bytes there are shown as replacement characters")
    for declaration in declarations:
        if not declaration.closed:
            what = f"`{declaration.name}`" if declaration.name else "a block"
            yield Problem(
                f"{what} is not closed; it is read up to where the next kernel begins",
                text.span(declaration.start, declaration.head_end),
            )


def _kernel(
    text: Text,
    head: Declaration,
    root: Node,
    aliases: Mapping[str, str],
    joined: Mapping[str, list[Launch]],
    reached: _Reach,
) -> Kernel:
    return Kernel(
        language=Language.CUDA,
        name=head.name,
        span=text.span(head.start, head.end),
        name_span=text.span(*head.name_at),
        body_span=text.span(head.head_end, head.end),
        text=text.read(head.start, head.end),
        parameters=parameters(text, head.parameters, aliases),
        template_parameters=template_parameters(text, head.start, head.head_end),
        attributes=_attributes(text, head),
        comment=comment_above(text, head.start),
        launches=tuple(joined.get(head.name, ())),
        device_functions=reached.of(head),
        node=definition_node(text, root, head),
    )


def definition_node(text: Text, root: Node, head: Declaration) -> Node | None:
    """The `function_definition` of a function: from the tree of the file, else from a parse of its extent alone."""
    node = root.descendant_for_byte_range(*head.name_at)
    while node is not None and node.type != "function_definition":
        node = node.parent
    if (
        node is not None
        and node.start_byte >= head.start
        and node.end_byte == head.end
        and _has_body_at(node, head)
    ):
        return node
    starts = text.line_starts
    first, last = text.span(head.start, head.start).first_line, text.span(head.end - 1, head.end).last_line
    extent = Range(
        Point(first - 1, head.start - starts[first - 1]),
        Point(last - 1, head.end - starts[last - 1]),
        head.start,
        head.end,
    )
    alone = Parser(grammar(), included_ranges=[extent]).parse(text.data).root_node
    for child in _outer_nodes(alone):
        if child.type == "function_definition":
            return child
    return alone


def _has_body_at(node: Node, head: Declaration) -> bool:
    body = node.child_by_field_name("body")
    return body is not None and body.start_byte == head.head_end


def _outer_nodes(root: Node) -> Iterator[Node]:
    for child in root.named_children:
        yield child
        if child.type in ("template_declaration", "linkage_specification", "ERROR"):
            yield from _outer_nodes(child)


def _attributes(text: Text, head: Declaration) -> dict[str, str]:
    found: dict[str, str] = {}
    code = text.code[head.start : head.head_end]
    for match in _BOUNDS.finditer(code):
        close = closing(code, match.end() - 1)
        if close is not None:
            name = match.group(1).strip(b"_").decode()
            found[name] = one_line(text.data[head.start + match.end() : head.start + close])
    words = set(_WORD.findall(text.code[head.start : head.name_at[0]]))
    if b"extern" in words or re.search(rb'extern\s*"C"\s*\{?\s*\Z', text.data[: head.start][-40:]):
        found["extern_c"] = "true"
    for word in (b"static", b"inline"):
        if word in words:
            found[word.decode()] = "true"
    if head.namespace:
        found["namespace"] = head.namespace
    return found


def comment_above(text: Text, start: int) -> str:
    """The comment directly above an offset, without comment marks; "" when a blank line or code is in between."""
    line = text.span(start, start).first_line
    collected: list[str] = []
    starts = text.line_starts
    in_block = False
    for index in range(line - 2, -1, -1):
        raw = text.data[starts[index] : starts[index + 1]].decode("utf-8", "replace").rstrip()
        blank_code = not text.masked[starts[index] : starts[index + 1]].strip()
        stripped = raw.strip()
        if not blank_code or (not stripped and not in_block):
            break
        if stripped.endswith("*/") and not stripped.startswith(("/*", "//")):
            in_block = True
        if stripped.startswith("/*"):
            in_block = False
        collected.append(raw)
    lines = [
        _COMMENT_LINE.sub("", re.sub(r"\s*\*+/$", "", re.sub(r"^\s*/\*+!?", "", raw)))
        for raw in reversed(collected)
    ]
    return "\n".join(line.rstrip() for line in lines).strip()


class _Reach:
    """Which device functions a function reaches by name."""

    def __init__(self, text: Text, devices: Sequence[Declaration]) -> None:
        self._text = text
        self._devices = devices
        self._names = {f.name.encode() for f in devices}
        self._direct: dict[int, frozenset[bytes]] = {}

    def of(self, function: Declaration) -> tuple[str, ...]:
        seen: set[bytes] = set()
        waiting = [function]
        while waiting:
            current = waiting.pop()
            for name in self._called(current) - seen:
                seen.add(name)
                waiting.extend(f for f in self._devices if f.name.encode() == name)
        return tuple(dict.fromkeys(f.name for f in self._devices if f.name.encode() in seen))

    def _called(self, function: Declaration) -> frozenset[bytes]:
        if function.start not in self._direct:
            words = set(_WORD.findall(self._text.code, function.head_end, function.end))
            self._direct[function.start] = frozenset(words & self._names)
        return self._direct[function.start]


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel's place in a file, found without parsing the file."""

    name: str
    start: int
    end: int
    text: bytes


def kernel_texts(data: bytes) -> tuple[KernelText, ...]:
    """The kernels of a file by bracket structure alone, in order: several times faster than `parse`.

    For history, where most kernels of a blob were already seen in another. Extents are those of `parse`.
    """
    if b"__global__" not in data:
        return ()
    text = text_of(data)
    return tuple(
        KernelText(d.name, d.start, d.end, data[d.start : d.end])
        for d in outline(text)
        if d.what is What.FUNCTION and d.defined and _has_word(text, d, frozenset({b"__global__"}))
    )
