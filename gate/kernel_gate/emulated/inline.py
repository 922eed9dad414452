"""Calls → one flat body. A call's parameter slots are the callee's parameters, so nothing is copied.

A function that calls itself is inlined as deep as the body may grow; the call behind that is refused when a thread
reaches it. A call through a pointer becomes a comparison with each function whose address is taken and that fits.
"""

from __future__ import annotations

import math
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
    """A kernel with every call of a known device function inlined."""

    name: str
    parameters: list[Variable]
    variables: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    required_threads: int | None = None
    cluster: tuple[int, int, int] = (1, 1, 1)
    functions: dict[str, int] = field(default_factory=dict)
    """Number of each function whose address is taken."""


_DEPTH_MOST = 64
_BODY_MOST = 30_000
"""Instructions that a recursion may be unrolled to."""


def flatten(module: Module, entry: Function) -> FlatKernel:
    """The kernel `entry` with its calls inlined."""
    flat = FlatKernel(
        entry.name, entry.parameters, required_threads=entry.required_threads, cluster=entry.cluster
    )
    flat.functions = {name: number for number, name in enumerate(taken_functions(module))}
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
        if instruction.parts[0] == "call" and isinstance(_target(instruction), Register):
            self._indirect(instruction, stack)
            return
        callee = self._callee(instruction)
        if callee is None or not callee.body:
            flat.body.append(instruction)
            return
        if self._too_deep(callee, stack):
            flat.body.append(replace(instruction, opcode="call.too_deep"))
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

    def _too_deep(self, callee: Function, stack: tuple[str, ...]) -> bool:
        depth = stack.count(callee.name)
        if depth == 0:
            return False
        # Each call of itself multiplies the copies: the depth that fits shrinks with their number.
        own = sum(i.parts[0] == "call" and _target(i) == Symbol(callee.name) for i in callee.body)
        copies = _BODY_MOST / max(len(callee.body), 1)
        fits = copies if own <= 1 else math.log(max(copies, 1), own)
        return depth >= min(_DEPTH_MOST, fits)

    def _indirect(self, instruction: Instruction, stack: tuple[str, ...]) -> None:
        """A call through a register: compare it with each candidate, and call that one."""
        flat, number = self.flat, self.copies
        self.copies += 1
        groups = [o for o in instruction.operands if isinstance(o, Group)]
        target = _target(instruction)
        assert target is not None
        test, done = f"%chosen@{number}", f"called@{number}"
        flat.registers[test] = "pred"
        skip: str | None = None
        if instruction.guard is not None:
            skip = f"skip@{number}"
            opposite = replace(instruction.guard, negated=not instruction.guard.negated)
            flat.body.append(replace(instruction, opcode="bra", operands=(Symbol(skip),), guard=opposite))
        plain = replace(instruction, guard=None)
        for index, name in enumerate(n for n in flat.functions if self._fits(n, groups)):
            following = f"next@{number}@{index}"
            operands = (Register(test), target, Symbol(name))
            flat.body.append(replace(plain, opcode="setp.ne.u64", operands=operands))
            jump = replace(plain, opcode="bra", operands=(Symbol(following),), guard=Register(test))
            flat.body.append(jump)
            direct = tuple(Symbol(name) if o == target else o for o in plain.operands)
            self._instruction(replace(plain, opcode="call", operands=direct), stack, "", None)
            flat.body.append(replace(plain, opcode="bra", operands=(Symbol(done),)))
            flat.labels[following] = len(flat.body)
        flat.body.append(replace(plain, opcode="call.no_function", operands=()))
        flat.labels[done] = len(flat.body)
        if skip is not None:
            flat.labels[skip] = len(flat.body)

    def _fits(self, name: str, groups: list[Group]) -> bool:
        """Whether a function takes as many results and arguments as a call gives."""
        function = self.module.functions[name]
        counts = [len(g.items) for g in groups]
        takes = [len(p) for p in (function.results, function.parameters) if p]
        return bool(function.body) and counts == takes

    def _callee(self, instruction: Instruction) -> Function | None:
        if instruction.parts[0] != "call":
            return None
        name = next((o.name for o in instruction.operands if isinstance(o, Symbol)), "")
        return self.module.functions.get(name)


def _target(instruction: Instruction) -> Operand | None:
    """What a call calls: the first operand that is no list."""
    return next((o for o in instruction.operands if not isinstance(o, Group)), None)


def taken_functions(module: Module) -> list[str]:
    """Functions whose address an instruction or an initialiser takes."""
    functions: dict[str, None] = {}
    for function in module.functions.values():
        for instruction in function.body:
            if instruction.parts[0] != "call":
                names = (o.name for o in instruction.operands if isinstance(o, Symbol))
                functions.update(dict.fromkeys(n for n in names if n in module.functions))
    for variable in module.variables.values():
        functions.update(dict.fromkeys(s.name for _, s in variable.addresses if s.name in module.functions))
    return [name for name in functions if not module.functions[name].entry]


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
