"""Declarations: parameters, variables with their initialisers, register ranges."""

from __future__ import annotations

import struct

from kernel_gate.emulated.ptx.model import PtxError, Symbol, Variable
from kernel_gate.emulated.ptx.tokens import Tokens
from kernel_gate.emulated.types import TYPES

SPACES = (".param", ".shared", ".global", ".const", ".local")
_POINTER_ATTRIBUTES = (".ptr", ".global", ".const", ".shared", ".local", ".align")


def type_size(tokens: Tokens, word: str) -> int:
    """Bytes of the type that `.word` names. Raises `PtxError` when it names none."""
    kind = TYPES.get(word.lstrip("."))
    if kind is None:
        raise PtxError(f"line {tokens.line} of the PTX: unknown type `{word}`")
    return kind.size


def read_variable(tokens: Tokens, space: str, external: bool) -> Variable:
    """A declaration from after its state space up to, not including, the `;`, `,` or `)` behind it."""
    align, vector, element, name = 0, 1, 0, ""
    while not name:
        word = tokens.next()
        if word == ".align":
            align = tokens.integer()
        elif word in (".v2", ".v4"):
            vector = int(word[2])
        elif word == ".attribute":
            tokens.expect("(")
            while tokens.next() != ")":
                pass
        elif word.startswith("."):
            element = vector * type_size(tokens, word)
            align = align or element
            _skip_pointer_attributes(tokens)
        else:
            name = word
    count, unsized = 1, False
    while tokens.take("["):
        if tokens.take("]"):
            unsized = True
        else:
            count *= tokens.integer()
            tokens.expect("]")
    data, addresses = None, tuple[tuple[int, Symbol], ...]()
    if tokens.take("="):
        data, addresses = _read_initialiser(tokens, element // vector)
        count = max(count, -(-len(data) // element)) if unsized else count
    return Variable(
        name, space, align, 0 if unsized and data is None else count * element, data,
        external and unsized, addresses,
    )  # fmt: skip


def _skip_pointer_attributes(tokens: Tokens) -> None:
    """`.ptr .global .align 16` says what a pointer parameter points to; execution does not need it."""
    while tokens.peek() in _POINTER_ATTRIBUTES:
        if tokens.next() == ".align":
            tokens.integer()


def _read_initialiser(tokens: Tokens, size: int) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
    data = bytearray()
    addresses: list[tuple[int, Symbol]] = []
    depth = 0
    while True:
        if tokens.take("{"):
            depth += 1
        elif tokens.take("}"):
            depth -= 1
        elif not tokens.take(","):
            word = tokens.peek()
            if word == "generic" and tokens.peek(1) == "(":
                tokens.at += 2
                addresses.append((len(data), _read_symbol(tokens)))
                tokens.expect(")")
                data += bytes(size)
            elif word[0].isalpha() or word[0] in "_$":
                addresses.append((len(data), _read_symbol(tokens)))
                data += bytes(size)
            elif word[:2].lower() in ("0f", "0d"):
                data += int(f"0x{tokens.next()[2:]}", 0).to_bytes(size, "little")
            elif "." in word:
                data += struct.pack("<f" if size == 4 else "<d", float(tokens.next()))
            else:
                data += (tokens.integer() % (1 << (8 * size))).to_bytes(size, "little")
        if depth == 0:
            return bytes(data), tuple(addresses)


def _read_symbol(tokens: Tokens) -> Symbol:
    name = tokens.next()
    return Symbol(name, tokens.integer() if tokens.take("+") else 0)


def read_registers(tokens: Tokens) -> dict[str, str]:
    """A `.reg` declaration from after the word up to and including the `;`: name → type name."""
    kind = tokens.next().lstrip(".")
    if kind not in TYPES:
        raise PtxError(f"line {tokens.line} of the PTX: unsupported register type `.{kind}`")
    registers: dict[str, str] = {}
    while True:
        name = tokens.next()
        if tokens.take("<"):
            for index in range(tokens.integer()):
                registers[f"{name}{index}"] = kind
            tokens.expect(">")
        else:
            registers[name] = kind
        if tokens.take(";"):
            return registers
        tokens.expect(",")
