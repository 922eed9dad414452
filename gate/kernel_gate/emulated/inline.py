"""Calls → one flat body. A call's parameter slots are the callee's parameters, so nothing is copied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kernel_gate.emulated.ptx.model import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
)


@dataclass(slots=True)
class FlatKernel:
    """A kernel with every call of a known, non-recursive device function inlined."""

    name: str
    parameters: list[Variable]
    variables: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    required_threads: int | None = None


def flatten(module: Module, entry: Function) -> FlatKernel:
    """The kernel `entry` with its calls inlined."""
    flat = FlatKernel(entry.name, entry.parameters, required_threads=entry.required_threads)
    _Inliner(module, flat).append(entry, {}, (entry.name,), None)
    return flat


@dataclass(slots=True)
class _Inliner:
    module: Module
    flat: FlatKernel
    copies: int = 0

    def append(
        self, function: Function, bound: dict[str, str], stack: tuple[str, ...], caller_line: int | None
    ) -> None:
        """Add one copy of a function; `bound` maps its parameters to the caller's slots."""
        suffix = "" if len(stack) == 1 else f"@{self.copies}"
        self.copies += 1
        names = dict(bound)
        names |= {r: r + suffix for r in function.registers}
        names |= {v.name: v.name + suffix for v in function.variables}
        names |= {label: label + suffix for label in (*function.labels, *function.branch_targets)}
        flat = self.flat
        flat.registers |= {names[r]: kind for r, kind in function.registers.items()}
        flat.variables += [replace(v, name=names[v.name]) for v in function.variables]
        for name, targets in function.branch_targets.items():
            flat.branch_targets[names[name]] = tuple(names[t] for t in targets)
        end = f"end{suffix}"
        at: dict[int, list[str]] = {}
        for label, index in function.labels.items():
            at.setdefault(index, []).append(names[label])
        for index, instruction in enumerate(function.body):
            flat.labels |= dict.fromkeys(at.get(index, ()), len(flat.body))
            self._instruction(_renamed(instruction, names), stack, end, caller_line)
        flat.labels |= dict.fromkeys([*at.get(len(function.body), ()), end], len(flat.body))

    def _instruction(
        self, instruction: Instruction, stack: tuple[str, ...], end: str, caller_line: int | None
    ) -> None:
        flat = self.flat
        if caller_line is not None and instruction.line is None:
            instruction = replace(instruction, line=caller_line)
        if instruction.opcode == "ret" and len(stack) > 1:
            flat.body.append(replace(instruction, opcode="bra", operands=(Symbol(end),)))
            return
        callee = self._callee(instruction)
        if callee is None or callee.name in stack or not callee.body:
            flat.body.append(instruction)
            return
        skip = None
        if instruction.guard is not None:
            skip = f"skip@{self.copies}"
            opposite = replace(instruction.guard, negated=not instruction.guard.negated)
            flat.body.append(replace(instruction, opcode="bra", operands=(Symbol(skip),), guard=opposite))
        lists = [[s.name for s in o.items if isinstance(s, Symbol)]
                 for o in instruction.operands if isinstance(o, Group)]  # fmt: skip
        results = lists.pop(0) if callee.results and lists else []
        arguments = lists.pop(0) if lists else []
        bound = {p.name: a for p, a in zip(callee.parameters, arguments, strict=False)}
        bound |= {p.name: a for p, a in zip(callee.results, results, strict=False)}
        self.append(callee, bound, (*stack, callee.name), instruction.line)
        if skip is not None:
            flat.labels[skip] = len(flat.body)

    def _callee(self, instruction: Instruction) -> Function | None:
        if instruction.parts[0] != "call":
            return None
        name = next((o.name for o in instruction.operands if isinstance(o, Symbol)), "")
        return self.module.functions.get(name)


def _renamed(instruction: Instruction, names: dict[str, str]) -> Instruction:
    guard = instruction.guard
    if guard is not None:
        guard = replace(guard, name=names.get(guard.name, guard.name))
    operands = tuple(_rename(o, names) for o in instruction.operands)
    return replace(instruction, operands=operands, guard=guard)


def _rename(operand: Operand, names: dict[str, str]) -> Operand:
    match operand:
        case Register(name) | Symbol(name):
            return replace(operand, name=names.get(name, name))
        case Address(base):
            new = _rename(base, names)
            assert not isinstance(new, Address | Group)
            return replace(operand, base=new)  # type: ignore[arg-type]
        case Group(items):
            return Group(tuple(_rename(item, names) for item in items))
        case _:
            return operand
