"""Which of compute-sanitizer's tools have anything to watch in a program.

A tool is a process with a context of its own, and drivers make one context after the other: on one machine with four
GPUs, sixteen processes took 5.5 s to get theirs. A tool that could find nothing is not started.

racecheck (2025.3, on an H200) reports a race between a thread that goes on after `bar.arrive` and one that waits there,
though they are in order. memcheck takes it that a `cp.async` reads its whole row where it is told to read a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernel_gate.devices.image import Image
from kernel_gate.program import Program
from kernel_gate.sanitizer.tool import TOOLS

_SHARED = re.compile(r"\.shared\b")
_SYNCHRONISES = re.compile(r"\b(bar|barrier|mbarrier)\.|\.sync\b")
_NEEDS = {
    "racecheck": (_SHARED, "no kernel has shared memory, and it watches no other"),
    "synccheck": (_SYNCHRONISES, "no kernel has a barrier or a synchronising instruction"),
}


_ARRIVES = re.compile(r"\bbar(rier)?(\.cta)?\.arrive\b")
_COPIES_A_PART = re.compile(r"\bcp\.async\.c[ag]\.[^;]*\],\s*(\w+),\s*(?!%rd|\1\b)[%\w]")
_MAKES_MAPS = re.compile(r"\btensormap\.")
DOUBTED = {
    "racecheck": frozenset({"race"}),
    "memcheck": frozenset({"out_of_bounds"}),
    "initcheck": frozenset({"uninitialised"}),
}
"""Kinds of faults that a tool reports by mistake where it does not understand a program."""
_HINTS = {"racecheck": re.compile("shared"), "synccheck": re.compile("sync|barrier")}


def likely_tools(program: Program) -> tuple[str, ...]:
    """The tools to start before a program is compiled, by a look at its text; a header may still call for others."""
    if program.language != "cuda":
        return TOOLS
    return tuple(t for t in TOOLS if t not in _HINTS or _HINTS[t].search(program.source))


def not_understood(images: Iterable[Image]) -> dict[str, str]:
    """The tools that take what is in order for a fault in one of the images, and what they do not understand."""
    texts = [image.ptx for image in images]
    misread = {
        "racecheck": (_ARRIVES, "the order that bar.arrive makes"),
        "memcheck": (_COPIES_A_PART, "how much a cp.async reads"),
        "initcheck": (_MAKES_MAPS, "what tensormap writes"),
    }
    return {t: why for t, (pattern, why) in misread.items() if any(pattern.search(text) for text in texts)}


def nothing_to_watch(images: Iterable[Image]) -> dict[str, str]:
    """The tools that could find nothing in any of the images, and why; an image without PTX may hold anything."""
    texts = [image.ptx for image in images]
    if not all(texts):
        return {}
    return {
        tool: why
        for tool, (pattern, why) in _NEEDS.items()
        if not any(pattern.search(text) for text in texts)
    }
