"""Code that attrs writes for its classes, compiled once and kept beside Python's own bytecode.

The protocol has 550 classes, whose code attrs compiles at each start: a sixth of what a start computes.
"""

from __future__ import annotations

import importlib.util
import inspect
import marshal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

import attr._make

from kernel_gate.files.reading import read_file

KEPT = Path(importlib.util.cache_from_source(__file__)).with_suffix(".attrs")
"""As much to be trusted as this module's bytecode, which lies beside it."""


@contextmanager
def compiled_once() -> Iterator[None]:
    """Classes of attrs that are made meanwhile take their code from what was compiled before, by its text.

    With an attrs that compiles its code in another way they are made as ever.
    """
    own = getattr(attr._make, "_compile_and_eval", None)
    if own is None or [*inspect.signature(own).parameters] != ["script", "globs", "locs", "filename"]:
        yield
        return
    kept = _kept()
    codes = dict(kept)

    def evaluate(
        script: str,
        globs: dict[str, Any] | None,
        locs: Mapping[str, object] | None = None,
        filename: str = "",
    ) -> None:
        code = codes.get((script, filename))
        if code is None:
            code = codes[script, filename] = compile(script, filename, "exec")
        eval(code, globs, locs)

    attr._make._compile_and_eval = evaluate  # noqa: SLF001
    try:
        yield
    finally:
        attr._make._compile_and_eval = own  # noqa: SLF001
    if len(codes) > len(kept) and not sys.dont_write_bytecode:
        _keep(codes)


def _kept() -> dict[tuple[str, str], CodeType]:
    with suppress(OSError, EOFError, ValueError, TypeError):
        magic, codes = marshal.loads(read_file(KEPT, within=KEPT.parent))
        if magic == importlib.util.MAGIC_NUMBER and isinstance(codes, dict):
            return codes
    return {}


def _keep(codes: dict[tuple[str, str], CodeType]) -> None:
    """Whole or not at all: another server may start meanwhile, and a folder may not be writable."""
    from kernel_gate.files.writing import write_atomically

    with suppress(OSError):
        write_atomically(KEPT, marshal.dumps((importlib.util.MAGIC_NUMBER, codes)))
