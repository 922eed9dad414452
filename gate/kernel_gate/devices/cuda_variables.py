"""A loaded module's global variables on a GPU, of those that the driver knows by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

_DECLARED = re.compile(
    r"^\s*(?:\.(?:visible|weak|common)\s+)?\.(global|const)\b[^;=]*?(\w+)(?:\[\d*\])*\s*(?:=|;)",
    re.MULTILINE,
)
"""Space and name in a PTX declaration of a variable."""


def declared_variables(ptx: str, *spaces: str) -> tuple[str, ...]:
    """The variables of these spaces, `global` and `const` by default."""
    declared = _DECLARED.findall(ptx)
    return tuple(dict.fromkeys(name for space, name in declared if not spaces or space in spaces))


def find_variables(driver: Any, module: Any, ptx: str) -> dict[str, tuple[int, bytes]]:
    """Address and present contents of each."""
    variables = {}
    for name in declared_variables(ptx, "global"):
        try:
            address, nbytes = module.get_global(name)
        except driver.LogicError:
            continue
        variables[name] = (int(address), _peek(driver, int(address), int(nbytes)))
    return variables


def overwrite(driver: Any, variables: Mapping[str, tuple[int, bytes]], seed: int) -> tuple[str, ...]:
    """Put random bytes into those that are not as they were found; their names."""
    generator = np.random.default_rng(seed)
    changed = []
    for name, (address, initial) in variables.items():
        if _peek(driver, address, len(initial)) != initial:
            driver.memcpy_htod(address, generator.integers(0, 256, len(initial), np.uint8))
            changed.append(name)
    return tuple(changed)


def _peek(driver: Any, address: int, nbytes: int) -> bytes:
    data = np.empty(nbytes, np.uint8)
    if nbytes:
        driver.memcpy_dtoh(data, address)
    return data.tobytes()
