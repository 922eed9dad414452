"""CUDA C++: the device code that one kernel can be compiled from, the file as it stands first.

A kernel that the preprocessor leaves out is tried with each macro toggled that the file tests; a header that does not
stand alone is tried through the file that launches its kernels; a template that no site names is drafted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_gate.files.reading import read_file
from kernel_gate.program import Program
from kernel_lineage.kernels.cuda_outline import What, outline
from kernel_lineage.kernels.cuda_text import text_of
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Kernel, SourceFile

Resolve = Callable[[str], bytes | None]
_TESTED = re.compile(r"^[ \t]*#[ \t]*(?:ifn?def[ \t]+(\w+)|(?:el)?if\b(.*))$", re.MULTILINE)
_DEFINED = re.compile(r"defined[ \t]*\(?[ \t]*(\w+)")
_INSTANCES_MOST = 4
_TOGGLED_MOST = 4
_NUMBERS = ("64", "128", "32", "8")
"""Values for a number that a template takes and that no site tells; a draft only has to compile."""


def resolver(root: Path, path: Path) -> Resolve:
    """Headers beside the file, in the folder, and in an `include` folder above it; never outside."""
    folder = (root / path).parent
    bases = [folder, *(p for p in folder.parents if p.is_relative_to(root))]
    places = [*bases, *(base / "include" for base in bases)]

    def resolve(header: str) -> bytes | None:
        for place in places:
            target = (place / header).resolve()
            if target.is_relative_to(root) and target.is_file():
                return read_file(target, within=root)
        return None

    return resolve


def attempts(
    source: SourceFile, kernel: Kernel, root: Path, path: Path, told: Mapping[str, Any]
) -> Iterator[list[Program]]:
    """Programs to try: the first list that compiles, in whole or in part, says what the kernel is made of."""
    instances: list[list[str]] = [list(a) for a in told.get("templates", [])][:_INSTANCES_MOST]
    drafted = [[arguments] for arguments in drafted_instances(kernel)]
    for tried in [instances, *drafted] if instances else drafted:
        yield [_program(source, kernel.name, root, path, arguments) for arguments in tried]
    for other in told.get("launched_in", []):
        if other != str(path) and (root / other).is_file():
            data = read_file(root / other, within=root)
            language = language_of(other, data)
            if language is not None:
                launching = read(data, language)
                yield [
                    _program(launching, kernel.name, root, Path(other), a) for a in instances or drafted[0]
                ]
    for arguments in (instances or drafted[0])[:1]:
        plain = _program(source, kernel.name, root, path, arguments)
        for text in _toggled(plain.source):
            yield [_with_source(plain, text)]


def _program(source: SourceFile, kernel: str, root: Path, path: Path, arguments: Sequence[str]) -> Program:
    cut = device_slice(source, kernel, resolver(root, path), path.name, arguments)
    declared = (d for d in outline(text_of(cut.text.encode())) if d.what is What.FUNCTION and d.defined)
    namespace = next((d.namespace for d in declared if d.name == kernel), "")
    entry = f"{namespace}::{kernel}" if namespace else kernel
    return Program("cuda", cut.text, entry, template_arguments=tuple(arguments), name=path.name)


def _with_source(program: Program, text: str) -> Program:
    return Program(
        "cuda", text, program.entry, template_arguments=program.template_arguments, name=program.name
    )


def drafted_instances(kernel: Kernel) -> Iterator[list[str]]:
    """Arguments of a template: `float` for types, `false` for flags, some numbers; none for defaults."""
    given = [p for p in kernel.template_parameters if p.default is None]
    if not any(p.type for p in given):
        yield ["float" for _ in given]
        return
    for number in _NUMBERS:
        yield [
            "float" if p.type is None else "false" if "bool" in p.type else number
            for p in given
        ]  # fmt: skip


def _toggled(text: str) -> Iterator[str]:
    """The text with one of the macros that its conditionals test defined where it is not, and the reverse."""
    tested: dict[str, None] = {}
    for match in _TESTED.finditer(text):
        names = [match[1]] if match[1] else _DEFINED.findall(match[2] or "")
        tested.update(dict.fromkeys(name for name in names if not name.startswith("__")))
    for name in list(tested)[:_TOGGLED_MOST]:
        definition = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b.*$", re.MULTILINE)
        yield definition.sub("", text) if definition.search(text) else f"#define {name}\n{text}"
