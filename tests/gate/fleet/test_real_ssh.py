"""Verdicts over OpenSSH's own client and server, on this machine: keys, known hosts and a port, as people have them."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from executable_files import write_executable
from gate.programs import affine, workload
from kernel_gate.fleet.elsewhere import elsewhere
from kernel_gate.fleet.travelling import ClusterError
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
SSH = shutil.which("ssh")
KLINEAGE = Path(sys.executable).with_name("klineage")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SSHD is None or SSH is None, reason="needs OpenSSH's client and server"),
]
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
"""
CLIENT = """\
Host gpu-box
  HostName 127.0.0.1
  User {user}
  IdentityFile {folder}/user
  UserKnownHostsFile {folder}/known_hosts
"""


@pytest.fixture
def port(tmp_path, monkeypatch) -> Iterator[int]:
    """A server that lets this user in, and an `ssh` that knows it as `gpu-box`, of an unusual port."""
    assert SSHD is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    key = " ".join((tmp_path / "host.pub").read_text().split()[:2])
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{number} {key}\n")
    (tmp_path / "server").write_text(SERVER.format(port=number, folder=tmp_path))
    (tmp_path / "client").write_text(CLIENT.format(user=getpass.getuser(), folder=tmp_path))
    programs = tmp_path / "programs"
    programs.mkdir()
    write_executable(programs / "ssh", f'#!/bin/sh\nexec {SSH} -F {tmp_path}/client "$@"\n')
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # the server of root wants an empty folder there
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "server"], stderr=subprocess.PIPE)
    try:
        until_it_listens(server, number)
        yield number
    finally:
        server.kill()
        server.wait()


def until_it_listens(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert server.poll() is None, server.communicate()[1].decode()
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.05)


def test_a_wrong_candidate_is_rejected_and_a_right_one_is_not(port):
    wrong = GateRequest.of(affine(), affine("2.0f", "3.0f"), workload(), device="emulated")
    right = GateRequest.of(affine(), affine(), workload(), device="emulated")
    with elsewhere(f"ssh://gpu-box:{port}{KLINEAGE}") as pool:
        assert pool.judge(wrong).code == Reason.WRONG_VALUE
        assert pool.judge(right).code == Reason.NOT_PROFILED


def test_what_ssh_says_is_said_with_the_command_to_try(port):
    request = GateRequest.of(affine(), affine(), workload(), device="emulated")
    message = (
        f"did not start `/no/klineage judge`: .*; `ssh -p {port} gpu-box /no/klineage --version` has to work"
    )
    with elsewhere(f"ssh://gpu-box:{port}/no/klineage") as pool, pytest.raises(ClusterError, match=message):
        pool.judge(request)
    with elsewhere("ssh://gpu-box:1/klineage") as pool, pytest.raises(ClusterError, match="refused"):
        pool.judge(request)
