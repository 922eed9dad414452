"""Inline assembly: what it gives and reaches is not known, but for the special registers."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.places import Evaluates, store
from kernel_lineage.code.values import INT32, UINT32, Int, Opaque, Pointer, Value, unknown
from kernel_lineage.kernels.cuda_forms import text_of


def assembled(at: Evaluates, node: Node) -> Value:
    """Inline assembly: what it gives is not known, but for the special registers; its addresses are unknown."""
    text = text_of(node.child_by_field_name("assembly_code") or node)
    name = text.strip('"').split(None, 1)[0] if text.strip('"').split() else "asm"
    at.scope.event("asm", name)
    rank, _ = linear_thread(at.scope.setting.launch.block)
    for operand in _operands(node, "gnu_asm_input_operand"):
        value = at.value(operand)
        if (
            isinstance(value, Pointer)
            and value.space != "local"
            and re.search(r"\b(?:ld|st|cp|red|atom)\b", text)
        ):
            atomic = re.search(r"\b(?:red|atom)\b", text) is not None
            writes = atomic or "st" in name.split(".")
            at.scope.access(node, value, reads=not writes or atomic, writes=writes, atomic=atomic,
                              via=name, why="the address and width are those of inline assembly")  # fmt: skip
    for operand in _operands(node, "gnu_asm_output_operand"):
        registers = {"%laneid": terms.mod(rank, Num(32)), "%warpid": terms.floor_div(rank, Num(32))}
        term = next((t for register, t in registers.items() if register in text), None)
        reason = f"inline assembly on line {at.scope.line(node)} sets it"
        value = Int(term, UINT32) if term is not None else unknown(at.scope.model, "value", INT32, reason)
        held = at.scope.variables.get(text_of(operand))
        if isinstance(held, Int):
            store(at, operand, value)
    return Opaque()


def linear_thread(block: tuple[Term, Term, Term]) -> tuple[Term, Term]:
    """The rank of a thread within its block, and the number of threads."""
    axes = [
        Num(0) if extent == Num(1) else Var(f"threadIdx.{axis}")
        for axis, extent in zip("xyz", block, strict=True)
    ]
    rank: Term = terms.add(axes[0], terms.mul(block[0], terms.add(axes[1], terms.mul(block[1], axes[2]))))
    return rank, terms.mul(block[0], terms.mul(block[1], block[2]))


def _operands(node: Node, kind: str) -> list[Node]:
    """The expressions of an assembly statement's operands."""
    waiting, operands = [node], []
    while waiting:
        here = waiting.pop(0)
        if here.type == kind:
            operands += [
                c for c in here.named_children if c.type not in ("string_literal", "concatenated_string")
            ][-1:]
        else:
            waiting += here.named_children
    return operands
