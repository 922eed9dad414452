"""Values that all threads read, kept in the constant cache."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel

_GRID_CONSTANT = re.compile(r"\b__grid_constant__\b")
_DECLARED = re.compile(rb"^[^/\n\"]*\b__constant__\s[^;=]*?(\w+)\s*(?:\[[^;]*?\])?\s*(?:=|;)", re.MULTILINE)


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return
    head = kernel.text[: kernel.text.find("{")]
    for number, _ in enumerate(_GRID_CONSTANT.findall(head)):
        yield seen_on(kernel, f"parameter {number + 1} that is the same for the whole grid", by="parameter")
    data = kernel.source.data if kernel.source is not None else b""
    names = (
        {match[1].decode("utf-8", "replace") for match in _DECLARED.finditer(data)}
        if b"__constant__" in data
        else set()
    )
    for unit in syntax.units if names else ():
        for node in unit.of("subscript_expression"):
            name = text_of(node.child_by_field_name("argument"))
            if name in names:
                yield seen(node, f"{name} is read from constant memory", name)


MECHANISM = Mechanism(
    title="Constant memory",
    direction=Direction.MEMORY_ACCESS,
    summary="Keeps what all threads of a warp read alike in the constant cache, which hands it to them in one go.",
    looks_for="Reads of `__constant__` arrays and `__grid_constant__` parameters.",
    detect=of_kernel(_detect, Language.CUDA),
    counted=True,
    conditions=(
        profit("launch.grid.x >= device.sms", "hardware", "The cache pays when many blocks read the same."),
        validity("N <= 16384", "storage", "Constant memory holds 64 KB."),
    ),
)
