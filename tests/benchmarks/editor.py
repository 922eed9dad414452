"""How fast the language server answers: a generated 5,000-line .cu file, 200 skills, the real process over stdio."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types

from kernel_lineage.editor.documents import Documents
from kernel_lineage.editor.text import Text
from kernel_lineage.kernels.document import OpenDocument
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.library import builtin_folder

SUMMARY = "hover, code actions, keystroke to fresh parse and start of the language server"
RESULTS = Path(__file__).parent / "results"
LINES, SKILLS = 5000, 200
GOALS_MS = {
    "start to first answer": 1000.0,
    "start to first answer, processor time": None,
    "hover on a kernel": 50.0,
    "hover on an anchor": 50.0,
    "code actions": 50.0,
    "hover right after a key, 500 kernels": 50.0,
    "keystroke to fresh syntax tree": 10.0,
    "keystroke to kernels read anew": None,
    "save to diagnostic of a race": 4000.0,
    "open to first verdict, cold": None,
    "open of a new file to its verdict, warm": None,
    "open again to its verdict, warm": 1000.0,
    "open again to its verdict, another server": None,
}
# What a server tells of a file before its verdict: not checked since the last edit, or being checked.
UNDECIDED = ("edited", "checking")
T = TypeVar("T")

KERNEL = """\
// Kernel {n}: scales the rows of x.
__global__ void scale_rows_{n}(float* out, const float* x, const float* weight, int N, int C) {{
    __shared__ float partial[128];
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {{
        sum += row[i] * row[i]; // {n}.
    }}
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {{
        if (threadIdx.x < s) {{
            partial[threadIdx.x] += partial[threadIdx.x + s];
        }}
        __syncthreads();
    }}
    float scale = rsqrtf(partial[0] / C + 1e-5f);
    for (int i = threadIdx.x; i < C; i += blockDim.x) {{
        out[blockIdx.x * C + i] = row[i] * scale * weight[i];
    }}
}}

void launch_scale_rows_{n}(float* out, const float* x, const float* weight, int N, int C) {{
    scale_rows_{n}<<<N, 128>>>(out, x, weight, N, C);
}}

"""

RACY = """\
// Sums the blocks of x. Change {n}.
__global__ void block_sum(float* out, const float* x, int n) {{
    __shared__ float buf[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float mine = 0.0f;
    if (i < n) {{
        mine = x[i];
    }}
    buf[threadIdx.x] = mine; // {n}
    {barrier}
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {{
        if (threadIdx.x < s) {{
            buf[threadIdx.x] += buf[threadIdx.x + s];
        }}
        __syncthreads();
    }}
    if (threadIdx.x == 0) {{
        out[blockIdx.x] = buf[0];
    }}
}}

void launch_block_sum(float* out, const float* x, int n) {{
    block_sum<<<(n + 255) / 256, 256>>>(out, x, n);
}}
"""
"""A kernel without a workload, with its barrier or without."""

SHORT = """\
__global__ void shift_{n}(float* out, const float* x, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        out[i] = x[i] + 2.0f; // {n}.
    }}
}}
void launch_shift_{n}(float* out, const float* x, int n) {{
    shift_{n}<<<(n + 127) / 128, 128>>>(out, x, n);
}}

"""
"""Ten lines, of which 500 make a file of as many kernels as one may hold."""

KERNELS = LINES // KERNEL.count("\n") + 1


def main(arguments: list[str]) -> None:
    """Measure, print the table and write it to `results/`."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks editor", description=__doc__)
    parser.add_argument("--repeat", type=int, default=100, help="requests of each kind (default 100)")
    parser.add_argument("--saves", type=int, default=20, help="saves of a kernel that is wrong (default 20)")
    parser.add_argument("--starts", type=int, default=10, help="starts of the server (default 10)")
    parser.add_argument("--opens", type=int, default=20, help="files that are opened twice (default 20)")
    parser.add_argument("--only-opens", action="store_true", help="measure these, and keep the other figures")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="klineage-bench-") as folder:
        figures = asyncio.run(_opens(Path(folder), options.opens))
        if not options.only_opens:
            path = _workspace(Path(folder))
            figures |= asyncio.run(_measure(path, options.repeat, options.starts))
            figures |= asyncio.run(_checks(Path(folder), options.saves))
    _report(figures, ["editor", *arguments])


