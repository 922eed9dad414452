"""Sizes that are compiled into CUDA C++: macros and constants of the source that a launch gives other values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.build.errors import BuildError
from kernel_gate.compile_time import Constant
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

_MACRO = r"^([ \t]*#[ \t]*define[ \t]+{name}[ \t]+)((?:[^\n/\\]|/(?![/*]))+?)(?=[ \t]*(?://|/\*|$))"
_VARIABLE = r"(\bconst(?:expr)?\b[^;{{}}()]*?\b{name}\s*=\s*)([^;,{{}}]+?)(?=\s*[;,])"


def with_constants(program: Program, constants: Mapping[str, Constant]) -> Program:
    """The program with other values of macros and constants: of `#define N 1024` with N = 128, `#define N 128`.

    Lines keep their numbers. Raises `BuildError` for a value that is no whole number, and for a name that neither the
    source nor a header defines once.
    """
    source, includes = program.source, dict(program.includes)
    for name, value in constants.items():
        if type(value) is not int:
            raise BuildError(
                f"the launch gives {name} = {value!r}; sizes that are compiled are whole numbers"
            )
        changed = {file: _changed(text, name, value) for file, text in {"": source, **includes}.items()}
        if sum(times for _, times in changed.values()) != 1:
            raise BuildError(
                f"{program.name or program.entry}: `{name}` is not defined once, as a macro or constant; the launch "
                f"gives it a value",
                code=Reason.ARGUMENTS_DIFFER,
            )
        texts = {file: text for file, (text, _) in changed.items()}
        source = texts.pop("")
        includes = texts
    return replace(program, source=source, includes=includes)


def _changed(text: str, name: str, value: int) -> tuple[str, int]:
    made, macros = re.subn(_MACRO.format(name=name), rf"\g<1>{value}", text, flags=re.MULTILINE)
    made, variables = re.subn(_VARIABLE.format(name=name), rf"\g<1>{value}", made)
    return made, macros + variables
