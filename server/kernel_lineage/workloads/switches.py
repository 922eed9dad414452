"""The options under which a kernel exists: `#ifdef ENABLE_X` around it, which a build with that option defines."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|define)\b\s*(.*)")
_ONE_MACRO = re.compile(r"defined\s*\(?\s*(\w+)\s*\)?|(?P<bare>[A-Za-z_]\w*)")


def options_of(text: str, kernels: Iterable[str]) -> dict[str, str]:
    """The macros to define so that all of some kernels of a text are there."""
    return {name: value for kernel in kernels for name, value in switches_for(text, kernel).items()}


def switches_for(text: str, kernel: str) -> dict[str, str]:
    """Macros to define so that the preprocessor leaves the only definition of a kernel in a text of device code.

    Empty where it is there without any, or is written twice, or under more than the name of a macro.
    """
    head = re.compile(rf"\b{re.escape(kernel)}\s*\(")
    places = [n for n, line in enumerate(text.splitlines()) if head.search(line) and "__global__" in line]
    if len(places) != 1:
        return {}
    levels: list[tuple[str | None, str | None]] = []
    """For each open conditional: the macro that it asks for, and the one of which it asks that nobody defines it."""
    defined: set[str] = set()
    for line in text.splitlines()[: places[0]]:
        directive = _DIRECTIVE.match(line)
        if directive is None:
            continue
        word, rest = directive[1], re.split(r"//|/\*", directive[2])[0].strip()
        if word == "define":
            name, _, value = rest.partition(" ")
            is_off_by_default = value.strip() == "0" and any(name == left_out for _, left_out in levels)
            defined |= set() if is_off_by_default else {re.split(r"\W", rest, maxsplit=1)[0]}
        elif word == "endif":
            levels[-1:] = []
        elif word in ("elif", "else"):
            levels[-1:] = [(None, None)]
        else:
            levels.append((None, rest) if word == "ifndef" else (_macro(rest), None))
    return {name: "1" for name, _ in levels if name is not None and name not in defined}


def _macro(condition: str) -> str | None:
    """`X`, `defined(X)` → X; None for any other condition."""
    match = _ONE_MACRO.fullmatch(condition)
    return (match[1] or match["bare"]) if match is not None else None
