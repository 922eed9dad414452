"""Which containment this machine offers, and entering it.

Landlock and seccomp were chosen over namespaces and bubblewrap: they need neither root nor a helper program, work in
containers that refuse user namespaces, and cost under a millisecond. The trusted process decides what is used and the
child enters exactly that before it touches a program, or ends: a program cannot pretend that it was contained.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernel_gate.processes.surroundings import environment, find_program
from kernel_gate.sandbox import landlock, privileges, seccomp

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store")
_SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/localtime",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
)
REMEDY = (
    "a Linux kernel of 5.13 or newer with Landlock in its list (cat /sys/kernel/security/lsm) and seccomp filters has "
    "it; --allow-uncontained runs programs that you trust without"
)
REFUSED = (
    "a program that is compiled may read the compiler's and the interpreter's files and use its own folder; other "
    "files, networks and processes are refused"
)


class ContainmentError(Exception):
    """The containment that was decided on cannot be entered."""


@dataclass(frozen=True, slots=True)
class Containment:
    """What keeps a compiler child in."""

    landlock: int
    """Version; 0 where files are not contained."""
    seccomp: bool
    """Whether sockets, other processes' memory and leaving the process group are refused."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What a child could do here that it should not, in words."""
        return tuple(
            what
            for what, kept in (
                ("reads and writes of the user's files", self.landlock > 0),
                ("networks", self.seccomp),
                ("signals to other processes", landlock.keeps_signals_inside(self.landlock)),
            )
            if not kept
        )

    @property
    def holds(self) -> bool:
        """Whether foreign Python may run in it: files and networks are out of reach."""
        return self.landlock > 0 and self.seccomp

    def describe(self) -> dict[str, Any]:
        """What goes into the evidence."""
        return {
            "files": f"Landlock {self.landlock}" if self.landlock else "unavailable",
            "network": "seccomp" if self.seccomp else "unavailable",
            "signals": f"Landlock {self.landlock}"
            if landlock.keeps_signals_inside(self.landlock)
            else "unavailable",
            "not_contained": list(self.missing),
        }

    def to_json(self) -> dict[str, Any]:
        """For the child's request."""
        return asdict(self)


@cache
def offered() -> Containment:
    """What this machine has."""
    if sys.platform != "linux":
        return Containment(0, seccomp=False)
    return Containment(landlock.version(), seccomp.available())


def _toolkits() -> Iterator[Path]:
    """Folders of compilers that are not the system's: named by the environment, or found on PATH."""
    variables = environment()
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if value := variables.get(name):
            yield Path(value).resolve()
    yield from (Path(p) for p in variables.get("LD_LIBRARY_PATH", "").split(os.pathsep) if p)
    for tool, mark in (("nvcc", "include/cuda.h"), ("g++", "lib/gcc")):
        if found := find_program(tool):
            root = Path(found).resolve().parent.parent
            yield root if (root / mark).exists() else Path(found).resolve().parent


def readable() -> list[Path]:
    """What a compiler child may read and run: the system's programs, the interpreter, packages, toolkits."""
    interpreter = (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path)
    return [Path(p) for p in (*_SYSTEM, *_SYSTEM_FILES, *interpreter) if p] + list(_toolkits())


def enter(containment: Containment, folder: Path, also_readable: Iterable[Path] = ()) -> None:
    """Contain this process and all that it starts to `folder`, for good. Raises `ContainmentError`."""
    try:
        if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208 - names only
            raise ContainmentError("the child has threads already, which would stay outside")
        privileges.drop()
        if containment.landlock > landlock.version():
            raise ContainmentError(
                "the compiler's sandbox cannot be entered: this kernel has an older Landlock"
            )
        if containment.landlock:
            may_read = [*readable(), *also_readable]
            landlock.restrict(containment.landlock, readable=may_read, writable=[folder, Path("/dev/null")])
        if containment.seccomp:
            seccomp.restrict()
    except OSError as error:
        raise ContainmentError(f"the compiler's sandbox cannot be entered: {error.strerror}") from error
