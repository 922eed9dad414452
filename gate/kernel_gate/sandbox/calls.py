"""The system calls that a sandbox allows, for its filter; all others are refused, also what a newer kernel brings.

Why each of the others is refused says `tests/attacks/system_calls.py`, which decides every call once. Numbers are those
of the kernel's tables for x86-64 and aarch64; `-` where an architecture does not have the call.
"""

from __future__ import annotations

from dataclasses import dataclass

ARCHITECTURES = ("x86_64", "aarch64")


@dataclass(frozen=True, slots=True)
class Call:
    """An allowed call and its number on each architecture, None where it is not."""

    name: str
    numbers: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Condition:
    """An argument, by its place and the bits that matter, and the values with which a call is allowed."""

    argument: int
    mask: int
    allowed: tuple[int, ...]
    reason: str


_WHOLE = 0xFFFFFFFF
_OPEN_MODE = 0o1003
"""O_ACCMODE and O_TRUNC. Landlock before version 3 does not see that O_TRUNC writes, nor ever the fourth mode."""
_OPENS = (0, 1, 2, 0o1001, 0o1002)
_NEW_OR_NOT_OWN = 0x7E020000 | 0x8000 | 0x2000
"""CLONE_NEW*, CLONE_PARENT (a child of the gate), CLONE_PTRACE."""

CONDITIONS = {
    "open": Condition(1, _OPEN_MODE, _OPENS, "truncating needs the right to write"),
    "openat": Condition(2, _OPEN_MODE, _OPENS, "truncating needs the right to write"),
    "clone": Condition(0, _NEW_OR_NOT_OWN, (0,), "own children without namespaces"),
    "prlimit64": Condition(0, _WHOLE, (0,), "its own limits"),
    "sched_getaffinity": Condition(0, _WHOLE, (0,), "its own processors"),
    "prctl": Condition(0, _WHOLE, (15, 16, 0x53564D41), "names of threads and of memory"),
    "ioctl": Condition(
        1,
        _WHOLE,
        (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451),
        "is it a terminal, how wide, bytes waiting, blocking, close on exec",
    ),
    "fcntl": Condition(
        1,
        _WHOLE,
        (0, 1, 2, 3, 4, 1030, 1031, 1032),
        "duplicates, flags and pipe sizes; no locks, leases, owners",
    ),
}
"""Calls that are allowed with some values of one argument."""

SCOPED = frozenset({"kill", "tgkill"})
"""Allowed where Landlock keeps signals inside; nothing else can tell whose process a number is."""

ALLOWED: dict[str, str] = {
    "opening files, as far as Landlock or the private root grants it": """
        open 2 -; openat 257 56; creat 85 -""",
    "files that are open": """
        close 3 57; close_range 436 436; read 0 63; write 1 64; pread64 17 67; pwrite64 18 68; readv 19 65;
        writev 20 66; preadv 295 69; pwritev 296 70; preadv2 327 286; pwritev2 328 287; lseek 8 62; fsync 74 82;
        fdatasync 75 83; ftruncate 77 46; fallocate 285 47; fadvise64 221 223; readahead 187 213;
        copy_file_range 326 285; sendfile 40 71; sync_file_range 277 84; dup 32 23; dup2 33 -; dup3 292 24;
        pipe 22 -; pipe2 293 59; getdents 78 -; getdents64 217 61; ioctl 16 29; fcntl 72 25""",
    "what stands under a name; only the private root hides what is elsewhere": """
        stat 4 -; fstat 5 80; lstat 6 -; newfstatat 262 79; statx 332 291; statfs 137 43; fstatfs 138 44; access 21 -;
        faccessat 269 48; faccessat2 439 439; readlink 89 -; readlinkat 267 78; getcwd 79 17; chdir 80 49;
        fchdir 81 50; umask 95 166""",
    "making, removing and renaming, as far as Landlock or the private root grants it": """
        mkdir 83 -; mkdirat 258 34; rmdir 84 -; unlink 87 -; unlinkat 263 35; rename 82 -; renameat 264 38;
        renameat2 316 276; link 86 -; linkat 265 37; symlink 88 -; symlinkat 266 36""",
    "its own memory": """
        brk 12 214; mmap 9 222; mprotect 10 226; munmap 11 215; mremap 25 216; msync 26 227; madvise 28 233;
        mincore 27 232; membarrier 324 283""",
    "its own processes and threads": """
        clone 56 220; fork 57 -; vfork 58 -; execve 59 221; exit 60 93; exit_group 231 94; wait4 61 260; waitid 247 95;
        set_tid_address 218 96; set_robust_list 273 99; rseq 334 293; restart_syscall 219 128; arch_prctl 158 -;
        prctl 157 167; prlimit64 302 261; getrlimit 97 163; setrlimit 160 164""",
    "facts about itself and the machine": """
        getpid 39 172; gettid 186 178; getppid 110 173; getpgrp 111 -; getuid 102 174; geteuid 107 175; getgid 104 176;
        getegid 108 177; getresuid 118 148; getresgid 120 150; getgroups 115 158; getrusage 98 165; times 100 153;
        uname 63 160; sysinfo 99 179; getcpu 309 168; sched_getaffinity 204 123; getrandom 318 278""",
    "waiting and time": """
        futex 202 98; futex_waitv 449 449; sched_yield 24 124; nanosleep 35 101; clock_nanosleep 230 115;
        clock_gettime 228 113; clock_getres 229 114; gettimeofday 96 169; time 201 -; poll 7 -; ppoll 271 73;
        select 23 -; pselect6 270 72; epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21; epoll_wait 232 -;
        epoll_pwait 281 22; epoll_pwait2 441 441; eventfd 284 -; eventfd2 290 19; pause 34 -""",
    "signals to itself": """
        rt_sigaction 13 134; rt_sigprocmask 14 135; rt_sigreturn 15 139; rt_sigpending 127 136; rt_sigtimedwait 128 137;
        rt_sigsuspend 130 133; sigaltstack 131 132; alarm 37 -; setitimer 38 103; getitimer 36 102;
        timer_create 222 107; timer_settime 223 110; timer_gettime 224 108; timer_getoverrun 225 109;
        timer_delete 226 111; kill 62 129; tgkill 234 131""",
}
"""Reason: calls with their numbers."""

MISSING: dict[str, str] = {
    "answered as by an older kernel: their arguments lie in memory, which a filter cannot read": """
        clone3 435 435; openat2 437 437""",
}
"""Calls that fail with ENOSYS, so that libraries take the older one, which is filtered."""


def calls(groups: dict[str, str]) -> list[Call]:
    """The calls of groups that give numbers."""

    def number(text: str) -> int | None:
        return None if text == "-" else int(text)

    rows = [entry.split() for group in groups.values() for entry in group.split(";")]
    return [Call(name, (number(x86), number(arm))) for name, x86, arm in rows]
