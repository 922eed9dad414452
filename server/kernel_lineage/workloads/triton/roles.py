"""What a Triton kernel does with the buffers that it is given: loads, stores, or both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.kernels.linear_forms import Linear
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import TritonCall, dotted
from kernel_lineage.kernels.triton_syntax import TritonSyntax, TritonUnit, pointer_of, triton_syntax
from kernel_lineage.workloads.model import Role
from kernel_lineage.workloads.triton.windows import WINDOWS

_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Touch:
    """One place where a pointer parameter of the kernel is loaded from or stored to."""

    pointer: str
    reads: bool
    writes: bool
    form: Linear
    """The address as a linear form of the function that it stands in, the pointer left out."""
    own: bool
    """Whether it stands in the kernel itself, and `form` is all of its address: not so through a block pointer."""


def touches_of(kernel: Kernel) -> tuple[Touch, ...]:
    """Every place where the kernel, or a function that it calls, loads or stores."""
    syntax = triton_syntax(kernel)
    return tuple(_touches(syntax, syntax.entry, _DEPTH)) if syntax is not None else ()


def roles_of(touches: tuple[Touch, ...]) -> dict[str, Role]:
    """Pointer parameter → its role; one that is not seen to be touched is left out."""
    roles: dict[str, Role] = {}
    for name in dict.fromkeys(t.pointer for t in touches):
        reads = any(t.reads for t in touches if t.pointer == name)
        writes = any(t.writes for t in touches if t.pointer == name)
        roles[name] = "inout" if reads and writes else "output" if writes else "input"
    return roles


def _touches(syntax: TritonSyntax, unit: TritonUnit, depth: int) -> Iterator[Touch]:
    for call in unit.calls:
        if not call.node.args:
            continue
        if call.of_language and (call.name in ("load", "store") or call.name.startswith("atomic_")):
            atomic = call.name.startswith("atomic_")
            address = call.node.args[0]
            base = _base_of_window(unit, address, _DEPTH)
            form = unit.form(base if base is not None else address)
            rest = {a: c for a, c in form.items() if not a.startswith("pointer:")}
            yield Touch(
                pointer_of(form),
                call.name == "load" or atomic,
                call.name != "load",
                rest,
                unit is syntax.entry and base is None,
            )
            continue
        if (touch := _described(unit, call)) is not None:
            yield touch
            continue
        callee = next((u for u in syntax.units[1:] if u.name == call.name), None)
        if callee is not None and depth:
            yield from _handed(syntax, unit, call, callee, depth)


_DESCRIBED = frozenset({"load", "store", "gather", "scatter", "atomic_add", "atomic_max", "atomic_min"})


def _described(unit: TritonUnit, call: TritonCall) -> Touch | None:
    """`desc.load(offsets)` of a tensor descriptor that the kernel has made, or is given."""
    func = call.node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _DESCRIBED or call.of_language:
        return None
    base = _base_of_window(unit, func.value, _DEPTH)
    pointer = pointer_of(unit.form(base)) if base is not None else _parameter(unit, func.value)
    reads = func.attr in ("load", "gather")
    return Touch(pointer, reads or "atomic" in func.attr, not reads, {}, own=False) if pointer else None


def _parameter(unit: TritonUnit, value: ast.expr) -> str:
    """The parameter of a function that an expression is; "" for others."""
    if not isinstance(value, ast.Name) or unit.value_of(value.id, value.lineno) is not None:
        return ""
    arguments = unit.function.args
    return value.id if value.id in {a.arg for a in (*arguments.posonlyargs, *arguments.args)} else ""


def _handed(
    syntax: TritonSyntax, unit: TritonUnit, call: TritonCall, callee: TritonUnit, depth: int
) -> Iterator[Touch]:
    """What a function does with the pointers that it is handed."""
    names = [a.arg for a in (*callee.function.args.posonlyargs, *callee.function.args.args)]
    arguments = dict(zip(names, call.node.args, strict=False))
    arguments.update({k.arg: k.value for k in call.node.keywords if k.arg})
    for touch in _touches(syntax, callee, depth - 1):
        if touch.pointer in arguments:
            base = _base_of_window(unit, arguments[touch.pointer], _DEPTH)
            pointer = pointer_of(unit.form(base if base is not None else arguments[touch.pointer]))
            yield Touch(pointer, touch.reads, touch.writes, touch.form, own=False)


def _base_of_window(unit: TritonUnit, address: ast.expr, depth: int) -> ast.expr | None:
    """Where the tensor of a block pointer begins: `q + i * T` of `tl.make_block_ptr(q + i * T, …)`, moved or not."""
    match address:
        case ast.Name() if depth:
            value = unit.value_of(address.id, address.lineno)
            return _base_of_window(unit, value[1], depth - 1) if value is not None else None
        case ast.IfExp(body=body) if depth:
            return _base_of_window(unit, body, depth - 1)
        case ast.Call():
            name = dotted(address.func).rpartition(".")[2]
            first = next((k.value for k in address.keywords if k.arg == "base"), None)
            first = address.args[0] if address.args else first
            if first is None or name in WINDOWS:
                return first
            return _base_of_window(unit, first, depth - 1) if name == "advance" and depth else None
    return None
