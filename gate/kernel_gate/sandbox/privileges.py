"""Rights that a process may have beyond its user's, as root in a container has, are given up for good."""

from __future__ import annotations

import ctypes
import os

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_DAC_READ_SEARCH = 2
"""Kept by root: packages of another user's checkout stay readable; Landlock says which files may be read at all."""
_CAPSET = {"x86_64": 126, "aarch64": 91}
_VERSION_3 = 0x20080522
_MOST = 64


def drop() -> None:
    """Keep no capability and let no program that is started gain one. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    unsigned = ctypes.c_ulong
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, unsigned(1), unsigned(0), unsigned(0), unsigned(0)):
        raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
    kept = 1 << _DAC_READ_SEARCH if os.geteuid() == 0 else 0
    for capability in range(_MOST):
        if not kept >> capability & 1:
            # Without the right to, this fails: then there is no capability that could come back.
            libc.prctl(_PR_CAPBSET_DROP, unsigned(capability), unsigned(0), unsigned(0), unsigned(0))
    number = _CAPSET.get(os.uname().machine)
    if number is not None:
        header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
        data = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)
        if libc.syscall(ctypes.c_long(number), ctypes.byref(header), ctypes.byref(data)):
            raise OSError(ctypes.get_errno(), "capabilities cannot be given up")
