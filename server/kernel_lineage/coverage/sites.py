"""What the launch sites of a folder say about a kernel, wherever in the folder they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernel_lineage.kernels.source import Launch, SourceFile
from kernel_lineage.kernels.words import WORD


@dataclass(frozen=True, slots=True)
class Sites:
    """By kernel name."""

    templates: dict[str, list[list[str]]] = field(default_factory=dict)
    """CUDA: distinct template arguments, local constants put in."""
    options: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """Triton: constexpr values and options as written, local names put in."""


def sites_of(sources: Iterable[SourceFile]) -> Sites:
    """Gather every launch of some files."""
    sites = Sites()
    for source in sources:
        for launch in source.launches:
            if launch.template_arguments:
                for arguments in _through_launcher(source, launch):
                    _keep(sites.templates, launch.kernel, arguments)
            if launch.options:
                values = (_followed(text, launch.definitions) for text in launch.options.values())
                _keep(sites.options, launch.kernel, dict(zip(launch.options, values, strict=True)))
    return sites


def _keep(where: dict[str, list[Any]], kernel: str, value: Any) -> None:
    values = where.setdefault(kernel, [])
    if value not in values:
        values.append(value)


def _through_launcher(source: SourceFile, launch: Launch) -> Iterator[list[str]]:
    """A site's template arguments; a parameter of its launcher's template as the launcher's callers give it."""
    arguments = [_followed(text, launch.definitions) for text in launch.template_arguments]
    name = (launch.launcher or "").rsplit("::", 1)[-1]
    text = source.data.decode("utf-8", "replace")
    head = (
        re.search(rf"template\s*<([^<>;{{}}]*)>[^;{{}}()]*\b{re.escape(name)}\s*\(", text) if name else None
    )
    parameters = [part.split()[-1] for part in head[1].split(",")] if head and head[1].strip() else []
    if not set(parameters) & set(arguments):
        yield arguments
        return
    for call in re.finditer(rf"\b{re.escape(name)}\s*<([^<>;{{}}()]*)>\s*\(", text):
        bindings = dict(zip(parameters, [part.strip() for part in call[1].split(",")], strict=False))
        yield [bindings.get(a, a) for a in arguments]


def _followed(text: str, definitions: Mapping[str, str], depth: int = 4) -> str:
    """A name that the launcher defines, replaced by what it is defined as."""
    while depth and WORD.fullmatch(text) and text in definitions:
        text, depth = definitions[text].strip(), depth - 1
    return text
