"""CUDA C++ source → kernels, launches and device functions.

Extents come from bracket structure (`cuda_outline`), because a macro at the level of declarations makes a grammar lose
its footing; within them tree-sitter-cuda gives the nodes. Where its tree of the whole file has no node for a kernel,
the kernel is parsed by itself, at its own place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Tree

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_launches import launches
from kernel_lineage.kernels.cuda_macro_heads import MacroHead, macro_heads
from kernel_lineage.kernels.cuda_nodes import definition_node
from kernel_lineage.kernels.cuda_outline import Declaration, What, outline
from kernel_lineage.kernels.cuda_parameters import (
    of_one_meaning,
    parameters,
    template_parameters,
    type_meanings,
)
from kernel_lineage.kernels.cuda_text import Text, closing, one_line, text_of
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.kernels.source import DeviceFunction, Kernel, Language, Launch, Problem, SourceFile
from kernel_lineage.kernels.words import WORD_OF_BYTES

_BOUNDS = re.compile(rb"\b(__launch_bounds__|__cluster_dims__|__block_size__|__maxnreg__)\s*\(")
_COMMENT_LINE = re.compile(r"^\s*(?://[/!]*<?|\*(?!/))\s?")


def parse(data: bytes, tree: Tree | None = None) -> SourceFile:
    """All that is seen of a CUDA C++ file; a tree of the same bytes saves the parse. Never raises on content."""
    text = text_of(data)
    if tree is None:
        tree, _ = parsed(data, masked=lambda: text.masked)
    declarations = outline(text)
    functions = [d for d in declarations if d.what is What.FUNCTION and d.defined]
    global_words, device_words = _qualifiers(text)
    aliases = of_one_meaning(type_meanings(text))
    by_macro = macro_heads(text, functions, aliases)
    functions = [by_macro[f.start].declaration if f.start in by_macro else f for f in functions]
    kernel_heads = [f for f in functions if f.start in by_macro or _has_word(text, f, global_words)]
    device_heads = [f for f in functions if _has_word(text, f, device_words) and f not in kernel_heads]
    names = frozenset(f.name for f in kernel_heads)
    launched = _launches(data, text, functions, names)
    joined = _by_kernel(launched)
    reached = _Reach(text, device_heads)
    problems = list(_problems(text, declarations))
    devices = tuple(
        DeviceFunction(f.name, text.span(f.start, f.end), text.read(f.start, f.end)) for f in device_heads
    )
    source = SourceFile(Language.CUDA, data, (), launched, devices, tuple(problems), tree.root_node)
    kernels = tuple(
        _kernel(text, head, source, aliases, joined, reached, by_macro.get(head.start))
        for head in kernel_heads
    )
    # A frozen value that holds values which point back at it: set once, before anyone sees it.
    object.__setattr__(source, "kernels", kernels)
    return source


def _launches(
    data: bytes, text: Text, functions: Sequence[Declaration], names: frozenset[str]
) -> tuple[Launch, ...]:
    """The launches; a formatter that knows no CUDA writes `<< <grid, block >> >`, which compilers take as well."""
    if b"<< <" in data:
        data = data.replace(b"<< <", b"<<< ").replace(b">> >", b">>> ")
        text = text_of(data)
    return launches(text, functions, names) if b"<<<" in data or b"cudaLaunch" in data else ()


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
    return not words.isdisjoint(WORD_OF_BYTES.findall(head))


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
    source: SourceFile,
    aliases: Mapping[str, str],
    joined: Mapping[str, list[Launch]],
    reached: _Reach,
    by_macro: MacroHead | None,
) -> Kernel:
    return Kernel(
        language=Language.CUDA,
        name=head.name,
        span=text.span(head.start, head.end),
        name_span=text.span(*head.name_at),
        body_span=text.span(head.head_end, head.end),
        text=text.read(head.start, head.end),
        parameters=by_macro.parameters if by_macro else parameters(text, head.parameters, aliases),
        template_parameters=(
            by_macro.template_parameters if by_macro else template_parameters(text, head.start, head.head_end)
        ),
        attributes=_attributes(text, head),
        comment=comment_above(text, head.start),
        launches=tuple(joined.get(head.name, ())),
        device_functions=reached.of(head),
        node=definition_node(text, source.root, head) if source.root is not None else None,
        source=source,
    )


def _attributes(text: Text, head: Declaration) -> dict[str, str]:
    attributes: dict[str, str] = {}
    code = text.code[head.start : head.head_end]
    for match in _BOUNDS.finditer(code):
        close = closing(code, match.end() - 1)
        if close is not None:
            name = match.group(1).strip(b"_").decode()
            attributes[name] = one_line(text.data[head.start + match.end() : head.start + close])
    words = set(WORD_OF_BYTES.findall(text.code[head.start : head.name_at[0]]))
    if b"extern" in words or head.extern_c:
        attributes["extern_c"] = "true"
    for word in (b"static", b"inline"):
        if word in words:
            attributes[word.decode()] = "true"
    if head.namespace:
        attributes["namespace"] = head.namespace
    return attributes


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
        if not self._names:
            return ()
        reached = reachable(
            self._called(function),
            lambda name: (n for f in self._devices if f.name.encode() == name for n in self._called(f)),
        )
        return tuple(dict.fromkeys(f.name for f in self._devices if f.name.encode() in reached))

    def _called(self, function: Declaration) -> frozenset[bytes]:
        if function.start not in self._direct:
            words = set(WORD_OF_BYTES.findall(self._text.code, function.head_end, function.end))
            self._direct[function.start] = frozenset(words & self._names)
        return self._direct[function.start]
