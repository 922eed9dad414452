"""What a program may do while it is compiled: nothing but compile. Honest programs are those of test_compile.py."""

import dataclasses
import socket

import pytest

from gate.build.test_compile import SOFTMAX, UNIT, build_error, cuda, triton
from kernel_gate.build.compile import Limits, compile_program
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import Containment, offered

KERNEL = "__global__ void k(float *y) { y[0] = 1.0f; }\n"
needs_containment = pytest.mark.skipif(
    not offered().holds, reason="this machine has no Landlock or no seccomp; klineage doctor says so"
)


def module(text: str) -> str:
    """A module that does `text` before its honest kernel."""
    return f"import os, socket, subprocess, sys\n{text}\n{SOFTMAX}"


REFUSED = {
    "reads a file of the machine": "open('/etc/hostname').read()",
    "lists a home": "os.listdir('/root')",
    "writes beside its folder": "open('/tmp/gate-was-here', 'w')",
    "writes to the gate's own code": "import kernel_gate.compare as c; open(c.__file__, 'a')",
    "opens a socket": "socket.socket()",
    "asks a name server": "socket.getaddrinfo('localhost', 80)[0]; socket.create_connection(('127.0.0.1', 80))",
    "leaves its process group": "os.setsid()",
    "looks into its parent": "open(f'/proc/{os.getppid()}/environ').read()",
    "ends its parent": "os.kill(os.getppid(), 9)",
    "hides memory": "os.memfd_create('x')",
    "starts a program that reads": "subprocess.run(['cat', '/etc/hostname'], check=True)",
}


@needs_containment
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_triton_module_is_refused_what_it_does_not_need(text):
    with pytest.raises((BuildError, CompilerMissing)) as caught:
        compile_program(triton(module(text)), "sm_80", (UNIT,))
    error = caught.value
    if "os.kill" in text and error.code is Reason.COMPILER_ENDED:
        return  # in a namespace of processes its parent has no number, and the signal goes to itself alone
    assert "softmax.py:2: " in str(error)
    refusals = ("Permission", "not permitted", "No such file", "Read-only", "gaierror", "CalledProcessError")
    assert any(word in str(error) for word in refusals)


@needs_containment
def test_the_refusal_says_what_is_allowed():
    error = build_error(triton(module("open('/etc/hostname')")), UNIT)
    assert error.code is Reason.SOURCE_NOT_ALLOWED
    assert "softmax.py:2: " in str(error)
    assert "may read the compiler's and the interpreter's files and use its own folder" in str(error)


@needs_containment
def test_a_listening_program_of_the_machine_is_out_of_reach():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        error = build_error(triton(module(f"socket.create_connection(('127.0.0.1', {port}))")), UNIT)
    assert "PermissionError" in str(error)


@pytest.mark.parametrize(
    ("text", "limits", "message"),
    [
        (
            "children = [subprocess.Popen(['sleep', '60']) for _ in range(40)]; children[0].wait()",
            Limits(processes=10),
            "started more than 10 processes",
        ),
        (
            "for i in range(5000): open(f'{i}', 'w').close()\nimport time; time.sleep(60)",
            Limits(files=200),
            "wrote more than 200 files",
        ),
        (
            "for i in range(40): open(f'{i}', 'wb').write(bytes(1 << 20))\nimport time; time.sleep(60)",
            Limits(folder_bytes=8 << 20),
            "wrote more than 8 MB",
        ),
        (
            "hoard = [b'x' * (1 << 20) for _ in range(600)]\nimport time; time.sleep(60)",
            Limits(resident_bytes=400 << 20),
            "took more than 0.391 GB of memory",
        ),
        ("open('huge', 'wb').write(bytes(64 << 20))", Limits(output_bytes=8 << 20), "File too large"),
        ("import time; time.sleep(60)", Limits(seconds=1), "took longer than 1 s"),
        ("while True: pass", Limits(seconds=1), "took longer than 1 s"),
    ],
    ids=["processes", "files", "bytes", "memory", "one file", "sleep", "loop"],
)
def test_what_a_program_takes_is_limited(text, limits, message):
    error = build_error(triton(module(text)), UNIT, limits=limits)
    assert message in str(error)


def test_a_result_that_points_elsewhere_is_not_read(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"error": "build", "message": "a secret", "diagnostics": [], "log": ""}')
    error = build_error(triton(module(f"os.symlink({str(secret)!r}, 'result.json'); os._exit(0)")), UNIT)
    assert "a secret" not in str(error)
    pipe = build_error(triton(module("os.mkdir('result.json'); os._exit(0)")), UNIT)
    assert "ended without a result" in str(pipe)


def test_inline_ptx_cannot_pull_in_a_file_of_the_machine():
    inline = KERNEL.replace("y[0]", 'asm volatile(".include \\"/etc/hostname\\"\\n"); y[0]')
    assert ".include" in str(build_error(cuda(inline, "k")))


NOTHING = Containment(landlock=0, seccomp=False)


def test_without_a_sandbox_a_triton_program_is_not_run():
    with pytest.raises(CompilerMissing, match="no sandbox") as caught:
        compile_program(triton(SOFTMAX), "sm_80", (UNIT,), containment=NOTHING)
    assert caught.value.code is Reason.SANDBOX_UNAVAILABLE
    trusted = compile_program(triton(SOFTMAX), "sm_80", (UNIT,), containment=NOTHING, allow_uncontained=True)
    assert trusted[UNIT].ptx


def test_a_sandbox_that_cannot_be_entered_is_not_done_without():
    newer = dataclasses.replace(offered(), landlock=99)
    with pytest.raises(CompilerMissing, match="cannot be entered"):
        compile_program(cuda(KERNEL, "k"), "sm_80", containment=newer)


def test_what_is_not_contained_is_named():
    assert NOTHING.missing == (
        "reads and writes of the user's files",
        "names, sizes and times of other files",
        "networks",
        "signals to other processes",
    )
    assert Containment(landlock=3, seccomp=True).missing == ("names, sizes and times of other files",)
    assert Containment(landlock=3, seccomp=True).holds
    assert Containment(landlock=0, seccomp=True, private_root=True).missing == ()
