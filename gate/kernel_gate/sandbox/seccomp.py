"""A filter of system calls made from the table in `calls`: what is not allowed there is refused.

Written as the classic BPF program that seccomp(2) takes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Iterator

from kernel_gate.sandbox.calls import (
    ALLOWED,
    ARCHITECTURES,
    CONDITIONS,
    MISSING,
    SCOPED,
    Call,
    Condition,
    calls,
)

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_SECCOMP_ACTIONS = {"x86_64": 317, "aarch64": 277}
_GET_ACTION_AVAILABLE = 2
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""From here on, numbers name the calls of x86's third interface; a compiler has no use for it."""

_LOAD, _AND, _EQUAL, _ABOVE, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

_Row = tuple[int, int, int, int]


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def available() -> bool:
    """Whether this kernel filters system calls and this machine's call numbers are known."""
    number = _SECCOMP_ACTIONS.get(platform.machine())
    if number is None or os.name != "posix":
        return False
    action = ctypes.c_uint32(_KILL)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.syscall(ctypes.c_long(number), _GET_ACTION_AVAILABLE, 0, ctypes.byref(action)) == 0)


def _ranges(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbours."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _conditional(number: int, condition: Condition) -> list[_Row]:
    """Decide a call by the low half of one argument; the kernel takes no more of these arguments."""
    values = condition.allowed
    body = [
        (_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * condition.argument),
        (_AND, 0, 0, condition.mask),
        *((_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [(_EQUAL, 0, len(body), number), *body]


def program(machine: str, *, signals_stay_inside: bool) -> list[_Row]:
    """The filter as (code, jump if true, jump if false, value).

    Calls of another architecture end the process; refused ones fail with EPERM.
    """
    column = ARCHITECTURES.index(machine)

    def on_this(chosen: list[Call]) -> dict[str, int]:
        return {c.name: n for c in chosen if (n := c.numbers[column]) is not None}

    allowed = on_this(calls(ALLOWED))
    if not signals_stay_inside:
        allowed = {name: number for name, number in allowed.items() if name not in SCOPED}
    rows: list[_Row] = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _FAIL | errno.EPERM),
    ]
    for first, last in _ranges(sorted(n for name, n in allowed.items() if name not in CONDITIONS)):
        rows += [(_AT_LEAST, 0, 2, first), (_ABOVE, 1, 0, last), (_RETURN, 0, 0, _ALLOW)]
    for name, condition in CONDITIONS.items():
        if name in allowed:
            rows += _conditional(allowed[name], condition)
    for number in on_this(calls(MISSING)).values():
        rows += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL | errno.ENOSYS)]
    return [*rows, (_RETURN, 0, 0, _FAIL | errno.EPERM)]


def restrict(*, signals_stay_inside: bool) -> None:
    """Filter the calls of this process and of all that it starts; no_new_privs must be set. Raises `OSError`."""
    rows = program(platform.machine(), signals_stay_inside=signals_stay_inside)
    instructions = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    whole = _Program(len(rows), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    unsigned = ctypes.c_ulong
    if libc.prctl(_PR_SET_SECCOMP, unsigned(_MODE_FILTER), ctypes.byref(whole), unsigned(0), unsigned(0)):
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")
