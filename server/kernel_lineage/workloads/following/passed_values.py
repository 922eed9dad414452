"""What a launch passes that is no number, as text: by it, a launch after a change is held to the one before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Pointer, Record, Tensor, Value
from kernel_lineage.workloads.following.written import tidy

_STATEMENTS = frozenset({"declaration", "expression_statement"})


def passed_values(launch: Launched, unit: Unit, leading: Collection[str]) -> Iterator[tuple[int, str]]:
    """By position, the buffers that a launch passes, with their offsets, and its structures.

    A structure is what is put into its fields; where a field is not read, the statements that name the structure.
    """
    for position, argued in enumerate(launch.arguments):
        value = argued.value
        if isinstance(value, (Pointer, Tensor)) and value.buffer is not None and value.buffer.name:
            offset = value.offset if isinstance(value, Pointer) else None
            at = tidy(offset.text) if offset is not None else "0"
            yield position, f"{value.buffer.name} + {at}"
        elif isinstance(value, Record):
            fields = [_field(name, part) for name, part in value.fields.items()]
            texts = [text for text in fields if text is not None]
            if len(texts) < len(fields):
                texts = list(_naming(argued.written, unit, leading))
            yield position, "; ".join(texts)


def moved(
    before: Mapping[int, str], after: Mapping[int, str], order: Sequence[str], former_order: Sequence[str]
) -> str:
    """The first argument of a workload that another buffer, or another structure, is passed for; "" for none.

    A buffer of a new name may be the old one: who passes it decides that.
    """
    old = {former_order[at]: text for at, text in before.items() if at < len(former_order)}
    buffers = {text.partition(" + ")[0] for text in old.values()}
    for at, text in after.items():
        name = order[at] if at < len(order) else ""
        earlier = old.get(name) if name else before.get(at)
        if earlier is None or earlier == text:
            continue
        if " + " not in text or text.partition(" + ")[0] in buffers:
            return name or earlier
    return ""


def _field(name: str, value: Value) -> str | None:
    if isinstance(value, Number):
        return f"{name} = {tidy(value.text)}"
    if isinstance(value, (Pointer, Tensor)) and value.buffer is not None and value.buffer.name:
        return f"{name} = {value.buffer.name}"
    return None


def _naming(variable: str, unit: Unit, leading: Collection[str]) -> Iterator[str]:
    """The statements that name a variable in functions that lead to a launch, the launch aside."""
    for function in sorted(leading):
        for code in unit.functions.get(function, ()):
            for node in inside(code.node) if code.of_host else ():
                text = " ".join(text_of(node).split())
                if node.type in _STATEMENTS and "<<<" not in text and variable in WORD.findall(text):
                    yield text
