"""A filter of system calls: no sockets, no look into other processes, no way out of the process group.

Written as the classic BPF program that seccomp(2) takes; call numbers are those of the kernel's tables.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_SECCOMP_ACTIONS = {"x86_64": 317, "aarch64": 277}
_GET_ACTION_AVAILABLE = 2
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""From here on, numbers name the calls of x86's third interface; a compiler has no use for it."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE = 0, 4
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

_REFUSED: dict[str, tuple[int, int]] = {
    # Networks, and what reaches them another way.
    "socket": (41, 198),
    "io_uring_setup": (425, 425),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    # Leaving the process group, by which a child is ended.
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # Memory and names that outlive a process or are counted nowhere.
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # Doors of the kernel that a compiler does not need.
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
}


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


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter as (code, jump if true, jump if false, value): refused calls fail with EACCES, foreign ones kill."""
    column = list(_ARCHITECTURE).index(machine)
    numbers = [numbers[column] for numbers in _REFUSED.values()]
    head = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
        (_AT_LEAST, len(numbers) + 1, 0, _X32),
    ]
    tests = [(_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    return [*head, *tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE | errno.EACCES)]


def restrict() -> None:
    """Filter the calls of this process and of all that it starts; no_new_privs must be set. Raises `OSError`."""
    rows = program(platform.machine())
    instructions = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    whole = _Program(len(rows), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    unsigned = ctypes.c_ulong
    if libc.prctl(_PR_SET_SECCOMP, unsigned(_MODE_FILTER), ctypes.byref(whole), unsigned(0), unsigned(0)):
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")