def _workspace(folder: Path) -> Path:
    """A file of 5,000 lines and as many copies of the built-in skills, under other names, as make 200."""
    skills = sorted(p for p in builtin_folder().iterdir() if (p / "conditions.toml").is_file())
    for n in range(SKILLS - len(skills)):
        skill = skills[n % len(skills)]
        name = f"{skill.name}-{n // len(skills) + 2}"
        copy = folder / ".klineage" / "skills" / name
        shutil.copytree(skill, copy)
        card = (copy / "SKILL.md").read_text("utf-8")
        (copy / "SKILL.md").write_text(card.replace(f"name: {skill.name}", f"name: {name}", 1), "utf-8")
    path = folder / "rows.cu"
    path.write_text("".join(KERNEL.format(n=n) for n in range(KERNELS)), "utf-8")
    return path


async def _measure(path: Path, repeat: int, starts: int) -> dict[str, list[float]]:
    """Milliseconds of every request, by kind."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from editor.session import session

    figures = await _starts(path, starts)
    async with session(path.parent) as editor:
        uri = editor.open(path)
        await editor.hover(uri, "scale_rows_0(")
        # Each request is about another kernel while there are any, so that few answers are ones that were kept.
        names = [f"scale_rows_{(37 * n) % KERNELS}(" for n in range(repeat)]
        anchors = [f"row[i]; // {(53 * n) % KERNELS}." for n in range(repeat)]
        figures["hover on a kernel"] = await _times(names, lambda name: editor.hover(uri, name))
        figures["hover on an anchor"] = await _times(anchors, lambda anchor: editor.hover(uri, anchor))
        figures["code actions"] = await _times(anchors, lambda anchor: editor.actions(uri, anchor))
        short = LINES // SHORT.count("\n")
        many = editor.open(path.with_name("many.cu"), "".join(SHORT.format(n=n) for n in range(short)))

        async def typed(n: int) -> None:
            editor.replace(many, f" // {n}.", f" // {n}. ")
            assert await editor.hover(many, f"shift_{n}(")

        await editor.hover(many, "shift_0(")
        numbers = [(37 * n + 1) % short for n in range(repeat)]
        figures["hover right after a key, 500 kernels"] = await _times(numbers, typed)
    figures["keystroke to fresh syntax tree"] = await _trees(path, repeat)
    figures["keystroke to kernels read anew"] = await _keystrokes(path, repeat)
    return figures


async def _starts(path: Path, starts: int) -> dict[str, list[float]]:
    """From the start of a server to its first hover, and its processor time, which a busy machine does not lengthen."""
    from editor.session import session

    waited, computed = [], []
    for _ in range(starts):
        began = time.perf_counter()
        async with session(path.parent) as editor:
            uri = editor.open(path, KERNEL.format(n=0))
            assert await editor.hover(uri, "scale_rows_0(")
            waited.append((time.perf_counter() - began) * 1000)
            server = editor.client._server
            assert server is not None
            fields = Path(f"/proc/{server.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            computed.append(sum(map(int, fields[11:13])) * 1000 / os.sysconf("SC_CLK_TCK"))
    return {"start to first answer": waited, "start to first answer, processor time": computed}


async def _checks(folder: Path, saves: int) -> dict[str, list[float]]:
    """From a save to the diagnostic, each time of another text; and the first verdict of a server that just started."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from editor.session import session

    path = folder / "block_sum.cu"
    path.write_text(RACY.format(n=0, barrier="__syncthreads();"), "utf-8")
    states: asyncio.Queue[str] = asyncio.Queue()
    times = []
    began = time.perf_counter()
    async with session(folder, {"check": "saving", "checkSeconds": 60}) as editor:
        editor.hears_of_checks = lambda status: states.put_nowait(status.state)
        uri = editor.open(path)

        async def ended() -> str:
            while (state := await states.get()) in UNDECIDED:
                pass
            return state

        assert await ended() == "right"
        cold = (time.perf_counter() - began) * 1000
        barriers = ("__syncthreads();", "")
        for n in range(1, 2 * saves + 1):
            editor.replace(
                uri,
                RACY.format(n=n - 1, barrier=barriers[(n - 1) % 2]),
                RACY.format(n=n, barrier=barriers[n % 2]),
            )
            began = time.perf_counter()
            editor.save(uri)
            state = await ended()
            assert state == ("wrong" if n % 2 else "right"), state
            if n % 2:
                times.append((time.perf_counter() - began) * 1000)
    return {"save to diagnostic of a race": times, "open to first verdict, cold": [cold]}


