"""Variables of a module by the names that the source gives them: a compiler mangles those in namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel_gate.devices.error import DeviceError


def variable_named(name: str, symbols: Iterable[str]) -> str | None:
    """The symbol of a variable; None where there is none. Raises `DeviceError` where several have the name."""
    parts = name.split("::")
    if len(parts) == 1 and name in (symbols := tuple(symbols)):
        return name
    mangled = re.compile(r"_Z\w*?" + r"\w*?".join(f"{len(part)}{part}" for part in parts) + "E?")
    matching = [symbol for symbol in symbols if mangled.fullmatch(symbol)]
    if len(matching) > 1:
        raise DeviceError(f"several variables are named {name}; write its namespace before it")
    return matching[0] if matching else None


def require_size(name: str, nbytes: int, buffer: str, held: int) -> None:
    """Raises `DeviceError` where a buffer does not have the size of the variable that it fills."""
    if nbytes != held:
        raise DeviceError(f"{name} has {nbytes} bytes and {buffer}, which fills it, {held}; make them agree")
