"""Runs inside the sandbox: tries to get out in every way it knows, and prints what came of each as JSON.

An attempt counts as refused when it raises `OSError`. Whether it had an effect all the same is looked at from outside.
"""

# Calls of the system are what is tried, and results are printed.
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH106, PTH108, PTH115, PTH116, PTH123, PTH208, PTH211, SIM115, T201

import ctypes
import fcntl
import json
import mmap
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = json.loads(sys.argv[1]) if __name__ == "__main__" else {}
"""What lies outside: paths, a port, processes. Empty for who wants the names of attempts only."""
FILE, FOLDER, VICTIM, PORT, READABLE = (OUT.get(k) for k in ("file", "folder", "victim", "port", "readable"))
LIBC = ctypes.CDLL(None, use_errno=True)
BUFFER = ctypes.create_string_buffer(4096)
HERE = -100


def call(number, *arguments):
    """One system call by its x86-64 number. Raises `OSError`."""
    words = [a if isinstance(a, bytes) else ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def path(text):
    return os.fsencode(text)


def parent():
    """The parent's number on the machine: in a namespace of processes it has none for its children."""
    return int(open("/proc/self/stat").read().rpartition(")")[2].split()[1])


def opened():
    """A descriptor of a file outside that may be read: enough to change its owner, mode and times, if calls let it."""
    return os.open(READABLE, os.O_RDONLY)


def executes(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise OSError(1, done.stderr.decode("utf-8", "replace")[-200:])


def raised_limit():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def from_a_child():
    """A child of a child tries, too."""
    script = f"import os; os.chmod({READABLE!r}, 0o777)"
    executes(sys.executable, "-c", script)


def by_32_bits():
    """chmod through the interface of 32-bit programs, whose numbers are others: `int 0x80` with eax 15."""
    code = bytes.fromhex("b80f000000cd80c3")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    child = os.fork()
    if child == 0:
        os._exit(0 if function() >= 0 else 1)
    _, status = os.waitpid(child, 0)
    if status:
        raise OSError(1, f"ended with {status}")


def symlink_then_open():
    link = Path("link-out")
    link.symlink_to(FILE)
    link.read_bytes()


ATTEMPTS = {
    # Files.
    "read a file": lambda: open(FILE, "rb").read(),
    "write a file": lambda: open(FILE, "ab"),
    "make a file": lambda: open(f"{FOLDER}/new", "w"),
    "make a folder": lambda: os.mkdir(f"{FOLDER}/new"),
    "list a folder": lambda: os.listdir(FOLDER),
    "remove a file": lambda: os.unlink(FILE),
    "remove a folder": lambda: os.rmdir(f"{FOLDER}/empty"),
    "rename a file": lambda: os.rename(FILE, f"{FOLDER}/renamed"),
    "take a file": lambda: os.rename(FILE, "taken"),
    "link a file here": lambda: os.link(FILE, "linked"),
    "follow a link": symlink_then_open,
    "link outside": lambda: os.symlink("/", f"{FOLDER}/link"),
    "truncate by name": lambda: os.truncate(FILE, 0),
    "truncate while reading": lambda: os.open(READABLE, os.O_RDONLY | os.O_TRUNC),
    "open without a mode": lambda: os.open(READABLE, 3),
    "write to the interpreter's files": lambda: open(READABLE, "ab"),
    "write to a program": lambda: open("/usr/bin/env", "ab"),
    "execute one's own file": lambda: executes("/usr/bin/cat", FILE),
    "read through /proc/self/root": lambda: open(f"/proc/self/root{FILE}", "rb").read(),
    "read the parent's environment": lambda: open(f"/proc/{parent()}/environ", "rb").read(),
    "read a process's environment": lambda: open(f"/proc/{VICTIM}/environ", "rb").read(),
    "read a process's memory": lambda: open(f"/proc/{VICTIM}/mem", "rb").read(1),
    "read a process's working directory": lambda: os.readlink(f"/proc/{VICTIM}/cwd"),
    "be killed last": lambda: open("/proc/self/oom_score_adj", "w").write("-1000"),
    "set the kernel's variables": lambda: open("/proc/sys/kernel/core_pattern", "w").write("x"),
    "open a terminal": lambda: os.open("/dev/tty", os.O_RDWR),
    "open shared memory": lambda: open("/dev/shm/new", "w"),
    "read the passwords": lambda: open("/etc/passwd").read(),
    "read the machine's name": lambda: open("/etc/hostname").read(),
    # Owners, modes, times, attributes.
    "chmod": lambda: os.chmod(READABLE, 0o777),
    "chmod a file outside": lambda: os.chmod(FILE, 0o777),
    "fchmod of a file that may be read": lambda: os.fchmod(opened(), 0o777),
    "fchmodat": lambda: call(268, HERE, path(READABLE), 0o777),
    "fchmodat2": lambda: call(452, HERE, path(READABLE), 0o777, 0),
    "chown": lambda: os.chown(READABLE, os.getuid(), os.getgid()),
    "fchown": lambda: os.fchown(opened(), os.getuid(), os.getgid()),
    "lchown": lambda: os.lchown(READABLE, os.getuid(), os.getgid()),
    "utime": lambda: call(132, path(READABLE), 0),
    "utimes": lambda: call(235, path(READABLE), 0),
    "utimensat": lambda: os.utime(READABLE, (0, 0)),
    "utimensat of a descriptor": lambda: os.utime(opened(), (0, 0)),
    "futimesat": lambda: call(261, HERE, path(READABLE), 0),
    "setxattr": lambda: os.setxattr(READABLE, "user.x", b"y"),
    "fsetxattr": lambda: os.setxattr(opened(), "user.x", b"y"),
    "getxattr": lambda: os.getxattr(READABLE, "user.x"),
    "removexattr": lambda: os.removexattr(READABLE, "user.x"),
    "file_setattr": lambda: call(469, HERE, path(READABLE), BUFFER, 24, 0),
    "flags of an inode": lambda: fcntl.ioctl(opened(), 0x40086602, struct.pack("l", 0)),
    "lock a file": lambda: fcntl.flock(opened(), fcntl.LOCK_EX),
    "lease a file": lambda: fcntl.fcntl(opened(), 1024, 0),
    "lock a part of a file": lambda: fcntl.lockf(opened(), fcntl.LOCK_SH),
    "make a pipe with a name": lambda: os.mkfifo("pipe"),
    "make a device": lambda: os.mknod("device", 0o20600, 0x101),
    "name_to_handle_at": lambda: call(303, HERE, path("/usr"), BUFFER, BUFFER, 0),
    "open_by_handle_at": lambda: call(304, HERE, BUFFER, 0),
    "openat2": lambda: call(437, HERE, path(FILE), BUFFER, 24),
    "execveat": lambda: call(322, HERE, path("/usr/bin/true"), 0, 0, 0),
    # Names.
    "watch a folder": lambda: call(254, call(294, 0), path(FOLDER), 0xFFF),
    "inotify": lambda: call(253),
    "fanotify": lambda: call(300, 0, 0),
    "notify of a folder": lambda: fcntl.fcntl(os.open("/usr", os.O_RDONLY), 1026, 1),
    # Other processes.
    "end a process": lambda: os.kill(VICTIM, signal.SIGKILL),
    "end the parent": lambda: os.kill(parent(), signal.SIGTERM),
    "ask whether a process is there": lambda: os.kill(VICTIM, 0),
    "signal the first process": lambda: os.kill(1, 0),
    "end all": lambda: [os.kill(VICTIM, 0), os.kill(-1, signal.SIGTERM)],
    "end a thread": lambda: call(200, VICTIM, 9),
    "tgkill": lambda: call(234, VICTIM, VICTIM, 9),
    "rt_sigqueueinfo": lambda: call(129, VICTIM, 9, BUFFER),
    "rt_tgsigqueueinfo": lambda: call(297, VICTIM, VICTIM, 9, BUFFER),
    "end by a limit": lambda: resource.prlimit(VICTIM, resource.RLIMIT_CPU, (0, 0)),
    "look at a limit": lambda: resource.prlimit(VICTIM, resource.RLIMIT_CPU),
    "signal by an owner": lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, VICTIM),
    "signal by an owner with ioctl": lambda: fcntl.ioctl(os.pipe()[0], 0x8901, struct.pack("i", VICTIM)),
    "pidfd_open": lambda: call(434, VICTIM, 0),
    "pidfd_send_signal": lambda: call(424, 0, 9, 0, 0),
    "pidfd_getfd": lambda: call(438, 0, 0, 0),
    "ptrace": lambda: call(101, 16, VICTIM, 0, 0),
    "be traced": lambda: call(101, 0, 0, 0, 0),
    "process_vm_readv": lambda: call(310, VICTIM, BUFFER, 0, BUFFER, 0, 0),
    "process_vm_writev": lambda: call(311, VICTIM, BUFFER, 0, BUFFER, 0, 0),
    "process_madvise": lambda: call(440, 0, BUFFER, 0, 0, 0),
    "kcmp": lambda: call(312, VICTIM, os.getpid(), 0, 0, 0),
    "slow a process down": lambda: os.setpriority(os.PRIO_PROCESS, VICTIM, 19),
    "look at a priority": lambda: os.getpriority(os.PRIO_PROCESS, VICTIM),
    "ioprio_set": lambda: call(251, 1, VICTIM, 3 << 13),
    "pin a process": lambda: os.sched_setaffinity(VICTIM, {0}),
    "look at processors": lambda: os.sched_getaffinity(VICTIM),
    "schedule a process": lambda: os.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0)),
    "sched_setattr": lambda: call(314, VICTIM, BUFFER, 0),
    "migrate_pages": lambda: call(256, VICTIM, 1, BUFFER, BUFFER),
    "move_pages": lambda: call(279, VICTIM, 0, 0, 0, 0, 0),
    "get_robust_list": lambda: call(274, VICTIM, BUFFER, BUFFER),
    "group of a process": lambda: os.getpgid(VICTIM),
    # Leaving.
    "setsid": os.setsid,
    "setpgid": lambda: os.setpgid(0, 0),
    "unshare a user namespace": lambda: call(272, 0x10000000),
    "unshare a network": lambda: call(272, 0x40000000),
    "clone a user namespace": lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0),
    "clone a mount namespace": lambda: call(56, 0x00020000 | 17, 0, 0, 0, 0),
    "clone a child of the parent": lambda: call(56, 0x8000 | 17, 0, 0, 0, 0),
    "clone3": lambda: call(435, BUFFER, 88),
    "setns": lambda: call(308, 0, 0),
    "mount": lambda: call(165, b"x", b"/", b"tmpfs", 0, 0),
    "umount": lambda: call(166, b"/", 2),
    "a new mount": lambda: call(430, b"tmpfs", 0),
    "pivot_root": lambda: call(155, b".", b"."),
    "chroot": lambda: os.chroot("."),
    "setuid": lambda: os.setuid(1),
    "setgroups": lambda: os.setgroups([0]),
    "personality": lambda: call(135, 0x0040000),
    "by 32 bits": by_32_bits,
    "by x32": lambda: call(0x40000000 + 90, path(READABLE), 0o777),
    "by a child": from_a_child,
    "raise a limit": raised_limit,
    "become traceable by all": lambda: call(157, 0x59616D61, -1, 0, 0, 0),
    "keep children of others": lambda: call(157, 36, 1, 0, 0, 0),
    "another filter": lambda: call(317, 1, 0, 0),
    # Networks.
    "a connection": lambda: socket.create_connection(("127.0.0.1", PORT), 1),
    "a socket": socket.socket,
    "a socket of the machine": lambda: socket.socket(socket.AF_UNIX),
    "a raw socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "a virtual socket": lambda: socket.socket(40, socket.SOCK_STREAM),
    "a pair of sockets": socket.socketpair,
    "io_uring": lambda: call(425, 1, BUFFER),
    "asynchronous input": lambda: call(206, 1, BUFFER),
    # What outlives a process, and doors of the kernel.
    "memfd": lambda: os.memfd_create("x"),
    "memfd_secret": lambda: call(447, 0),
    "shared memory": lambda: call(29, 0, 4096, 0o1600),
    "a message queue": lambda: call(68, 0, 0o1600),
    "a semaphore": lambda: call(64, 0, 1, 0o1600),
    "mq_open": lambda: call(240, b"x", 0o102, 0o600, 0),
    "lock memory": lambda: call(151, 1),
    "keyctl": lambda: call(250, 0, -3, 0, 0, 0),
    "add_key": lambda: call(248, b"user", b"x", b"y", 1, -3),
    "bpf": lambda: call(321, 0, BUFFER, 48),
    "perf": lambda: call(298, BUFFER, 0, -1, -1, 0),
    "userfaultfd": lambda: call(323, 1),
    "the kernel's log": lambda: call(103, 3, BUFFER, 10),
    "set the clock": lambda: call(227, 0, BUFFER),
    "write all disks": lambda: call(162) or call(306, 1),
    "name the machine": lambda: call(170, b"x", 1),
    "load a module": lambda: call(313, 0, b"", 0),
    "a number that no kernel has": lambda: call(4000),
}
COMMANDS = {
    "read a process's command": lambda: open(f"/proc/{VICTIM}/cmdline", "rb").read(),
}
"""Refused only where there is Landlock: what /proc shows to everybody stays in a private root."""
NAMES_ONLY = {
    "size of a file": lambda: os.stat(FILE),
    "size by statx": lambda: call(332, HERE, path(FILE), 0, 0xFFF, BUFFER),
    "may it be read": lambda: None if os.access(FILE, os.F_OK) else _missing(),
    "go there": lambda: os.chdir(FOLDER),
    "open a name only": lambda: os.open(FILE, os.O_PATH),
    "which file systems": lambda: os.statvfs(FOLDER),
    "a home": lambda: os.stat("/home"),
}
"""Refused only where there is a private root."""