async def _opens(folder: Path, opens: int) -> dict[str, list[float]]:
    """From the opening of a 30-line kernel to its verdict: the first time, again, and again in another server."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from editor.session import session

    (folder / ".klineage").mkdir()
    paths = [folder / f"opened_{n}.cu" for n in range(opens + 1)]
    for n, path in enumerate(paths):
        path.write_text(RACY.format(n=n, barrier="__syncthreads();"), "utf-8")

    async def opened(editor: Any, path: Path) -> float:
        states: asyncio.Queue[str] = asyncio.Queue()
        uri = path.as_uri()
        editor.hears_of_checks = lambda status: status.uri == uri and states.put_nowait(status.state)
        began = time.perf_counter()
        editor.open(path)
        while (state := await states.get()) in UNDECIDED:
            pass
        assert state == "right", state
        took = (time.perf_counter() - began) * 1000
        editor.close(uri)
        return took

    async with session(folder, {"checkSeconds": 60}) as editor:
        await opened(editor, paths[0])  # the processes start
        first = [await opened(editor, path) for path in paths[1:]]
        again = [await opened(editor, path) for path in paths[1:]]
    async with session(folder, {"checkSeconds": 60}) as editor:
        await opened(editor, paths[0])
        other = [await opened(editor, path) for path in paths[1:]]
    for path in paths:
        path.unlink()
    return {
        "open of a new file to its verdict, warm": first,
        "open again to its verdict, warm": again,
        "open again to its verdict, another server": other,
    }


async def _trees(path: Path, repeat: int) -> list[float]:
    """From an editor's edit of one character to the tree that follows it."""
    text = Text(path.read_bytes())
    parsed = OpenDocument(text.data, Language.CUDA)

    async def type_one(n: int) -> None:
        nonlocal text
        start = text.offset(types.Position((n * 41) % LINES, 0))
        text = text.replaced(start, start, b" ")
        parsed.edit(start, start, b" ")

    return await _times(range(repeat), type_one)


async def _keystrokes(path: Path, repeat: int) -> list[float]:
    """From an edit of one character to all kernels of the document, as an answer right after the key would need."""
    documents = Documents()
    uri = path.as_uri()
    documents.open(types.TextDocumentItem(uri, "cuda-cpp", 0, path.read_text("utf-8")))
    await documents.snapshot(uri)

    async def type_one(n: int) -> None:
        line = (n * 41) % LINES
        at = types.Position(line, 0)
        change = types.TextDocumentContentChangePartial(range=types.Range(at, at), text=" ")
        documents.change(types.VersionedTextDocumentIdentifier(version=n + 1, uri=uri), [change])
        await documents.snapshot(uri)

    times = await _times(range(repeat), type_one)
    documents.shutdown()
    return times


async def _times(arguments: Iterable[T], request: Callable[[T], Awaitable[Any]]) -> list[float]:
    times = []
    for argument in arguments:
        began = time.perf_counter()
        await request(argument)
        times.append((time.perf_counter() - began) * 1000)
    return times


def _goal(goal: float | None) -> str:
    return "–" if goal is None else f"{goal:.0f} ms"


def _report(figures: dict[str, list[float]], arguments: list[str]) -> None:
    now = {"date": datetime.now(UTC).date().isoformat(), "load": round(os.getloadavg()[0], 1)}
    new = {
        name: {
            "median_ms": round(statistics.median(times), 1),
            "p95_ms": round(sorted(times)[max(0, math.ceil(0.95 * len(times)) - 1)], 1),
            "goal_ms": GOALS_MS[name],
            "requests": len(times),
            "command": f"python -m tests.benchmarks {' '.join(arguments)}",
            **now,
        }
        for name, times in figures.items()
    }
    before = json.loads((RESULTS / "editor.json").read_text("utf-8"))["rows"]
    rows = {name: row for name in GOALS_MS if (row := new.get(name, before.get(name))) is not None}
    result = {
        "device": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "lines": LINES,
        "skills": SKILLS,
        "rows": rows,
    }
    (RESULTS / "editor.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    lines = [
        f"{LINES} lines, {SKILLS} skills; {result['device']}.",
        "",
        "| | median | p95 | goal | measured |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {row['median_ms']:.1f} ms | {row['p95_ms']:.1f} ms | {_goal(row['goal_ms'])} "
            f"| {row['date']}, load {row['load']} |"
            for name, row in rows.items()
        ),
        "",
        *(f"`{command}`" for command in dict.fromkeys(row["command"] for row in rows.values())),
    ]
    text = "\n".join(lines) + "\n"
    (RESULTS / "editor.md").write_text(text, "utf-8")
    print(text)  # noqa: T201
