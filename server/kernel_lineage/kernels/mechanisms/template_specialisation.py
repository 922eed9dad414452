"""Choices made at compile time: template values, `if constexpr`, and branches on `tl.constexpr`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import arguments_of, text_of
from kernel_lineage.kernels.cuda_nodes import descendants
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in, seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry, in_units, joined, of_kernel

_IS_NUMBER = re.compile(r"\b(\w+)\s*==\s*(\d+)")


def _on_kernel(kernel: Kernel) -> Iterator[Site]:
    for parameter in kernel.template_parameters:
        if parameter.type is not None:
            yield seen_on(kernel, f"{parameter.name} is a compile-time {parameter.type}", by="parameter")


def _in_unit(unit: Unit) -> Iterator[Site]:
    for node in unit.of("if_statement"):
        if any(child.type == "constexpr" for child in node.children):
            yield seen(node, "if constexpr", by="branch")
        elif (numbers := _handed_on(node)) is not None:
            yield seen(node, f"{numbers} handed on as numbers where the arguments are these", by="argument")


def _handed_on(branch: Node) -> str | None:
    """`k == 3` of `if (k == 3) work(x, 3); else work(x, k);`; None for other branches."""
    condition, then, otherwise = (
        branch.child_by_field_name(field) for field in ("condition", "consequence", "alternative")
    )
    if condition is None or then is None or otherwise is None:
        return None
    compared = {m[1]: m[2] for m in _IS_NUMBER.finditer(text_of(condition))}
    usual, general = _calls(then), _calls(otherwise)
    for name, passed in usual.items():
        pairs = list(zip(passed, general.get(name, ()), strict=False))
        settled = [other for number, other in pairs if compared.get(other) == number]
        if settled:
            return ", ".join(f"{other} == {compared[other]}" for other in settled)
    return None


def _calls(node: Node) -> dict[str, list[str]]:
    """The function of each call, and its arguments."""
    calls = (n for n in descendants(node) if n.type == "call_expression")
    return {text_of(c.child_by_field_name("function")): [text_of(a) for a in arguments_of(c)] for c in calls}


def _in_entry(entry: TritonUnit) -> Iterator[Site]:
    constants = {p.name for p in entry.kernel.parameters if p.constexpr}
    names: set[str] = set()
    for test in (*entry.nodes.get(ast.If, ()), *entry.nodes.get(ast.IfExp, ())):
        if isinstance(test, ast.If | ast.IfExp):
            for name in sorted(entry.names_in(test.test) & constants - names):
                names.add(name)
                yield seen_in(entry, test.test, f"branches on the constant {name}", by="constant")


MECHANISM = Mechanism(
    title="Compile-time specialisation",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Compiles one variant per case, so that branches vanish and loops have known lengths.",
    looks_for="Template parameters that are values, `if constexpr`, branches on `tl.constexpr` parameters, and "
    "functions that get a number where an argument is that number.",
    detect=joined(of_kernel(_on_kernel, *Language), in_units(_in_unit), in_entry(in_triton=_in_entry)),
    counted=True,
    conditions=(
        validity(
            "launch.block.x in (64, 128, 256, 512, 1024)",
            "shape",
            "Only the sizes that were compiled can be launched.",
        ),
        profit("kernel.spills == 0", "pipeline", "Fully unrolled variants need registers."),
    ),
)
