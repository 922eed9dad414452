"""What a Triton kernel does with the buffers that it is given: loads, stores, or both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.kernels.linear_forms import Linear
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import (
    TritonCall,
    TritonSyntax,
    TritonUnit,
    pointer_of,
    triton_syntax,
)
from kernel_lineage.rewrite.drafting.model import Role

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
    """Whether it stands in the kernel itself."""


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
            form = unit.form(call.node.args[0])
            rest = {a: c for a, c in form.items() if not a.startswith("pointer:")}
            yield Touch(
                pointer_of(form),
                call.name == "load" or atomic,
                call.name != "load",
                rest,
                unit is syntax.entry,
            )
            continue
        callee = next((u for u in syntax.units[1:] if u.name == call.name), None)
        if callee is not None and depth:
            yield from _handed(syntax, unit, call, callee, depth)


def _handed(
    syntax: TritonSyntax, unit: TritonUnit, call: TritonCall, callee: TritonUnit, depth: int
) -> Iterator[Touch]:
    """What a function does with the pointers that it is handed."""
    names = [a.arg for a in (*callee.function.args.posonlyargs, *callee.function.args.args)]
    given = dict(zip(names, call.node.args, strict=False))
    given.update({k.arg: k.value for k in call.node.keywords if k.arg})
    for touch in _touches(syntax, callee, depth - 1):
        if touch.pointer in given:
            pointer = pointer_of(unit.form(given[touch.pointer]))
            yield Touch(pointer, touch.reads, touch.writes, touch.form, own=False)
