"""A stand-in for `ssh`: the "other machine" is this one, another process with a home of its own."""

import sys
from pathlib import Path

from executable_files import write_executable

SSH = """\
#!{python} -I
import os, shlex, sys
words = sys.argv[1:]
host, command = words[words.index("--") + 1 :]
open({log!r}, "a").write(f"{{os.getpid()}} {{host}} {{command}}\\n")
home = {home!r}
if host.endswith("away"):
    sys.exit("ssh: Could not resolve hostname " + host)
print("Welcome to", host, flush=True)  # as a login's greeting
env = {{"PATH": {path!r}, "HOME": home, "XDG_CACHE_HOME": home}}
read, write = os.pipe()
child = os.fork()
if child == 0:  # what arrives is kept, to be looked at
    os.close(read)
    with open({sent!r}, "ab") as kept:
        while data := os.read(0, 1 << 16):
            kept.write(data)
            kept.flush()
            os.write(write, data)
    os._exit(0)
os.close(write)
os.dup2(read, 0)
os.chdir(home)
os.execve("/bin/sh", ["sh", "-c", command], env)
"""


class OtherMachine:
    """Its `ssh` is in `programs`; what was sent to it is in `sent`, who asked in `log`."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.home = folder / "programs", folder / "home"
        self.sent, self.log = folder / "sent", folder / "log"
        for made in (self.programs, self.home):
            made.mkdir()
        for made in (self.sent, self.log):
            made.touch()
        ssh = self.programs / "ssh"
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        values = {"log": str(self.log), "sent": str(self.sent), "home": str(self.home), "path": path}
        write_executable(ssh, SSH.format(python=sys.executable, **values))