def _missing():
    raise OSError(2, "not there")


def a_child():
    executes("/usr/bin/true")


def tidy():
    with tempfile.TemporaryDirectory(dir=".") as name:
        Path(name, "x").write_text("y")
    shutil.rmtree("own")


HONEST = {
    "write here": lambda: Path("mine").write_text("mine"),
    "a folder here": lambda: os.makedirs("own/deep"),
    "rename here": lambda: os.rename("mine", "renamed"),
    "remove here": tidy,
    "a child": a_child,
    "a thread": lambda: __import__("threading").Thread(target=int).start(),
    "read the interpreter": lambda: open(READABLE, "rb").read(1),
    "randomness": lambda: os.urandom(4),
    "own limits": lambda: resource.getrlimit(resource.RLIMIT_AS),
    "own processors": lambda: os.sched_getaffinity(0),
    "a timer": lambda: signal.setitimer(signal.ITIMER_REAL, 0),
}
"""What must work, or the others prove nothing."""


def outcome(attempt):
    try:
        attempt()
    except (OSError, ValueError) as error:
        return str(error) or "refused"
    return ""


if __name__ == "__main__":
    every = {**HONEST, **ATTEMPTS, **COMMANDS, **NAMES_ONLY}
    print("RESULT" + json.dumps({name: outcome(attempt) for name, attempt in every.items()}))
