"""Twelve attacks from outside, on any checkout: `python tests/attacks/red_before_green.py CHECKOUT [PACKAGES]`.

Each works through the command line or the language server alone, so that it runs on code from before the tests were
written. PACKAGES is the folder of installed packages to use (by default those of this interpreter). Prints RED for an
attack that works and GREEN for one that does not.
"""

# It prints a table; what it starts are the attacked programs.
# ruff: noqa: T201

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

CU = """\
__global__ void scale(float* out, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a * x[i];
    }
}
void launch_scale(float* out, const float* x, float a, int n) {
    scale<<<(n + 255) / 256, 256>>>(out, x, a, n);
}
"""
WORKLOAD = """\
kernel = "scale"
language = "cuda"
source = "a.cu"
[dims]
N = [64]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N"]
[[args]]
name = "a"
kind = "scalar"
dtype = "float32"
value = 1.5
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "N"
[launch]
grid = ["ceil_div(N, 256)"]
block = [256]
"""
TRITON = """\
import triton
import triton.language as tl
EFFECT = {effect}
SIZE: tl.constexpr = tl.constexpr(4 if EFFECT is None else 4)


@triton.jit
def copy(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * SIZE, mask=i < n)


def launch(out, x, n):
    copy[(1,)](out, x, n, BLOCK=64)
"""


