"""A function's body: statements, nested scopes, labels and source lines."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernel_gate.emulated.ptx.declarations import SPACES, read_registers, read_variable
from kernel_gate.emulated.ptx.model import (
    Address,
    FloatBits,
    Function,
    Group,
    Instruction,
    Integer,
    Operand,
    PtxError,
    Register,
    Symbol,
)
from kernel_gate.emulated.ptx.tokens import ASM_BEGIN, ASM_END, Tokens

_PART = re.compile(r"b[0-3]|h[01]")
_CLOSING = {"{": "}", "(": ")"}


@dataclass(slots=True)
class BodyReader:
    """Reads one body from after its `{`. A name of an inner scope gets the scope's number appended."""

    tokens: Tokens
    function: Function
    user_file: int | None
    files: Mapping[int, str]
    line: int | None = None
    inner: str = ""
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])
    scope_count: int = 0
    scope_starts: list[int] = field(default_factory=lambda: [0])
    """How many instructions came before each open scope."""
    scope_labels: list[dict[str, str]] = field(default_factory=lambda: [{}])
    """Labels of each open scope, with their unique names."""
    asm_start: int | None = None
    """Inside inline PTX: how many instructions came before it."""

    def read(self) -> None:
        """Fill the function's registers, variables, body and labels."""
        tokens = self.tokens
        while True:
            word = tokens.peek()
            if word == "{":
                tokens.next()
                self.scopes.append({})
                self.scope_count += 1
                self.scope_starts.append(len(self.function.body))
                self.scope_labels.append({})
            elif word == "}":
                tokens.next()
                self.scopes.pop()
                if not self.scopes:
                    return
                self._close_labels(self.scope_starts.pop(), self.scope_labels.pop())
            elif word in (ASM_BEGIN, ASM_END):
                tokens.next()
                self.asm_start = len(self.function.body) if word == ASM_BEGIN else None
            elif tokens.peek(1) == ":":
                self._label()
            elif word.startswith("."):
                self._directive(tokens.next())
            elif not tokens.take(";"):
                self._instruction()

    def _label(self) -> None:
        name = self.tokens.next()
        self.tokens.expect(":")
        if self.tokens.peek() == ".branchtargets":
            self.tokens.next()
            targets = []
            while not self.tokens.take(";"):
                targets.append(self.tokens.next())
                self.tokens.take(",")
            self.function.branch_targets[name] = tuple(targets)
        elif self.tokens.peek() == ".callprototype":
            while not self.tokens.take(";"):
                self.tokens.next()
        else:
            unique = name
            if len(self.scopes) > 1:
                unique = self.scope_labels[-1][name] = f"{name}'{self.scope_count}"
            self.function.labels[unique] = len(self.function.body)

    def _close_labels(self, start: int, labels: dict[str, str]) -> None:
        """Jumps of a scope that has ended go to its own labels; a jump may stand before its label."""
        body = self.function.body
        for index, instruction in enumerate(body[start:], start) if labels else ():
            target = instruction.operands[0] if instruction.operands else None
            if instruction.parts[0] == "bra" and isinstance(target, Symbol) and target.name in labels:
                body[index] = replace(instruction, operands=(Symbol(labels[target.name]),))

    def _directive(self, word: str) -> None:
        if word == ".loc":
            self._location()
        elif word == ".reg":
            for name, kind in read_registers(self.tokens).items():
                self.function.registers[self._declare(name)] = kind
        elif word in SPACES:
            variable = read_variable(self.tokens, word[1:], external=False)
            self.tokens.expect(";")
            unique = self._declare(variable.name)
            self.function.variables.append(replace(variable, name=unique))
        elif word == ".pragma":
            while not self.tokens.take(";"):
                self.tokens.next()
        else:
            raise PtxError(f"line {self.tokens.line} of the PTX: `{word}` is not known in a body")

    def _declare(self, name: str) -> str:
        unique = name if len(self.scopes) == 1 else f"{name}'{self.scope_count}"
        self.scopes[-1][name] = unique
        return unique

    def _location(self) -> None:
        """`.loc FILE LINE COLUMN [, function_name LABEL [+ N], inlined_at FILE LINE COLUMN]`."""
        tokens = self.tokens
        places = [(tokens.integer(), tokens.integer(), tokens.integer())]
        while tokens.take(","):
            if tokens.next() == "inlined_at":
                places.append((tokens.integer(), tokens.integer(), tokens.integer()))
            else:
                tokens.next()
                if tokens.take("+"):
                    tokens.integer()
        if self.asm_start is not None and len(self.function.body) > self.asm_start:
            # LLVM counts the lines of multi-line inline PTX as lines of the source.
            return
        if self.user_file is None:
            self.user_file = places[0][0]
        # Code inlined from a header belongs to the user's line that called it; line 0 belongs to none.
        self.line = next((line for file, line, _ in places if file == self.user_file and line), self.line)
        file, line, _ = places[0]
        if line:
            self.inner = "" if file == self.user_file else f"{self.files.get(file, '')}:{line}"

    def _instruction(self) -> None:
        tokens, ptx_line = self.tokens, self.tokens.line
        guard = None
        if tokens.take("@"):
            negated = tokens.take("!")
            guard = Register(self._unique(self._word()), negated)
        opcode = self._word()
        operands: list[Operand] = []
        while not tokens.take(";"):
            operands.append(self._operand())
            # A call's target and argument lists are separated by commas like everything else.
            if not tokens.take(",") and tokens.peek() != ";":
                raise PtxError(f"line {tokens.line} of the PTX: `;` expected, found `{tokens.peek()}`")
        self.function.body.append(
            Instruction(opcode, tuple(operands), guard, self.line, ptx_line, self.inner)
        )

    def _word(self) -> str:
        word = self.tokens.next()
        if not (word[0].isalpha() or word[0] in "%_$"):
            raise PtxError(f"line {self.tokens.line} of the PTX: a name expected, found `{word}`")
        return word

    def _unique(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), name)

    def _operand(self) -> Operand:
        first = self._simple()
        if self.tokens.take("|"):
            return Group((first, self._simple()))
        return first

    def _simple(self) -> Operand:
        tokens = self.tokens
        word = tokens.peek()
        if word in _CLOSING:
            tokens.next()
            items = []
            while not tokens.take(_CLOSING[word]):
                items.append(self._operand())
                tokens.take(",")
            return Group(tuple(items))
        if word == "[":
            tokens.next()
            return self._address()
        if word == "!":
            tokens.next()
            return Register(self._unique(tokens.next()), negated=True)
        if word == "-" or word[:1].isdigit():
            return self._literal()
        return self._name()

    def _literal(self) -> Integer | FloatBits:
        word = self.tokens.peek()
        if word[:2] in ("0f", "0F", "0d", "0D"):
            self.tokens.next()
            return FloatBits(int(f"0x{word[2:]}", 0), 4 if word[1] in "fF" else 8)
        if "." in word:
            self.tokens.next()
            return FloatBits(int.from_bytes(struct.pack("<f", float(word)), "little"), 4)
        return Integer(self.tokens.integer())

    def _name(self) -> Register | Symbol:
        written = self.tokens.next()
        stem, _, part = written.rpartition(".")
        if _PART.fullmatch(part) and (stem.startswith("%") or self._unique(stem) in self.function.registers):
            return Register(self._unique(stem), part=part)
        name = self._unique(written)
        if name.startswith("%") or name == "_" or name in self.function.registers:
            return Register(name)
        return Symbol(name, self._offset())

    def _offset(self) -> int:
        total = 0
        while self.tokens.peek() in ("+", "-"):
            self.tokens.take("+")
            total += self.tokens.integer()
        return total

    def _address(self) -> Address | Group:
        """`[base + offset]`; with coordinates behind it, as textures and tensor maps have, a group of both."""
        tokens = self.tokens
        base: Register | Symbol | Integer
        if tokens.peek()[:1].isdigit():
            base, offset = Integer(tokens.integer()), self._offset()
        else:
            base = self._name()
            offset = base.offset if isinstance(base, Symbol) else self._offset()
            base = Symbol(base.name) if isinstance(base, Symbol) else base
        address = Address(base, offset)
        coordinates: list[Operand] = []
        while tokens.take(","):
            coordinates.append(self._operand())
        tokens.expect("]")
        return Group((address, *coordinates)) if coordinates else address
