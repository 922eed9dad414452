"""A PTX module from its tokens."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from kernel_gate.emulated.ptx.body import BodyReader
from kernel_gate.emulated.ptx.declarations import SPACES, read_variable
from kernel_gate.emulated.ptx.model import Function, Module, PtxError, Variable
from kernel_gate.emulated.ptx.tokens import ASM_BEGIN, ASM_END, Tokens, tokenise

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+[1-9]", re.MULTILINE)
_LINKING = (".visible", ".extern", ".weak", ".common")


def parse(text: str, entry: str | None = None) -> Module:
    """Read a module. Lines are kept for the file in which the kernel `entry` (or else the first one) stands.

    Raises `PtxError` when the text is not PTX.
    """
    try:
        return _read_module(text.rstrip("\0"), entry)
    except (ValueError, OverflowError, struct.error) as error:
        raise (
            error if isinstance(error, PtxError) else PtxError(f"a number cannot be read: {error}")
        ) from error


def _read_module(text: str, entry: str | None) -> Module:
    tokens = tokenise(text)
    module = Module(target="sm_80", files={int(number): name for number, name in _FILE.findall(text)})
    user_file = file_of(text, entry)
    while tokens.peek():
        word = tokens.next()
        if word == ".target":
            module.target = tokens.next()
            while tokens.take(","):
                tokens.next()
        elif word in (".version", ".address_size"):
            tokens.next()
        elif word in (ASM_BEGIN, ASM_END):
            continue
        elif word == ".file":
            tokens.integer()
            tokens.next()
            while tokens.take(","):
                tokens.integer()
        elif word == ".section":
            while tokens.next() != "{":
                pass
            tokens.skip_block()
        elif word in (".loc", ".pragma", ".alias"):
            while not tokens.take(";") and tokens.line == tokens.lines[tokens.at - 1]:
                tokens.next()
        else:
            tokens.at -= 1
            _read_item(tokens, module, user_file)
    return module


def file_of(text: str, entry: str | None) -> int | None:
    """Number of the file of the first source line of a kernel."""
    start = re.search(rf"\.entry\s+{re.escape(entry)}\b" if entry else r"\.entry\b", text)
    place = _PLACE.search(text, start.end()) if start else None
    return int(place[1]) if place else None


def _read_item(tokens: Tokens, module: Module, user_file: int | None) -> None:
    external = False
    while tokens.peek() in _LINKING:
        external = tokens.next() == ".extern" or external
    word = tokens.next()
    if word in SPACES:
        variable = read_variable(tokens, word[1:], external)
        tokens.expect(";")
        module.variables[variable.name] = variable
    elif word in (".entry", ".func"):
        function = _read_function(tokens, word == ".entry", user_file, module.files)
        if function.body or function.name not in module.functions:
            module.functions[function.name] = function
    else:
        raise PtxError(f"line {tokens.line} of the PTX: `{word}` is not known here")


def _read_function(tokens: Tokens, entry: bool, user_file: int | None, files: Mapping[int, str]) -> Function:
    results = _read_parameters(tokens) if tokens.peek() == "(" else []
    function = Function(tokens.next(), entry, results=results)
    if tokens.peek() == "(":
        function.parameters = _read_parameters(tokens)
    while tokens.peek() not in ("{", ";"):
        word = tokens.next()
        if word == ".reqnctapercluster":
            extents = [tokens.integer()]
            while tokens.take(","):
                extents.append(tokens.integer())
            x, y, z = (*extents, 1, 1)[:3]
            function.cluster = x, y, z
        elif word == ".reqntid":
            function.required_threads = tokens.integer()
            while tokens.take(","):
                function.required_threads *= tokens.integer()
    if not tokens.take(";"):
        tokens.expect("{")
        BodyReader(tokens, function, user_file, files).read()
    return function


def _read_parameters(tokens: Tokens) -> list[Variable]:
    tokens.expect("(")
    parameters: list[Variable] = []
    while not tokens.take(")"):
        word = tokens.next()
        if word == ".reg":
            raise PtxError(f"line {tokens.line} of the PTX: parameters in registers are not supported")
        parameters.append(read_variable(tokens, "param", external=False))
        tokens.take(",")
    return parameters
