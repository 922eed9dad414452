"""Kernels whose head is a macro with arguments: `#define DEFINE_KERNEL(name, …) … __global__ void name(…)`, then
`DEFINE_KERNEL(forward, …) { … }`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_lineage.kernels.cuda_launches import bind, substituted
from kernel_lineage.kernels.cuda_outline import Declaration, What, outline
from kernel_lineage.kernels.cuda_parameters import parameters, template_parameters
from kernel_lineage.kernels.cuda_text import Macro, Text, arguments, text_of
from kernel_lineage.kernels.source import Parameter, TemplateParameter


@dataclass(frozen=True, slots=True)
class MacroHead:
    """A kernel under its own name, with what the macro's body says of it."""

    declaration: Declaration
    parameters: tuple[Parameter, ...]
    template_parameters: tuple[TemplateParameter, ...]


def macro_heads(
    text: Text, functions: Sequence[Declaration], aliases: Mapping[str, str]
) -> dict[int, MacroHead]:
    """The kernels among functions whose head is an invocation of a macro, by where they start."""
    defining = {m.name: m for m in text.macros if m.parameters and "__global__" in m.body}
    heads: dict[int, MacroHead] = {}
    for function in functions:
        macro = defining.get(function.name)
        head = _expanded(text, function, macro, aliases) if macro is not None else None
        if head is not None:
            heads[function.start] = head
    return heads


def _expanded(text: Text, head: Declaration, macro: Macro, aliases: Mapping[str, str]) -> MacroHead | None:
    actuals = arguments(text.read(*head.parameters))
    expansion = re.sub(r"\s*##\s*", "", substituted(macro.body, bind(macro.parameters or (), actuals)))
    read = text_of((expansion + " {}").encode())
    declared = [d for d in outline(read) if d.what is What.FUNCTION]
    if not declared:
        return None
    inner = declared[-1]
    at = text.code.find(inner.name.encode(), *head.parameters)
    name_at = (at, at + len(inner.name)) if at >= 0 else head.name_at
    place = text.span(*head.parameters)
    return MacroHead(
        replace(head, name=inner.name, name_at=name_at, parameters=(head.parameters[0], head.parameters[0])),
        tuple(replace(p, span=place) for p in parameters(read, inner.parameters, aliases)),
        template_parameters(read, inner.start, inner.head_end),
    )
