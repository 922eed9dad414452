"""What a hostile repository holds in the place of files."""

import os
import socket
from pathlib import Path

OUTSIDE = "what lies outside"
LINK = "leads out of"
WORKLOAD = """\
kernel = "twice"
language = "cuda"
[dims]
n = [4]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["n"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["n"]
values = "normal"
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 256)"]
block = [256]
"""


def hostile_file(path: Path, kind: str) -> str:
    """Make one; what a refusal says of it."""
    match kind:
        case "fifo":
            os.mkfifo(path)
            return "FIFO"
        case "zero":
            path.symlink_to("/dev/zero")
            return LINK
        case "link out":
            path.symlink_to(path.anchor + "etc/passwd")
            return LINK
        case "folder":
            path.mkdir()
            return "folder"
        case "loop":
            path.symlink_to(path.name)
            return "leads back to itself|symbolic links"
        case "socket":
            here = Path.cwd()
            os.chdir(path.parent)  # the name of a socket is short
            try:
                socket.socket(socket.AF_UNIX).bind(path.name)
            finally:
                os.chdir(here)
            return "socket"
        case "large":
            with path.open("wb") as file:
                file.truncate(1 << 40)
            return "larger than"
    raise AssertionError(kind)
