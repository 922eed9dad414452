"""Registers, spills and shared memory from the report of `ptxas -v`."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel takes of a multiprocessor."""

    registers: int
    """Per thread."""
    spill_bytes: int
    """Stores and loads together, per thread."""
    static_shared_bytes: int
    """Per block."""


def read_resources(log: str, entry: str) -> Resources | None:
    """The resources of the kernel with that mangled name; None when the report does not tell."""
    part = re.search(
        rf"Compiling entry function '{re.escape(entry)}'(.*?)(?=Compiling entry function|\Z)", log, re.DOTALL
    )
    if part is None:
        return None
    used = re.search(r"Used (\d+) registers", part[1])
    if used is None:
        return None
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part[1])
    shared = re.search(r"(\d+) bytes smem", part[1])
    return Resources(
        registers=int(used[1]),
        spill_bytes=int(spills[1]) + int(spills[2]) if spills else 0,
        static_shared_bytes=int(shared[1]) if shared else 0,
    )
