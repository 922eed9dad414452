"""Which containment this machine offers, and entering it.

Landlock and seccomp need neither root nor a helper program, work in containers that refuse user namespaces, and cost
under a millisecond; a private root, where the machine gives one, hides what Landlock lets a process look at by name.
The trusted process decides what is used and the child enters exactly that before it touches a program, or ends: a
program cannot pretend that it was contained.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernel_gate.processes.surroundings import environment, find_program
from kernel_gate.sandbox import landlock, private_root, privileges, seccomp

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store")
_COMPILERS = (
    *(
        "/usr/bin",
        "/usr/include",
        "/usr/libexec",
        "/usr/lib/gcc",
        "/usr/lib64",
        "/lib64",
        "/bin",
        "/nix/store",
    ),
    *(f"{root}/{machine}-linux-gnu" for root in ("/usr/lib", "/lib") for machine in ("x86_64", "aarch64")),
    "/gnu/store",
)
"""What the system's C++ compiler and its linker are made of."""
_ANYBODYS = (
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
"""What any process may look up, of no user."""
_MOST_HOPS = 40
"""Symbolic links that Linux follows for one path."""
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
    """Whether calls of the kernel that a compiler does not need are refused, sockets first (`calls`)."""
    private_root: bool = False
    """Whether only what it may read has a name for it."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What a child could do here that it should not, in words."""
        return tuple(
            what
            for what, kept in (
                ("reads and writes of the user's files", self.keeps_files),
                ("names, sizes and times of other files", self.private_root),
                ("networks", self.seccomp),
                ("signals to other processes", self.seccomp or self.signals_stay_inside),
            )
            if not kept
        )

    @property
    def keeps_files(self) -> bool:
        """Whether other files can neither be opened nor changed."""
        return self.landlock > 0 or self.private_root

    @property
    def signals_stay_inside(self) -> bool:
        """Whether a process may signal those that it started and no others; else it may signal none."""
        return landlock.keeps_signals_inside(self.landlock)

    @property
    def holds(self) -> bool:
        """Whether foreign code may run in it: files, networks and other processes are out of reach."""
        return self.keeps_files and self.seccomp

    def describe(self) -> dict[str, Any]:
        """What goes into the evidence."""
        own_root = "private root" if self.private_root else "unavailable"
        calls = "seccomp" if self.seccomp else "unavailable"
        return {
            "files": f"Landlock {self.landlock}" if self.landlock else own_root,
            "names": own_root,
            "network": calls,
            "signals": f"Landlock {self.landlock}" if self.signals_stay_inside else calls,
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
    return Containment(landlock.version(), seccomp.available(), private_root.available(readable()))


def _toolkits() -> Iterator[Path]:
    """Folders of compilers that are not the system's: named by the environment, or found on PATH."""
    variables = environment()
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if value := variables.get(name):
            yield Path(value).resolve()
    yield from (Path(p) for p in variables.get("LD_LIBRARY_PATH", "").split(os.pathsep) if p)
    for tool, mark in (("nvcc", "include/cuda.h"), ("g++", "lib/gcc")):
        if program := find_program(tool):
            root = Path(program).resolve().parent.parent
            yield root if (root / mark).exists() else Path(program).resolve().parent


def readable() -> list[Path]:
    """What a contained process may read and run: the system's programs, the interpreter, packages, toolkits."""
    interpreter = (sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path)
    places = [Path(p) for p in (*_SYSTEM, *_ANYBODYS, *interpreter) if p]
    return [*places, *_packages_elsewhere(), *_toolkits()]


def _packages_elsewhere() -> Iterator[Path]:
    """What installed packages lead to by symbolic links, as some installers lay them out: a package, or each file of
    one. Only the interpreter's own folders of packages count: others may be a stranger's.
    """
    folders = {"base": sys.prefix, "platbase": sys.exec_prefix}
    own = {sysconfig.get_path(name, vars=folders) for name in ("purelib", "platlib")}
    for package in (p for folder in sorted(own) if Path(folder).is_dir() for p in Path(folder).iterdir()):
        yield from _hops(package)
        if package.is_dir() and not package.name.endswith(".dist-info"):
            first = package / "__init__.py"
            inner = [first] if first.exists() else package.glob("*/__init__.py")  # a namespace of packages
            yield from (hop.parent for file in inner for hop in _hops(file))


def _hops(path: Path) -> Iterator[Path]:
    """Where a symbolic link leads to, step by step: each step needs its name."""
    for _ in range(_MOST_HOPS):
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent.resolve() / path.readlink()))
        yield path


def anybody_reads() -> list[Path]:
    """Files that belong to no user and that any process may look up."""
    return [Path(p) for p in _ANYBODYS]


def compilers() -> list[Path]:
    """What compiling a C++ or CUDA file takes, once this process has imported what it needs: no packages, no /opt."""
    return [*(Path(p) for p in _COMPILERS), *anybody_reads(), *_toolkits()]


def enter(
    containment: Containment,
    folder: Path,
    also_readable: Iterable[Path] = (),
    *,
    instead: Iterable[Path] | None = None,
) -> None:
    """Contain this process and all that it starts to `folder`, for good. Raises `ContainmentError`.

    It may read `readable()`, or `instead`, and `also_readable`.
    """
    try:
        if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208 - names only
            raise ContainmentError("the child has threads already, which would stay outside")
        may_read = [*(readable() if instead is None else instead), *also_readable]
        if containment.landlock > landlock.version():
            raise ContainmentError("the sandbox cannot be entered: this kernel has an older Landlock")
        if containment.private_root:
            private_root.enter(folder, [*may_read, Path("/proc"), Path("/dev/null")])
        privileges.drop()
        if containment.landlock:
            landlock.restrict(containment.landlock, readable=may_read, writable=[folder, Path("/dev/null")])
        if containment.seccomp:
            seccomp.restrict(signals_stay_inside=containment.signals_stay_inside)
    except OSError as error:
        raise ContainmentError(f"the sandbox cannot be entered: {error.strerror or error}") from error