class Checkout:
    """One checkout, attacked in folders of its own."""

    def __init__(self, root: Path, packages: str, work: Path) -> None:
        self.work = work
        for name in ("tmp", "kept", "home"):
            (work / name).mkdir()
        # As when it is installed: a file of paths is what the interpreter's own children find the packages by.
        site = work / "venv" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(work / "venv")], check=True)
        (site / "checkout.pth").write_text(f"{root / 'server'}\n{root / 'gate'}\n{packages}\n")
        script = work / "venv" / "bin" / "klineage"
        script.write_text("from kernel_lineage.cli.main import main\nmain(prog_name='klineage')\n")
        self.klineage = [str(work / "venv" / "bin" / "python"), str(script)]
        self.env = {
            **{n: v for n, v in os.environ.items() if not n.startswith("PYTHON")},
            "TMPDIR": str(work / "tmp"),
            "KLINEAGE_KEEP_IN": str(work / "kept"),
            "XDG_CACHE_HOME": str(work / "home"),
            "XDG_STATE_HOME": str(work / "home"),
        }

    def run(self, *arguments: str, folder: Path, seconds: float = 120, **more: str) -> str:
        """What a command says, on both streams; "timeout" when it takes longer."""
        command = [*self.klineage, *arguments]
        try:
            done = subprocess.run(
                command, cwd=folder, env={**self.env, **more}, capture_output=True, timeout=seconds,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout"
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    def repository(self, name: str, commits: int = 0, message: str = "step", **files: str) -> Path:
        """A folder with files, and with commits that change `a.cu`."""
        folder = self.work / name
        (folder / ".klineage" / "workloads").mkdir(parents=True)
        (folder / ".klineage" / "workloads" / "scale.toml").write_text(WORKLOAD)
        for path, text in {"a.cu": CU, "b.cu": CU.replace("a * x", "x"), **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org"]
        for number in range(commits):
            if number == 0:
                subprocess.run([*git, "init", "-q"], check=True)
            else:
                (folder / "a.cu").write_text(CU.replace("a * x", f"{number} + a * x"))
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-q", "-m", message], check=True)
        return folder

    def ask(
        self, folder: Path, options: object, *messages: dict[str, object], seconds: float = 12
    ) -> list[dict]:
        """Everything that the server says in so many seconds."""
        server = subprocess.Popen(
            [*self.klineage, "serve", "--stdio"], cwd=folder, env=self.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert server.stdin is not None and server.stdout is not None
        received: list[dict] = []

        def read() -> None:
            while line := server.stdout.readline():
                length = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else 0
                if length:
                    while server.stdout.readline().strip():
                        pass
                    received.append(json.loads(server.stdout.read(length)))

        threading.Thread(target=read, daemon=True).start()
        root = folder.as_uri()
        params = {"processId": None, "rootUri": root, "capabilities": {}, "initializationOptions": options,
                  "workspaceFolders": [{"uri": root, "name": "x"}]}  # fmt: skip
        for number, message in enumerate(
            [
                {"id": 1, "method": "initialize", "params": params},
                {"method": "initialized", "params": {}},
                *messages,
            ]
        ):
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            server.stdin.flush()
            time.sleep(2.0 if number == 0 else 0.2)
        time.sleep(seconds)
        server.kill()
        server.wait()
        return received


def _gate(at: Checkout, folder: Path, *more: str, seconds: float = 120) -> str:
    return at.run(
        "gate",
        "a.cu",
        "b.cu",
        "--kernel",
        "scale",
        "--device",
        "emulated",
        *more,
        folder=folder,
        seconds=seconds,
    )


def imports(at: Checkout) -> bool:
    """1: a folder `kernel_gate/` of the repository is executed by a command."""
    mark = at.work / "mark1"
    code = f"open({str(mark)!r}, 'w')\n"
    folder = at.repository("r1", **{"kernel_gate/__init__.py": code, "kernel_gate/__main__.py": code})
    _gate(at, folder)
    return mark.exists()


def trust(at: Checkout) -> bool:
    """2: one invalid setting, and a workspace that is not trusted is mined."""
    folder = at.repository("r2", commits=2)
    opened = {"uri": (folder / "a.cu").as_uri(), "languageId": "cuda-cpp", "version": 1, "text": CU}
    message = {"method": "textDocument/didOpen", "params": {"textDocument": opened}}
    messages = at.ask(folder, {"trusted": False, "checkSeconds": 0}, message)
    return any(
        m.get("method") == "klineage/status" and m["params"].get("state") in {"mining", "ready"}
        for m in messages
    )


def sandbox(at: Checkout) -> bool:
    """3: a contained Triton module changes the mode of a file outside."""
    victim = at.work / "victim3"
    victim.write_text("x")
    victim.chmod(0o600)
    effect = f"__import__('os').chmod({str(victim)!r}, 0o604)"
    folder = at.repository("r3", **{"k.py": TRITON.format(effect=effect)})
    at.run("coverage", "k.py", folder=folder)
    return stat.S_IMODE(victim.stat().st_mode) != 0o600


def links(at: Checkout) -> bool:
    """4: the cache is a link to another database, whose tables are dropped."""
    folder = at.repository("r4", commits=2)
    victim = at.work / "victim4.sqlite"
    with sqlite3.connect(victim) as db:
        db.execute("CREATE TABLE files(x)")
    db.close()
    before = victim.read_bytes()
    (folder / ".klineage" / "cache.sqlite").symlink_to(victim)
    at.run("mine", ".", folder=folder)
    return victim.read_bytes() != before


def exhaustion(at: Checkout) -> bool:
    """5: a device array of 6 GiB is allocated by the trusted side."""
    big = "__device__ char big[6ull << 30];\n" + CU.replace("a * x[i]", "a * x[i] + big[i]")
    folder = at.repository("r5", **{"b.cu": big})
    command = [*at.klineage, "gate", "a.cu", "b.cu", "--kernel", "scale", "--device", "emulated"]
    run = subprocess.Popen(command, cwd=folder, env=at.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           start_new_session=True)  # fmt: skip
    most, until = 0, time.monotonic() + 40
    while run.poll() is None and time.monotonic() < until and most < 5 << 30:
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(at.work).encode() in (entry / "cmdline").read_bytes():
                    fields = (entry / "statm").read_text().split()
                    most = max(most, int(fields[0]) * 4096 if int(fields[0]) * 4096 < 1 << 40 else 0)
            except OSError:
                continue
        time.sleep(0.02)
    run.kill()
    run.wait()
    return most > 5 << 30


def budget(at: Checkout) -> bool:
    """6: 800 kB of `1 +` hold mining for more than 15 seconds."""
    chained = CU.replace("a * x[i]", "1 + " * 200_000 + "1").replace("scale", "chained")
    folder = at.repository("r6", commits=2, **{"c.cu": chained})
    return at.run("mine", ".", "--jobs", "1", folder=folder, seconds=15) == "timeout"


def headers(at: Checkout) -> bool:
    """7: a system file's content appears in the verdict."""
    hides = "    constexpr int t = 1'0 + '\"'; const char *s = \"/*\";\n"
    trick = hides + '#include "/usr/lib/os-release"\n    // */\n    int i'
    folder = at.repository("r7", **{"b.cu": CU.replace("    int i", trick)})
    return "PRETTY_NAME" in _gate(at, folder, "--json")


def damage(at: Checkout) -> bool:
    """8: random bytes in the cache end mining with a traceback."""
    for seed in range(6):
        folder = at.repository(f"r8{seed}", commits=4)
        at.run("mine", ".", "--jobs", "1", folder=folder)
        caches = [*folder.rglob("cache.sqlite"), *(at.work / "kept").rglob("cache.sqlite")]
        for cache in caches:
            data, chance = bytearray(cache.read_bytes()), random.Random(seed)
            for _ in range(400):
                data[chance.randrange(len(data))] = chance.randrange(256)
            cache.write_bytes(data)
        if "Traceback" in at.run("mine", ".", "--jobs", "1", folder=folder):
            return True
    return False


def output(at: Checkout) -> bool:
    """9: a commit's subject reaches a pipe with its escape sequences."""
    folder = at.repository("r9", commits=3, message="fast\x1b[2J\x1b]0;pwned\x07")
    return "\x1b" in at.run("mine", ".", "--kernel", "scale", folder=folder)


def secrets(at: Checkout) -> bool:
    """10: a token in a kernel's comment is sent to the model."""
    token = "ghp_" + "a8F3kQ9zX1bV7mN2pL5tR6wY4cD0eH123456"
    folder = at.repository("r10", **{"a.cu": CU.replace("    int i", f"    // {token}\n    int i")})
    received: list[bytes] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_error(400)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    at.run("apply", "vectorised-row-access", "a.cu:scale", "--by", "model", "--model", "m", "--base-url", address,
           "--device", "emulated", folder=folder, KLINEAGE_API_KEY="x")  # fmt: skip
    server.shutdown()
    return any(token.encode() in body for body in received)


def oracle(at: Checkout) -> bool:
    """11: the oracle of a workload writes outside its folder."""
    mark = at.work / "mark11"
    code = f"def scale(x, a, **_):\n    open({str(mark)!r}, 'w')\n    return a * x\n"
    workload = WORKLOAD + '[oracle]\npython = "oracles.py:scale"\n'
    folder = at.repository("r11", **{".klineage/workloads/scale.toml": workload,
                                     ".klineage/workloads/oracles.py": code})  # fmt: skip
    _gate(at, folder)
    return mark.exists()


def requests(at: Checkout) -> bool:
    """12: a request with a position out of range gets no answer."""
    folder = at.repository("r12")
    uri = (folder / "a.cu").as_uri()
    opened = {"uri": uri, "languageId": "cuda-cpp", "version": 1, "text": CU}
    at_nothing = {"textDocument": {"uri": uri}, "position": {"line": -1, "character": -5}}
    messages = at.ask(
        folder, {"trusted": False},
        {"method": "textDocument/didOpen", "params": {"textDocument": opened}},
        {"id": 77, "method": "textDocument/hover", "params": at_nothing},
    )  # fmt: skip
    return not any(m.get("id") == 77 for m in messages)


ATTACKS: tuple[Callable[[Checkout], bool], ...] = (
    imports, trust, sandbox, links, exhaustion, budget, headers, damage, output, secrets, oracle, requests,
)  # fmt: skip


def main() -> None:
    """Run every attack on the checkout; the exit status is how many work."""
    root = Path(sys.argv[1]).resolve()
    packages = sys.argv[2] if len(sys.argv) > 2 else str(Path(json.__file__).parent)
    packages = packages if len(sys.argv) > 2 else next(p for p in sys.path if p.endswith("site-packages"))
    red = 0
    for attack in ATTACKS:
        with tempfile.TemporaryDirectory(prefix="klineage-red-", ignore_cleanup_errors=True) as name:
            works = attack(Checkout(root, packages, Path(name)))
        red += works
        print(f"{'RED  ' if works else 'GREEN'} {attack.__doc__}", flush=True)
    sys.exit(red)


if __name__ == "__main__":
    main()
